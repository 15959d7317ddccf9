//! `--smtp URL`: forwards every captured mail to a real SMTP server, unchanged and in order.
//!
//! Failures here never affect the sandbox: a slow or unreachable server costs forwarded mails, never captured ones.

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
use crate::diagnostics::{Diagnostics, Fail, Origin, Problem};

/// Maximum number of mails in the queue.
const MAX_QUEUED: usize = 1_000;
/// Maximum bytes in the queue: mails already evicted from the sandbox are held only here.
const MAX_BYTES: usize = 256 << 20;
/// Timeout of each SMTP step.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Delays before each retry of a temporary failure.
const BACKOFF: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5)];
/// How long queued mails may take when the sandbox stops.
const GRACE: Duration = Duration::from_secs(5);

type Report = Box<dyn Fn(&str) + Send + Sync>;

/// A running forwarder; stop it with [`end`](Self::end).
pub(super) struct Forward {
    queue: Arc<Queue>,
    work: JoinHandle<()>,
}

/// The queue between the sandbox and the sending task.
struct Queue {
    send: std::sync::Mutex<Option<mpsc::Sender<CapturedMail>>>,
    waiting: AtomicUsize,
    bytes: AtomicUsize,
    dropped: AtomicUsize,
    report: Report,
}

/// A validated server to forward to.
pub(super) struct Target {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    /// Its URL, without credentials.
    name: String,
    /// The password would be sent unencrypted.
    readable: bool,
}

