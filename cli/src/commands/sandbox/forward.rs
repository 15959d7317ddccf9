//! `--smtp URL`: every captured mail goes on to a real SMTP server, as it is and in order.
//!
//! The sandbox keeps its mails whatever becomes of this: a server that is slow or gone costs forwarded mails and never captured ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lettre::address::{Address, Envelope};
use lettre::transport::smtp::{Error as SmtpError, PoolConfig};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use posthaste_reference_server::{CapturedMail, Service};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use url::Url;

use crate::context::Context;
use crate::diagnostics::{Fail, Origin, Problem, Report};

/// Mails that may wait for the server.
const MOST_WAITING: usize = 1_000;
/// Their bytes, together: mails that the sandbox has forgotten meanwhile are held by this alone.
const MOST_BYTES: usize = 256 << 20;
/// How long the server may take for one step.
const PATIENCE: Duration = Duration::from_secs(30);
/// After each of these a mail that may still be taken is tried again.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5)];
/// How long the mails that wait may take when the sandbox is stopped.
const FAREWELL: Duration = Duration::from_secs(5);

type Say = Box<dyn Fn(&str) + Send + Sync>;

/// What goes on, until it is [ended](Self::end).
pub(super) struct Forward {
    queue: Arc<Queue>,
    work: JoinHandle<()>,
}

/// The way from the sandbox to the task that sends.
struct Queue {
    send: std::sync::Mutex<Option<mpsc::Sender<CapturedMail>>>,
    waiting: AtomicUsize,
    bytes: AtomicUsize,
    dropped: AtomicUsize,
    say: Say,
}

/// A server to forward to, checked.
pub(super) struct Target {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    /// Its address as it may be shown.
    name: String,
    /// A password would travel readable for everybody on the way.
    readable: bool,
}

