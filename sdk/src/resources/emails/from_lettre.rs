//! Conversion of messages built with the lettre crate (feature `lettre`).
//!
//! A lettre message exposes only its headers, so its body is formatted and parsed again.

use lettre::{
    Address,
    message::{
        Mailbox, Mailboxes,
        header::{Bcc, Cc, From, Header, ReplyTo, Sender, Subject, To},
    },
};
use mail_parser::{ContentType, MessageParser, MessagePart, MimeHeaders as _, PartType};

use super::new::Email;
use crate::{
    problem::{Problem, Problems},
    resources::shared::Attachment,
};

/// Message headers that correspond to fields of an email, or that the service sets itself.
const NOT_CUSTOM: [&str; 11] = [
    "bcc",
    "cc",
    "content-transfer-encoding",
    "content-type",
    "date",
    "from",
    "mime-version",
    "reply-to",
    "sender",
    "subject",
    "to",
];

/// Converts a message with all its recipients (recipients that only the envelope contains become `bcc`), bodies, attachments and custom headers. The
/// service sets `Date` itself.
///
/// ```
/// use idempost::Email;
/// use lettre::Message;
///
/// let message = Message::builder()
///     .from("Acme <hi@acme.test>".parse()?)
///     .to("ada@example.com".parse()?)
///     .subject("Hello")
///     .body("It works".to_owned())?;
/// let email = Email::try_from(&message)?;
/// assert_eq!(email.fields().text, Some("It works"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All parts that an email can't represent, such as a second sender, a signed body, or an envelope that omits a recipient.
impl TryFrom<&lettre::Message> for Email {
    type Error = Problems;

    fn try_from(message: &lettre::Message) -> Result<Self, Problems> {
        let mut reader = Reader { email: Self::default(), problems: Vec::new() };
        reader.addresses(message);
        let raw = message.formatted();
        match MessageParser::default().parse(&raw) {
            Some(parsed) => {
                reader.custom_headers(message, &parsed);
                reader.part(&parsed, 0);
            }
            None => reader.reject("", "the message has no readable body"),
        }
        Problems::check(reader.problems).map(|()| reader.email)
    }
}

struct Reader {
    email: Email,
    problems: Vec<Problem>,
}

impl Reader {
    fn reject(&mut self, path: &str, rule: impl Into<String>) {
        self.problems.push(Problem::new(path, "unsupported", rule));
    }

    fn set(&mut self, change: impl FnOnce(Email) -> Email) {
        self.email = change(std::mem::take(&mut self.email));
    }

    fn addresses(&mut self, message: &lettre::Message) {
        let mut from = self.mailboxes::<From>(message);
        if from.len() > 1 {
            self.reject("/from", "an email must have exactly one sender");
        }
        let from = from.pop();
        let sender = message.headers().get::<Sender>().map(Mailbox::from);
        if sender.as_ref().is_some_and(|sender| Some(sender) != from.as_ref()) {
            self.reject("/headers/Sender", "`Sender` must be the same as `From`");
        }
        let envelope = message.envelope();
        if envelope.from().is_some_and(|address| from.as_ref().is_some_and(|from| from.email != *address)) {
            self.reject("/from", "the envelope's sender must be the same as `From`");
        }
        let (to, cc) = (self.mailboxes::<To>(message), self.mailboxes::<Cc>(message));
        let (bcc, reply_to) = (self.mailboxes::<Bcc>(message), self.mailboxes::<ReplyTo>(message));
        let named: Vec<Address> = to.iter().chain(&cc).chain(&bcc).map(|found| found.email.clone()).collect();
        if named.iter().any(|address| !envelope.to().contains(address)) {
            self.reject(
                "/to",
                "the envelope must include all addresses in the headers, since the email is sent to them",
            );
        }
        let hidden = envelope.to().iter().filter(|address| !named.contains(address));
        let hidden: Vec<_> = hidden.map(ToString::to_string).collect();
        let subject = message.headers().get::<Subject>().map(|subject| subject.as_ref().to_owned());
        let text = |list: Vec<Mailbox>| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        self.set(|email| {
            let email = from.iter().fold(email, |email, from| email.from(from.to_string()));
            let email = subject.into_iter().fold(email, Email::subject);
            email.to(text(to)).cc(text(cc)).bcc(text(bcc)).bcc(hidden).reply_to(text(reply_to))
        });
    }

