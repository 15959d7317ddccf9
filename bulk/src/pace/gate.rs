//! The gate that every request of a job passes: it waits until the controller admits the request.
//!
//! # Why it never leaks slots or stalls
//!
//! A waiting task holds only its place in a FIFO lock; only the head of the queue asks the controller, and only an admitted request changes the
//! controller's state. A dropped future therefore gives up nothing but its place. A [`Permit`] returns its slot in `drop`, whether or not it was
//! used. Everything that may unblock the head (a response, a returned slot) notifies it, and `Notify` stores one notification for a head that isn't
//! waiting yet, so none is lost.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio::{
    sync::{Mutex, Notify},
    time::{Instant, sleep, timeout_at},
};

use super::controller::{Blocked, Controller, Observation, PaceOptions, RetryTicket, Snapshot, Ticket};
use crate::locked::Locked;

#[cfg(test)]
mod tests;

/// The longest time before the head of the queue checks the state again.
const MAX_WAIT: Duration = Duration::from_hours(1);
/// The longest time before a retry checks its budget again, to which requests contribute.
const POLL: Duration = Duration::from_secs(1);

/// Grants permits to send in FIFO order. Clones share one state.
#[derive(Clone)]
pub(crate) struct Gate {
    shared: Arc<Shared>,
}

struct Shared {
    start: Instant,
    controller: Locked<Controller>,
    /// The queue: tokio's mutex is FIFO, and the task that holds it is the head.
    queue: Mutex<()>,
    /// Wakes the head of the queue.
    changed: Notify,
}

impl Gate {
    /// Creates a gate. The job's time starts now.
    pub(crate) fn new(options: PaceOptions) -> Self {
        let controller = Locked::new(Controller::new(options));
        let shared =
            Shared { start: Instant::now(), controller, queue: Mutex::default(), changed: Notify::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Waits until a request may be sent. Use it for the first attempt of a batch, and after a 429.
    ///
    /// Dropping the future gives up the place in the queue.
    pub(crate) async fn acquire(&self) -> Permit {
        let _head = self.shared.queue.lock().await;
        loop {
            let blocked = {
                let now = self.shared.now();
                match self.shared.controller.lock().admit(now) {
                    Ok(ticket) => {
                        let shared = Arc::clone(&self.shared);
                        return Permit { shared, ticket: Some(ticket), retry: None, sent: false };
                    }
                    Err(blocked) => blocked,
                }
            };
            self.shared.wait(blocked).await;
        }
    }

    /// Waits until the retry budget and the gate allow a retry. Use it after a 5xx, a timeout or a lost connection.
    ///
    /// First attempts pass while retries wait for the budget: once a reserve of 100 is used up, at most 10 % of requests are retries. Dropping the
    /// future returns the retry to the budget.
    pub(crate) async fn retry_permit(&self) -> Permit {
        let ticket = loop {
            let now = self.shared.now();
            let taken = self.shared.controller.lock().take_retry(now);
            match taken {
                Ok(ticket) => break ticket,
                Err(until) => sleep(until.saturating_sub(now).min(POLL)).await,
            }
        };
        let retry = Retry { shared: Arc::clone(&self.shared), ticket: Some(ticket) };
        let mut permit = self.acquire().await;
        permit.retry = Some(retry);
        permit
    }

    /// Returns the current state, for progress reports and the journal.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.shared.controller.lock().snapshot(self.shared.now())
    }
}

impl Shared {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    async fn wait(&self, blocked: Blocked) {
        let until = blocked.map_or(MAX_WAIT, |until| until.saturating_sub(self.now()).min(MAX_WAIT));
        let _changed_or_due = timeout_at(Instant::now() + until, self.changed.notified()).await;
    }
}

/// A retry taken from the budget; returned unless its request was sent.
struct Retry {
    shared: Arc<Shared>,
    ticket: Option<RetryTicket>,
}

impl Drop for Retry {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.controller.lock().refund_retry(ticket);
        }
    }
}

/// The right to send one request.
///
/// Call [`sending`](Self::sending) before the request may reach the service, and [`finish`](Self::finish) with its outcome. Dropping the permit
/// before sending returns its slot to the next waiting task; dropping it afterwards only ends its request in flight.
#[must_use]
pub(crate) struct Permit {
    shared: Arc<Shared>,
    ticket: Option<Ticket>,
    retry: Option<Retry>,
    sent: bool,
}

impl Permit {
    /// Marks the request as sent: from now on it may reach the service, even if its task is canceled.
    pub(crate) fn sending(&mut self) {
        self.sent = true;
        if let Some(mut retry) = self.retry.take() {
            retry.ticket = None;
        }
    }

    /// Reports the outcome and the response headers (an empty map without a response).
    pub(crate) fn finish(mut self, observation: Observation, headers: &HeaderMap) {
        self.sending();
        self.finish_with(|controller, ticket, now| controller.observe(ticket, observation, headers, now));
    }

    fn finish_with(&mut self, end: impl FnOnce(&mut Controller, Ticket, Duration)) {
        if let Some(ticket) = self.ticket.take() {
            let now = self.shared.now();
            end(&mut self.shared.controller.lock(), ticket, now);
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.sent {
            self.finish_with(Controller::abandon);
        } else {
            self.finish_with(Controller::release);
        }
    }
}
