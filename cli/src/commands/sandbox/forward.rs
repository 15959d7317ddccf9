//! `--smtp URL`: forwards every captured mail to a real SMTP server, unchanged and in order, to the recipients that `--smtp-allow` admits.
//!
//! A slow or unreachable server can lose forwarded mails, but never captured ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idempost_sandbox::{CapturedMail, Outgoing, RelayError, Service};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::relay::{Target, relay_error};
use crate::context::Context;

/// Maximum number of mails in the queue.
const MAX_QUEUED: usize = 1_000;
/// Maximum bytes in the queue: mails already evicted from the sandbox are held only here.
const MAX_BYTES: usize = 256 << 20;
/// The delays before each retry of a temporary failure, for all recipients of a mail together.
const BACKOFF: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5)];
/// The codes of a rejected login (RFC 4954, section 6), which concern all recipients.
const LOGIN_REJECTED: [u16; 4] = [530, 534, 535, 538];
/// The grace period for queued mails when the sandbox stops.
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

impl Forward {
    /// Starts forwarding newly captured mails.
    pub(super) fn start(target: Target, service: &Arc<Service>, context: &Context) -> Self {
        let (send, mails) = mpsc::channel(MAX_QUEUED);
        let queue = Arc::new(Queue {
            send: std::sync::Mutex::new(Some(send)),
            waiting: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            report: Box::new(context.out.warning_printer()),
        });
        let taking = Arc::clone(&queue);
        service.on_captured(move |mail| taking.take(mail));
        let work = tokio::spawn(forward_mails(target, mails, Arc::clone(&queue), Arc::clone(service)));
        Self { queue, work }
    }

    /// Waits for queued mails for a grace period, then reports the rest.
    pub(super) async fn end(mut self) {
        self.queue.close();
        if timeout(GRACE, &mut self.work).await.is_err() {
            self.work.abort();
            let left = self.queue.waiting.load(Ordering::SeqCst);
            (self.queue.report)(&format!("stopped before {} forwarded", format_count(left)));
        }
    }
}

impl Queue {
    /// Enqueues a mail unless the queue is full. Must not block: the request that sent the mail is in flight.
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
                    "emails arrive faster than they can be forwarded; some remain only in the sandbox",
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

async fn forward_mails(
    target: Target,
    mut mails: mpsc::Receiver<CapturedMail>,
    queue: Arc<Queue>,
    service: Arc<Service>,
) {
    while let Some(mail) = mails.recv().await {
        // Rendering a large mail takes a while.
        let rendered = mail.clone();
        let _ = tokio::task::spawn_blocking(move || rendered.mime.len()).await;
        forward(&target, &mail, &service, &queue.report).await;
        queue.release(mail.held_bytes);
        if mails.is_empty() {
            let dropped = queue.dropped.swap(0, Ordering::SeqCst);
            if dropped > 0 {
                (queue.report)(&format!("{} not forwarded: the queue was full", format_count(dropped)));
            }
        }
    }
}

/// Sends a mail to its allowed recipients, and records the result. A server that rejects one recipient has accepted the mail for none, so it is then
/// sent to each of them alone.
async fn forward(target: &Target, mail: &CapturedMail, service: &Service, report: &Report) {
    let Some(outgoing) = service.next_forward(mail) else { return };
    let record = |outgoing: &Outgoing, result: Result<String, RelayError>| {
        service.finish_forward(mail, outgoing, &result);
        if let Err(reason) = result {
            let to = outgoing.recipients().join(", ");
            report(&format!("email {} wasn't forwarded to {} for {to}: {reason}", mail.id, target.name));
        }
    };
    let mut pauses = BACKOFF.iter();
    match send(target, &outgoing, &mut pauses).await {
        Err(RelayError { code: Some(code), .. })
            if outgoing.recipients().len() > 1 && !LOGIN_REJECTED.contains(&code) =>
        {
            for outgoing in outgoing.by_recipient() {
                let result = send(target, &outgoing, &mut pauses).await;
                record(&outgoing, result);
            }
        }
        result => record(&outgoing, result),
    }
}

/// Sends a mail, with a retry after each pause that remains.
async fn send(
    target: &Target,
    outgoing: &Outgoing,
    pauses: &mut std::slice::Iter<'_, Duration>,
) -> Result<String, RelayError> {
    loop {
        let error = match target.send(outgoing).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let pause = if error.is_transient() { pauses.next() } else { None };
        sleep(*pause.ok_or_else(|| relay_error(&error))?).await;
    }
}

fn format_count(mails: usize) -> String {
    if mails == 1 { "1 email was".to_owned() } else { format!("{mails} emails were") }
}
