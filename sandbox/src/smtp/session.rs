//! One SMTP session, without its socket: bytes in, replies and messages out.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use smtp_proto::request::receiver::MAX_LINE_LENGTH;
use smtp_proto::{Error, MAIL_BODY_BINARYMIME, MAIL_REQUIRETLS, MAIL_SMTPUTF8, MailFrom, RcptTo, Request};

use crate::smtp::data::DataReader;
use crate::smtp::login::{Login, LoginStep};
use crate::smtp::reply::Reply;
use crate::smtp::{http, submission};
use idempost_reference_server::model::credential::Scope;
use idempost_reference_server::resources::received::{NotReceived, can_receive};
use idempost_reference_server::service::Service;
use idempost_reference_server::state::event_bus::BusEventKind;
use idempost_reference_server::state::faults::{Action, SmtpStage, Wire};
use idempost_reference_server::state::in_flight::Reservation;
use idempost_reference_server::state::keys;

/// The maximum number of recipients per message (RFC 5321, 4.5.3.1.8 requires at least 100).
const MAX_RECIPIENTS: usize = 1_000;
/// The memory for a message and its parsed parts, as a multiple of its size.
const PROCESSING: usize = 2;
/// The number of rejected commands after which a client counts as broken.
const MAX_REJECTIONS: usize = 50;

/// What the connection should do next.
pub(super) enum Step {
    /// Call [`Session::advance`] again.
    Go,
    /// Send the pending output, and read more.
    Read,
    /// Deliver this message, and report the outcome with [`Session::delivered`].
    Mail(Mail),
    /// Send the pending output, start TLS, and continue with [`Session::restart_after_tls`]. Input that has already been read is discarded.
    StartTls,
    /// Send the pending output after this time, and continue.
    Delay(Duration),
    /// Send the pending output, and don't respond until the client gives up.
    Stall,
    /// Send the pending output, and close the connection.
    Bye,
}

/// The purpose of a client's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// They become received emails.
    Receive,
    /// They become sent emails.
    Send,
}

/// The user name for receiving. All other user names send; Resend uses `resend`.
const INBOUND: &str = "inbound";
/// The recipient of mail to `<postmaster>`, at the host name in the greeting.
const POSTMASTER: &str = "postmaster@localhost";

/// The encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    /// None, and no certificate is available.
    Plain,
    /// None yet; `STARTTLS` is offered.
    StartTls,
    Encrypted,
}

/// A complete message.
pub(super) struct Mail {
    service: Arc<Service>,
    purpose: Purpose,
    key: Arc<str>,
    recipients: Vec<String>,
    raw: Vec<u8>,
    /// How a scripted fault changes the transmission of the reply.
    wire: Wire,
    /// The memory for the message and its processing.
    _held: Reservation,
}

/// The state of a session.
pub(super) struct Session {
    service: Arc<Service>,
    /// The API key of the tenant that sends or receives; initially the key for messages without `AUTH`.
    key: Arc<str>,
    purpose: Purpose,
    security: Security,
    greeted: bool,
    authenticated: bool,
    envelope: Option<Envelope>,
    listening: Listening,
    /// The memory for the message being read.
    held: Reservation,
    /// Whether there was too little memory for the message.
    lacks_memory: bool,
    refusals: usize,
}

struct Envelope {
    utf8: bool,
    recipients: Vec<String>,
}

/// How the next bytes are interpreted.
enum Listening {
    Command,
    /// The rest of a line that was too long.
    RestOfLine,
    Login(Login),
    Data(DataReader),
}

impl Session {
    pub(super) fn new(service: Arc<Service>, key: Arc<str>, security: Security) -> Self {
        Self {
            service,
            key,
            purpose: Purpose::Receive,
            security,
            greeted: false,
            authenticated: false,
            envelope: None,
            listening: Listening::Command,
            held: Reservation::default(),
            lacks_memory: false,
            refusals: 0,
        }
    }

    /// Starts the session. A fault may replace the greeting and end the session.
    pub(super) fn greet(&mut self, out: &mut Vec<u8>) -> Step {
        let step = self.run_stage(SmtpStage::Connect, out, |_, out| {
            Reply::GREETING.write(out);
            Step::Go
        });
        if out.starts_with(b"220 ") { step } else { end_session(step) }
    }