impl Target {
    /// Reads `smtp://user:password@host:port?tls=required` or `smtps://…`. The password is in no message.
    pub(super) fn read(text: &str) -> Result<Self, Fail> {
        let wrong = |rule: &str| {
            let shown = Url::parse(text).map_or_else(|_| "…".to_owned(), |url| shown(&url));
            let origin = Origin::Flag { name: "--smtp".to_owned(), n: 1, value: shown, span: None };
            Fail::Usage(Report {
                help: Some(
                    "posthaste sandbox serve --smtp 'smtp://user:password@mail.acme.test:587?tls=required'"
                        .to_owned(),
                ),
                ..Report::one(Problem::new("", "url", rule.to_owned()), Some(origin))
            })
        };
        let url = Url::parse(text).map_err(|error| wrong(&format!("not an address of a server: {error}")))?;
        if !matches!(url.scheme(), "smtp" | "smtps") {
            return Err(wrong("the address begins with smtp:// or smtps://"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("the address names no server"));
        }
        let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
        if !matches!(tls.as_deref(), None | Some("required" | "opportunistic")) {
            return Err(wrong("tls is required or opportunistic"));
        }
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(text)
            // What it says may quote the address, and with it the password.
            .map_err(|_| wrong("the address cannot be used"))?;
        let transport = builder.timeout(Some(PATIENCE)).pool_config(PoolConfig::new().max_size(1)).build();
        let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let readable = url.scheme() == "smtp" && tls.is_none() && url.password().is_some() && !local;
        Ok(Self { transport, name: shown(&url), readable })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// The address without who logs in.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

impl Forward {
    /// Sends on whatever the service captures from now on.
    pub(super) fn start(target: Target, service: &Service, context: &Context) -> Self {
        if target.readable {
            context
                .out
                .warn(&format!("the password for {} travels unencrypted; add ?tls=required", target.name));
        }
        let (send, mails) = mpsc::channel(MOST_WAITING);
        let queue = Arc::new(Queue {
            send: std::sync::Mutex::new(Some(send)),
            waiting: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            say: Box::new(context.out.warner()),
        });
        let taking = Arc::clone(&queue);
        service.on_captured(move |mail| taking.take(mail));
        let work = tokio::spawn(work(target, mails, Arc::clone(&queue)));
        Self { queue, work }
    }

    /// Lets the mails that wait go on for a moment, and says how many are left behind.
    pub(super) async fn end(mut self) {
        self.queue.close();
        if timeout(FAREWELL, &mut self.work).await.is_err() {
            self.work.abort();
            let left = self.queue.waiting.load(Ordering::SeqCst);
            (self.queue.say)(&format!("stopped before {} forwarded", count(left)));
        }
    }
}

impl Queue {
    /// Takes a mail, unless too many wait. Never waits itself: the request that sent the mail is being answered.
    fn take(&self, mail: &CapturedMail) {
        let sender = self.send.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let Some(sender) = sender else { return };
        let size = mail.held_bytes;
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst);
        let bytes = self.bytes.fetch_add(size, Ordering::SeqCst);
        let fits = waiting == 0 || bytes.saturating_add(size) <= MOST_BYTES;
        if !fits || sender.try_send(mail.clone()).is_err() {
            self.let_go(size);
            if self.dropped.fetch_add(1, Ordering::SeqCst) == 0 {
                (self.say)("mails come faster than they can be forwarded; some stay in the sandbox only");
            }
        }
    }

    fn let_go(&self, size: usize) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.bytes.fetch_sub(size, Ordering::SeqCst);
    }

    fn close(&self) {
        *self.send.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}

async fn work(target: Target, mut mails: mpsc::Receiver<CapturedMail>, queue: Arc<Queue>) {
    while let Some(mail) = mails.recv().await {
        // A large one takes a while to render.
        let rendered = mail.clone();
        let _ = tokio::task::spawn_blocking(move || rendered.mime.len()).await;
        if let Err(reason) = forward(&target, &mail).await {
            (queue.say)(&format!("the mail {} was not forwarded to {}: {reason}", mail.id, target.name));
        }
        queue.let_go(mail.held_bytes);
        if mails.is_empty() {
            let dropped = queue.dropped.swap(0, Ordering::SeqCst);
            if dropped > 0 {
                (queue.say)(&format!("{} not forwarded: too many waited", count(dropped)));
            }
        }
    }
}

async fn forward(target: &Target, mail: &CapturedMail) -> Result<(), String> {
    let envelope = envelope(mail)?;
    // The line end with which every mail ends is added on the way.
    let raw = mail.mime.strip_suffix(b"\r\n").unwrap_or(&mail.mime);
    let mut pauses = PAUSES.iter();
    loop {
        let Err(error) = target.transport.send_raw(&envelope, raw).await else { return Ok(()) };
        match pauses.next() {
            Some(pause) if may_pass(&error) => sleep(*pause).await,
            _ => return Err(told(&error)),
        }
    }
}

fn envelope(mail: &CapturedMail) -> Result<Envelope, String> {
    let read = |text: &str| text.parse::<Address>().map_err(|error| format!("{text}: {error}"));
    let recipients = mail.recipients().map(read).collect::<Result<_, _>>()?;
    Envelope::new(Some(read(mail.sender())?), recipients).map_err(|error| error.to_string())
}

/// Whether the same mail may be taken a moment later.
fn may_pass(error: &SmtpError) -> bool {
    !(error.is_permanent() || error.is_client() || error.is_tls())
}

fn told(error: &SmtpError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    // Most say what their cause says, too.
    let mut told = error.to_string();
    for cause in causes.map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

fn count(mails: usize) -> String {
    if mails == 1 { "one mail was".to_owned() } else { format!("{mails} mails were") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_is_wrong_is_told_without_its_password() {
        for (text, said) in [
            ("http://me:hidden@mail.acme.test", "smtp://"),
            ("smtp://", "names no server"),
            ("smtp://me:hidden@", "not an address"),
            ("me:hidden@mail.acme.test", "smtp://"),
            ("hidden", "not an address"),
            ("smtp://me:hidden@mail.acme.test?tls=maybe", "required or opportunistic"),
            ("smtp://me:hidden@mail.acme.test:hidden", "not an address"),
        ] {
            let Err(Fail::Usage(report)) = Target::read(text) else { panic!("{text} was taken") };
            let shown = format!("{report:?}");
            assert!(shown.contains(said), "{text}: {shown}");
            assert!(!shown.contains("hidden"), "{text}: {shown}");
        }
    }

    #[tokio::test]
    async fn a_password_that_can_be_read_on_the_way_is_noticed() {
        for (text, readable) in [
            ("smtp://me:hidden@mail.acme.test", true),
            ("smtp://me:hidden@mail.acme.test:587?tls=required", false),
            ("smtps://me:hidden@mail.acme.test", false),
            ("smtp://mail.acme.test", false),
            ("smtp://me:hidden@localhost:2525", false),
        ] {
            let target = Target::read(text).unwrap_or_else(|_| panic!("{text} was refused"));
            assert_eq!(target.readable, readable, "{text}");
            assert!(!target.name().contains("hidden"));
        }
    }
}