    fn mailboxes<H: Header + Into<Mailboxes>>(&mut self, message: &lettre::Message) -> Vec<Mailbox> {
        let found = message.headers().get::<H>();
        if found.is_none() && message.headers().get_raw(&H::name()).is_some() {
            let rule = format!("the addresses in `{}` must be valid", H::name());
            self.reject("", rule);
        }
        found.map(Into::into).into_iter().flatten().collect()
    }

    fn custom_headers(&mut self, message: &lettre::Message, parsed: &mail_parser::Message<'_>) {
        for header in parsed.headers() {
            // lettre finds a header only by its exact spelling, which the parser changes.
            let field = parsed.raw_message.get(header.offset_field as usize..).unwrap_or_default();
            let name = String::from_utf8_lossy(field.split(|byte| *byte == b':').next().unwrap_or_default());
            if NOT_CUSTOM.iter().any(|known| name.eq_ignore_ascii_case(known)) {
                continue;
            }
            if name.eq_ignore_ascii_case("dkim-signature") {
                self.reject("/headers/DKIM-Signature", "a DKIM signature isn't supported");
            }
            let value = message.headers().get_raw(&name).unwrap_or_default();
            self.set(|email| email.header(name, value));
        }
    }

    fn part(&mut self, parsed: &mail_parser::Message<'_>, id: usize) {
        let Some(part) = parsed.parts.get(id) else { return };
        let kind = part.content_type();
        let media_type = kind.map_or("text/plain".to_owned(), media_type);
        let is_file = part.attachment_name().is_some()
            || part.content_id().is_some()
            || part.content_disposition().is_some_and(ContentType::is_attachment);
        match (&part.body, media_type.as_str()) {
            (
                PartType::Multipart(parts),
                "multipart/mixed" | "multipart/alternative" | "multipart/related",
            ) => {
                for id in parts {
                    self.part(parsed, *id as usize);
                }
            }
            (PartType::Multipart(_), _) => {
                self.reject("", format!("a body of type {media_type} isn't supported"));
            }
            (PartType::Text(text), "text/plain") if !is_file => match self.email.fields().text {
                None => self.set(|email| email.text(text.replace("\r\n", "\n"))),
                Some(_) => self.reject("/text", "an email can have only one body of type text/plain"),
            },
            (PartType::Html(html), _) if !is_file => match self.email.fields().html {
                None => self.set(|email| email.html(html.replace("\r\n", "\n"))),
                Some(_) => self.reject("/html", "an email can have only one body of type text/html"),
            },
            (PartType::Text(_), _) if !is_file => {
                self.reject("", format!("a body of type {media_type} isn't supported"));
            }
            _ => self.attachment(part, &media_type),
        }
    }

    fn attachment(&mut self, part: &MessagePart<'_>, media_type: &str) {
        let charset = part.content_type().and_then(|kind| kind.attribute("charset"));
        let is_utf8 = charset
            .is_none_or(|name| ["utf-8", "us-ascii"].iter().any(|known| name.eq_ignore_ascii_case(known)));
        if part.is_encoding_problem || part.is_text() && !is_utf8 {
            let rule =
                format!("an attachment of type {media_type} must be decodable, and text must be UTF-8");
            self.reject("/attachments", rule);
        }
        let file = Attachment::without_name(part.contents().to_vec()).content_type(media_type);
        let file = part.attachment_name().into_iter().fold(file, Attachment::filename);
        let id = part.content_id().map(|id| id.trim_matches(['<', '>']));
        let file = id.into_iter().fold(file, Attachment::content_id);
        self.set(|email| email.attach(file));
    }
}

fn media_type(kind: &ContentType<'_>) -> String {
    let subtype = kind.subtype().unwrap_or("plain");
    format!("{}/{subtype}", kind.ctype()).to_ascii_lowercase()
}