    /// Runs a stage of the session, or applies the scripted fault for it instead.
    fn run_stage(
        &mut self,
        stage: SmtpStage,
        out: &mut Vec<u8>,
        run: impl FnOnce(&mut Self, &mut Vec<u8>) -> Step,
    ) -> Step {
        let account = || {
            let keys = &self.service.state().tenants.api_key_index;
            let credential = || Some(keys::find_credential(&self.key, keys)?.tenant);
            if stage.is_before_login() { None } else { credential() }
        };
        let (fault, delay) = self.service.faults().apply_smtp(account, stage);
        if fault.is_some() || !delay.is_zero() {
            // Makes open inbox pages reload the faults.
            self.service.state().event_bus.publish_to_all(BusEventKind::Request);
        }
        let step = match fault {
            Some(Action::DropBefore) => return Step::Bye,
            Some(Action::Stall) => return Step::Stall,
            Some(Action::DropAfter) => {
                let before = out.len();
                return if let Step::Mail(mail) = run(self, out) {
                    Step::Mail(mail.with_wire(Wire { cut: Some(None), ..Wire::default() }))
                } else {
                    out.truncate(before);
                    Step::Bye
                };
            }
            Some(Action::Reply { code, text }) => {
                Reply { code, text }.write(out);
                if code == 421 { Step::Bye } else { Step::Go }
            }
            // All other faults apply to HTTP.
            _ => run(self, out),
        };
        match step {
            step if delay.is_zero() => step,
            Step::Mail(mail) => Step::Mail(mail.with_wire(Wire { delay, ..Wire::default() })),
            Step::Go => Step::Delay(delay),
            step => step,
        }
    }

    /// Returns the session after the TLS handshake. The client starts over, and an earlier `AUTH` is discarded (RFC 3207, 4.2).
    pub(super) fn restart_after_tls(self, key: Arc<str>) -> Self {
        Self { refusals: self.refusals, ..Self::new(self.service, key, Security::Encrypted) }
    }

    /// Consumes input and writes replies.
    pub(super) fn advance(&mut self, input: &mut BytesMut, out: &mut Vec<u8>) -> Step {
        if self.refusals > MAX_REJECTIONS {
            Reply::TOO_MANY_REJECTIONS.write(out);
            return Step::Bye;
        }
        if input.is_empty() {
            return Step::Read;
        }
        match std::mem::replace(&mut self.listening, Listening::Command) {
            Listening::Data(mut reader) => {
                let has_ended = reader.read(input);
                let in_flight = &self.service.state().in_flight;
                if !in_flight.extend(&mut self.held, PROCESSING * reader.len()) {
                    reader.discard();
                    self.lacks_memory = true;
                }
                if has_ended {
                    return self.complete(reader.into_text(), out);
                }
                self.listening = Listening::Data(reader);
                Step::Go
            }
            listening => self.line(listening, input, out),
        }
    }

    /// Reports the outcome of the message in [`Step::Mail`].
    pub(super) fn delivered(&mut self, outcome: &Reply, out: &mut Vec<u8>) {
        self.envelope = None;
        self.write_reply(outcome, out);
    }