impl Target {
    /// Parses `smtp://user:password@host:port?tls=required` or `smtps://…`. The password appears in no message.
    pub(super) fn read(text: &str) -> Result<Self, Fail> {
        let wrong = |rule: &str| {
            let shown = Url::parse(text).map_or_else(|_| "…".to_owned(), |url| shown(&url));
            let origin = Origin::Flag { name: "--smtp".to_owned(), n: 1, value: shown, span: None };
            Fail::Usage(Diagnostics {
                help: Some(
                    "posthaste sandbox serve --smtp 'smtp://user:password@mail.acme.test:587?tls=required'"
                        .to_owned(),
                ),
                ..Diagnostics::one(Problem::new("", "url", rule.to_owned()), Some(origin))
            })
        };
        let url = Url::parse(text).map_err(|error| wrong(&format!("not a valid URL: {error}")))?;
        if !matches!(url.scheme(), "smtp" | "smtps") {
            return Err(wrong("the URL must start with smtp:// or smtps://"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("the URL has no host"));
        }
        let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
        if !matches!(tls.as_deref(), None | Some("required" | "opportunistic")) {
            return Err(wrong("tls must be required or opportunistic"));
        }
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(text)
            // The error may quote the URL, and with it the password.
            .map_err(|_| wrong("the URL can't be used"))?;
        let transport = builder.timeout(Some(TIMEOUT)).pool_config(PoolConfig::new().max_size(1)).build();
        let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let readable = url.scheme() == "smtp" && tls.is_none() && url.password().is_some() && !local;
        Ok(Self { transport, name: shown(&url), readable })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// The URL without credentials.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

impl Forward {
    /// Starts forwarding what the service captures from now on.
    pub(super) fn start(target: Target, service: &Service, context: &Context) -> Self {
        if target.readable {
            context
                .out
                .warn(&format!("the password for {} is sent unencrypted; add ?tls=required", target.name));
        }
        let (send, mails) = mpsc::channel(MAX_QUEUED);
        let queue = Arc::new(Queue {
            send: std::sync::Mutex::new(Some(send)),
            waiting: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            report: Box::new(context.out.warner()),
        });
        let taking = Arc::clone(&queue);
        service.on_captured(move |mail| taking.take(mail));
        let work = tokio::spawn(work(target, mails, Arc::clone(&queue)));
        Self { queue, work }
    }

    /// Gives queued mails a grace period, then reports how many weren't forwarded.
    pub(super) async fn end(mut self) {
        self.queue.close();
        if timeout(GRACE, &mut self.work).await.is_err() {
            self.work.abort();
            let left = self.queue.waiting.load(Ordering::SeqCst);
            (self.queue.report)(&format!("stopped before {} forwarded", count(left)));
        }
    }
}

impl Queue {
    /// Enqueues a mail unless the queue is full. Never blocks: the request that sent the mail is still in flight.
    fn take(&self, mail: &CapturedMail) {
        let sender = self.send.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let Some(sender) = sender else { return };
        let size = mail.held_bytes;
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst);
        let bytes = self.bytes.fetch_add(size, Ordering::SeqCst);
        let fits = waiting == 0 || bytes.saturating_add(size) <= MAX_BYTES;
        if !fits || sender.try_send(mail.clone()).is_err() {
            self.release(size);
            if self.dropped.fetch_add(1, Ordering::SeqCst) == 0 {
                (self.report)(
                    "mails arrive faster than they can be forwarded; some stay in the sandbox only",
                );
            }
        }
    }

    fn release(&self, size: usize) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.bytes.fetch_sub(size, Ordering::SeqCst);
    }

    fn close(&self) {
        *self.send.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}

async fn work(target: Target, mut mails: mpsc::Receiver<CapturedMail>, queue: Arc<Queue>) {
    while let Some(mail) = mails.recv().await {
        // Rendering a large mail takes a while.
        let rendered = mail.clone();
        let _ = tokio::task::spawn_blocking(move || rendered.mime.len()).await;
        if let Err(reason) = forward(&target, &mail).await {
            (queue.report)(&format!("the mail {} wasn't forwarded to {}: {reason}", mail.id, target.name));
        }
        queue.release(mail.held_bytes);
        if mails.is_empty() {
            let dropped = queue.dropped.swap(0, Ordering::SeqCst);
            if dropped > 0 {
                (queue.report)(&format!("{} not forwarded: the queue was full", count(dropped)));
            }
        }
    }
}

async fn forward(target: &Target, mail: &CapturedMail) -> Result<(), String> {
    let envelope = envelope(mail)?;
    // The transport appends the final line ending.
    let raw = mail.mime.strip_suffix(b"\r\n").unwrap_or(&mail.mime);
    let mut pauses = BACKOFF.iter();
    loop {
        let Err(error) = target.transport.send_raw(&envelope, raw).await else { return Ok(()) };
        match pauses.next() {
            Some(pause) if may_pass(&error) => sleep(*pause).await,
            _ => return Err(message_of(&error)),
        }
    }
}

fn envelope(mail: &CapturedMail) -> Result<Envelope, String> {
    let read = |text: &str| text.parse::<Address>().map_err(|error| format!("{text}: {error}"));
    let recipients = mail.recipients().map(read).collect::<Result<_, _>>()?;
    Envelope::new(Some(read(mail.sender())?), recipients).map_err(|error| error.to_string())
}

/// Whether the same mail may be accepted later.
fn may_pass(error: &SmtpError) -> bool {
    !(error.is_permanent() || error.is_client() || error.is_tls())
}

fn message_of(error: &SmtpError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    // Most errors include their cause's message.
    let mut message = error.to_string();
    for cause in causes.map(ToString::to_string) {
        if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

fn count(mails: usize) -> String {
    if mails == 1 { "one mail was".to_owned() } else { format!("{mails} mails were") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_about_the_url_never_contains_its_password() {
        for (text, expected) in [
            ("http://me:hidden@mail.acme.test", "smtp://"),
            ("smtp://", "no host"),
            ("smtp://me:hidden@", "not a valid URL"),
            ("me:hidden@mail.acme.test", "smtp://"),
            ("hidden", "not a valid URL"),
            ("smtp://me:hidden@mail.acme.test?tls=maybe", "required or opportunistic"),
            ("smtp://me:hidden@mail.acme.test:hidden", "not a valid URL"),
        ] {
            let Err(Fail::Usage(report)) = Target::read(text) else { panic!("{text} was accepted") };
            let shown = format!("{report:?}");
            assert!(shown.contains(expected), "{text}: {shown}");
            assert!(!shown.contains("hidden"), "{text}: {shown}");
        }
    }

    #[tokio::test]
    async fn an_unencrypted_password_is_detected() {
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