    /// Processes the next line, if it is complete.
    fn line(&mut self, listening: Listening, input: &mut BytesMut, out: &mut Vec<u8>) -> Step {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            self.listening = listening;
            if input.len() < MAX_LINE_LENGTH {
                return Step::Read;
            }
            input.clear();
            if !matches!(self.listening, Listening::RestOfLine) {
                self.write_reply(&Reply::LINE_TOO_LONG, out);
                self.listening = Listening::RestOfLine;
            }
            return Step::Read;
        };
        let line = input.split_to(end + 1);
        match listening {
            Listening::RestOfLine => Step::Go,
            _ if line.len() > MAX_LINE_LENGTH => {
                self.write_reply(&Reply::LINE_TOO_LONG, out);
                Step::Go
            }
            Listening::Login(login) => {
                let line = line.trim_ascii_end();
                if line == b"*" {
                    self.write_reply(&Reply::CANCELED, out);
                } else {
                    self.log_in(login.process_response(line), out);
                }
                Step::Go
            }
            _ if http::is_part_of_a_request(&line) => {
                Reply::NOT_HTTP.write(out);
                Step::Bye
            }
            _ => self.command(&line, out),
        }
    }

    fn command(&mut self, line: &[u8], out: &mut Vec<u8>) -> Step {
        let mut request = Request::parse(&mut line.iter());
        if let Ok(Request::Rcpt { to }) = &mut request
            && to.address.is_empty()
            && is_for_postmaster(line)
        {
            to.address = Cow::Borrowed(POSTMASTER);
        }
        match request.as_ref().ok().and_then(next_stage) {
            Some(stage) => self.run_stage(stage, out, |session, out| session.execute(request, out)),
            None => self.execute(request, out),
        }
    }

    fn execute(&mut self, request: Result<Request<Cow<'_, str>>, Error>, out: &mut Vec<u8>) -> Step {
        let reply = match request {
            Ok(Request::Quit) => {
                Reply::BYE.write(out);
                return Step::Bye;
            }
            Ok(Request::Ehlo { .. }) => {
                self.handle_hello();
                self.write_capabilities(out);
                return Step::Go;
            }
            Ok(Request::Auth { mechanism, initial_response }) => {
                match self.check_login_allowed() {
                    Ok(()) => self.log_in(Login::begin(mechanism, &initial_response), out),
                    Err(refusal) => self.write_reply(&refusal, out),
                }
                return Step::Go;
            }
            Ok(Request::StartTls) if self.security == Security::StartTls => {
                Reply::START_TLS.write(out);
                return Step::StartTls;
            }
            Ok(Request::Helo { .. }) => {
                self.handle_hello();
                Reply::new(250, "localhost".into())
            }
            Ok(Request::Mail { from }) => self.mail(&from).err().unwrap_or(Reply::SENDER_OK),
            Ok(Request::Rcpt { to }) => self.recipient(to).err().unwrap_or(Reply::RECIPIENT_OK),
            Ok(Request::Data) => self.data(),
            Ok(Request::Rset) => {
                self.envelope = None;
                Reply::OK
            }
            Ok(Request::Noop { .. }) => Reply::OK,
            Ok(Request::Vrfy { .. }) => Reply::UNVERIFIED,
            Ok(Request::Help { .. }) => Reply::help(self.security == Security::StartTls),
            Ok(_) => Reply::NOT_OFFERED,
            Err(Error::SyntaxError { syntax }) => Reply::new(501, format!("5.5.4 Syntax: {syntax}")),
            Err(Error::InvalidSenderAddress | Error::InvalidRecipientAddress) => Reply::BAD_ADDRESS,
            Err(Error::InvalidParameter { .. } | Error::UnsupportedParameter { .. }) => Reply::PARAMETER,
            Err(_) => Reply::UNKNOWN,
        };
        self.write_reply(&reply, out);
        Step::Go
    }

    fn handle_hello(&mut self) {
        self.greeted = true;
        self.envelope = None;
    }

    /// Writes the reply to EHLO.
    fn write_capabilities(&self, out: &mut Vec<u8>) {
        let size = self.service.settings().body_limit;
        let start_tls = if self.security == Security::StartTls { "250-STARTTLS\r\n" } else { "" };
        let offers = format!(
            "250-localhost\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-SIZE {size}\r\n\
             {start_tls}250-AUTH PLAIN LOGIN\r\n250-ENHANCEDSTATUSCODES\r\n250 HELP\r\n"
        );
        out.extend_from_slice(offers.as_bytes());
    }

    fn check_login_allowed(&self) -> Result<(), Reply> {
        match () {
            () if !self.greeted => Err(Reply::HELLO_FIRST),
            () if self.authenticated => Err(Reply::AUTHENTICATED_ALREADY),
            () if self.envelope.is_some() => Err(Reply::MAIL_IN_PROGRESS),
            () => Ok(()),
        }
    }

    /// Checks that the password is an API key for this purpose. If the sandbox has a password, receiving mail requires full access.
    fn check_key(&self, user: &str, key: &str) -> Result<(), Reply> {
        let needs_full = self.service.settings().password.is_some() && user.eq_ignore_ascii_case(INBOUND);
        match keys::find_credential(key, &self.service.state().tenants.api_key_index) {
            Some(credential) if needs_full && credential.check(Scope::Full).is_err() => {
                Err(Reply::NEEDS_FULL_ACCESS)
            }
            Some(_) => Ok(()),
            None if key.starts_with("sb_") || key.starts_with("re_") => Err(Reply::UNKNOWN_KEY),
            None => Err(Reply::BAD_KEY),
        }
    }

    fn log_in(&mut self, step: LoginStep, out: &mut Vec<u8>) {
        let reply = match step {
            LoginStep::Ask(what, login) => {
                self.listening = Listening::Login(login);
                Reply::new(334, what.to_owned())
            }
            LoginStep::Complete { user, password } => {
                if let Err(rejection) = self.check_key(&user, &password) {
                    rejection
                } else {
                    self.key = password.into();
                    self.authenticated = true;
                    if user.eq_ignore_ascii_case(INBOUND) {
                        Reply::MAY_RECEIVE
                    } else {
                        self.purpose = Purpose::Send;
                        Reply::MAY_SEND
                    }
                }
            }
            LoginStep::Garbled => Reply::NOT_BASE64,
            LoginStep::Unknown => Reply::MECHANISM,
        };
        self.write_reply(&reply, out);
    }

    fn mail(&mut self, from: &MailFrom<Cow<'_, str>>) -> Result<(), Reply> {
        if !self.greeted {
            return Err(Reply::HELLO_FIRST);
        }
        if !self.authenticated && self.service.settings().password.is_some() {
            return Err(Reply::AUTHENTICATE_FIRST);
        }
        if self.envelope.is_some() {
            return Err(Reply::MAIL_IN_PROGRESS);
        }
        // An empty reverse path marks a delivery report, which must not be answered with another one.
        let utf8 = from.flags & MAIL_SMTPUTF8 != 0;
        if !from.address.is_empty() {
            check_address(&from.address, utf8)?;
        }
        if from.size > self.service.settings().body_limit {
            return Err(Reply::TOO_LARGE);
        }
        if from.flags & (MAIL_BODY_BINARYMIME | MAIL_REQUIRETLS) != 0
            || from.hold_for > 0
            || from.hold_until > 0
        {
            return Err(Reply::PARAMETER);
        }
        self.envelope = Some(Envelope { utf8, recipients: Vec::new() });
        Ok(())
    }

    fn recipient(&mut self, to: RcptTo<Cow<'_, str>>) -> Result<(), Reply> {
        let envelope = self.envelope.as_mut().ok_or(Reply::MAIL_FIRST)?;
        check_address(&to.address, envelope.utf8)?;
        if envelope.recipients.len() >= MAX_RECIPIENTS {
            return Err(Reply::TOO_MANY_RECIPIENTS);
        }
        let credential = keys::find_credential(&self.key, &self.service.state().tenants.api_key_index)
            .ok_or(Reply::UNKNOWN_KEY)?;
        let tenant = self.service.state().tenants.find_or_empty(&credential.tenant);
        if self.purpose == Purpose::Receive && !can_receive(self.service.state(), &tenant, &to.address) {
            let domain = to.address.rsplit_once('@').map_or("", |(_, domain)| domain);
            let text = format!("5.1.2 The domain {domain} is not verified for receiving");
            return Err(Reply::new(550, text));
        }
        envelope.recipients.push(to.address.into_owned());
        Ok(())
    }

    fn data(&mut self) -> Reply {
        match &self.envelope {
            None => Reply::MAIL_FIRST,
            Some(envelope) if envelope.recipients.is_empty() => Reply::RECIPIENT_FIRST,
            Some(_) => {
                self.listening = Listening::Data(DataReader::new(self.service.settings().body_limit));
                Reply::GO_AHEAD
            }
        }
    }

    /// Completes a message. `None` means that it was too large.
    fn complete(&mut self, text: Option<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        let held = std::mem::take(&mut self.held);
        let Some(raw) = text else {
            let lacks_memory = std::mem::take(&mut self.lacks_memory);
            let reply = if lacks_memory { Reply::MEMORY_IN_USE } else { Reply::TOO_LARGE };
            self.delivered(&reply, out);
            return Step::Go;
        };
        let recipients = self.envelope.take().map(|envelope| envelope.recipients).unwrap_or_default();
        // Servers that disagree about line ends disagree about where a message ends, so one server's content would be another's command.
        if has_bare_line_end(&raw) {
            self.delivered(&Reply::BARE_LINE_END, out);
            return Step::Go;
        }
        // A fault also ends the message's transaction: its envelope is already taken.
        self.run_stage(SmtpStage::EndOfData, out, |session, _| {
            let (service, key) = (Arc::clone(&session.service), Arc::clone(&session.key));
            let wire = Wire::default();
            Step::Mail(Mail { service, purpose: session.purpose, key, recipients, raw, wire, _held: held })
        })
    }

    fn write_reply(&mut self, reply: &Reply, out: &mut Vec<u8>) {
        self.refusals += usize::from(reply.is_rejection());
        reply.write(out);
    }
}

impl Mail {
    pub(super) fn size(&self) -> usize {
        self.raw.len()
    }

    fn with_wire(self, wire: Wire) -> Self {
        Self { wire, ..self }
    }

    /// Sends or receives the message. A scripted fault may change how the reply is transmitted.
    pub(super) fn deliver(self) -> (Reply, Wire) {
        let own = self.wire;
        let (reply, wire) = match self.purpose {
            Purpose::Receive => (self.receive(), Wire::default()),
            Purpose::Send => self.submit(),
        };
        let delay = own.delay.saturating_add(wire.delay);
        (reply, Wire { delay, cut: own.cut.or(wire.cut), stalled: wire.stalled })
    }

    fn submit(self) -> (Reply, Wire) {
        match submission::build_request(&self.key, &self.recipients, &self.raw) {
            Err(refusal) => (refusal, Wire::default()),
            Ok(request) => {
                let answered = self.service.reply(request);
                let wire = answered.wire();
                (submission::reply_for(&answered.into_response()), wire)
            }
        }
    }

    fn receive(self) -> Reply {
        let recipients: Vec<_> = self.recipients.iter().map(String::as_str).collect();
        if self.raw.len() > self.service.settings().keep_mail_bytes {
            return Reply::FULL;
        }
        // Boxed, so that the email doesn't retain spare capacity.
        match self.service.receive(&self.key, &recipients, self.raw.into_boxed_slice()) {
            Ok(id) => Reply::new(250, format!("2.0.0 Received as {id}")),
            Err(NotReceived::Unreadable) => Reply::INVALID_MESSAGE,
            Err(NotReceived::TooComplex(reason)) => Reply::too_complex(reason),
            // The key was deleted after the session had accepted it.
            Err(NotReceived::UnknownKey) => Reply::UNKNOWN_KEY,
            // There is no recipient, or no recipient's domain is verified.
            Err(reason) => Reply::new(550, format!("5.1.2 The message was not received: {reason}")),
        }
    }
}

/// Returns the stage that begins with a command.
fn next_stage<T>(request: &Request<T>) -> Option<SmtpStage> {
    Some(match request {
        Request::Ehlo { .. } | Request::Helo { .. } => SmtpStage::Ehlo,
        Request::Auth { .. } => SmtpStage::Auth,
        Request::Mail { .. } => SmtpStage::Mail,
        Request::Rcpt { .. } => SmtpStage::Rcpt,
        Request::Data => SmtpStage::Data,
        _ => return None,
    })
}

/// Returns the step that ends the session instead of continuing it.
fn end_session(step: Step) -> Step {
    if matches!(step, Step::Stall) { step } else { Step::Bye }
}

/// Whether the recipient is `<postmaster>`, the one address without a domain (RFC 5321, 4.5.1), which the parser returns as an empty one.
fn is_for_postmaster(line: &[u8]) -> bool {
    let path = line.split(|byte| b"<>".contains(byte)).nth(1);
    path.is_some_and(|path| path.eq_ignore_ascii_case(b"postmaster"))
}

fn check_address(address: &str, utf8: bool) -> Result<(), Reply> {
    if address.is_empty() || address.len() > 320 || address.chars().any(char::is_control) {
        return Err(Reply::BAD_ADDRESS);
    }
    if !utf8 && !address.is_ascii() {
        return Err(Reply::NEEDS_SMTPUTF8);
    }
    Ok(())
}

fn has_bare_line_end(raw: &[u8]) -> bool {
    let mut before = 0;
    let bare = raw.iter().any(|byte| {
        let bare = (*byte == b'\n') != (before == b'\r');
        before = *byte;
        bare
    });
    bare || before == b'\r'
}
