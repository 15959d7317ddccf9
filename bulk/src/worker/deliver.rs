//! The delivery of one batch by a worker: lease, intent, attempts, result.

use std::{pin::pin, sync::Arc, time::Duration};

use http::HeaderMap;
use idempost::call::RateSignal;
use tokio::time::{interval, sleep, timeout};

use super::{
    Shared, WorkerEvent, claim::Claim, refusals::RejectionScope, renderer::RenderError,
    settled::RequestCounts,
};
use crate::{
    deliver::{self, Before, Delivery, EmailStart, Ledger, Service},
    error::BulkError,
    journal::{EmailOutcome, Record, UnixMillis},
    pace::{Observation, Permit},
    queue::{Backend, EmailIntent, IntentState, Lease, QueueError, RETRY, pause},
    run::Stop,
    sender::{Attempt, SendRequest, Sender},
    state::{AttemptResult, Situation},
};

/// How long a batch waiting for memory keeps its permit.
const MAX_TURN: Duration = Duration::from_secs(1);
/// How long a stopping worker tries to record a result.
const GRACE: Duration = Duration::from_secs(10);
/// The pause for a quota whose end the service didn't state.
const QUOTA_PAUSE: Duration = Duration::from_mins(15);

/// How a delivery ended.
#[derive(Debug)]
pub(super) enum Delivered {
    /// The batch has a result.
    Settled,
    /// The batch is left for another delivery.
    Released,
    /// None of this worker's requests can succeed.
    Unauthorized(String),
    /// The worker can't continue.
    Failed(BulkError),
}

/// Delivers a leased batch in as many attempts as necessary, and extends the lease meanwhile.
pub(super) async fn deliver<B: Backend, S: Sender>(
    shared: Arc<Shared<B, S>>,
    lease: Lease,
    permit: Permit,
    slot: Option<Duration>,
) -> Delivered {
    let extended = async {
        let mut ticks = interval(shared.backend.lease_time() / 3);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            // If this fails, the lease expires and the batch is delivered again, which is safe.
            let _ = shared.backend.extend(&lease).await;
        }
    };
    tokio::select! {
        delivered = shared.attempts(&lease, permit, slot) => delivered,
        () = extended => Delivered::Released,
    }
}

impl<B: Backend, S: Sender> Shared<B, S> {
    async fn attempts(&self, lease: &Lease, permit: Permit, slot: Option<Duration>) -> Delivered {
        let batch = lease.batch;
        if lease.deliveries > self.options.max_deliveries {
            return self.give_up(lease).await;
        }
        let mut turn = Some((permit, slot));
        let prepared = match yielding(self.renderer.render(batch), &mut turn).await {
            Ok(prepared) => prepared,
            Err(RenderError::Panicked) => {
                self.report_event(WorkerEvent::Panicked);
                return Delivered::Released;
            }
            Err(RenderError::Failed(error)) => {
                let _ = self.backend.reject(lease).await;
                return Delivered::Failed(error);
            }
        };
        let possibly_attempted = self.control.borrow().possibly_attempted;
        let claim = Claim::new(&prepared, lease.token.clone(), possibly_attempted);
        let mut leased = Leased {
            shared: self,
            lease,
            claim,
            turn,
            slot: Duration::ZERO,
            effort: RequestCounts::default(),
            settled: false,
            about: RejectionScope::Everything,
        };
        let delivery = match deliver::deliver(&mut leased, self.plan.id(), &prepared).await {
            Ok(delivery) => delivery,
            Err(delivered) => return delivered,
        };
        match &delivery {
            Delivery::Rejected(reason) => {
                // If the queue doesn't respond, the next rejected batch pauses the job.
                let _ = pause(&*self.backend, reason).await;
            }
            Delivery::Quota { name, until } => {
                let until = until.unwrap_or_else(|| self.clock.millis().saturating_add(QUOTA_PAUSE));
                let reason = format!("the quota `{name}` is exhausted");
                if let Err(error) = self.pace.pause(Duration::from_millis(until.0), &reason).await {
                    self.report_event(WorkerEvent::QueueUnavailable { reason: error.with_cause() });
                }
            }
            Delivery::Ended | Delivery::Stopped | Delivery::Unauthorized(_) => {}
        }
        if leased.settled {
            return Delivered::Settled;
        }
        if self.stop.stop() < Stop::Abort {
            leased.claim.withdraw(&*self.backend, leased.effort.requests).await;
            // If this fails, the lease expires.
            let _ = timeout(GRACE, self.return_lease(lease)).await;
        }
        match delivery {
            Delivery::Unauthorized(reason) if leased.about == RejectionScope::Everything => {
                Delivered::Unauthorized(reason)
            }
            _ => Delivered::Released,
        }
    }

    /// Returns a lease as soon as the queue accepts it. A lease that expires instead counts as a failed delivery.
    async fn return_lease(&self, lease: &Lease) {
        while self.backend.reject(lease).await.is_err() {
            sleep(RETRY).await;
        }
    }

    /// Returns a batch whose intent the queue couldn't record, which isn't the batch's fault.
    async fn abandon(&self, lease: &Lease, error: QueueError) -> Delivered {
        tokio::select! {
            () = self.return_lease(lease) => {}
            () = self.stop.wait_for(Stop::Drain) => {}
        }
        if error.is_transient() || matches!(error, QueueError::Clock { .. }) {
            return Delivered::Released;
        }
        Delivered::Failed(error.into())
    }

    /// Ends a batch that was delivered too many times without a result.
    async fn give_up(&self, lease: &Lease) -> Delivered {
        let (batch, workers) = (lease.batch, lease.deliveries - 1);
        match self.backend.result(batch).await {
            Ok(None) => {}
            Ok(Some(_)) => {
                let _ = self.backend.complete(lease).await;
                return Delivered::Settled;
            }
            Err(_) => return Delivered::Released,
        }
        let intent = match self.backend.intent(batch).await {
            Ok(stored) => stored.map(|stored| stored.intent),
            Err(_) => return Delivered::Released,
        };
        let attempted = intent.as_ref().is_some_and(|intent| intent.state != IntentState::NotSent);
        let possibly = attempted || self.control.borrow().possibly_attempted.is_some();
        let emails = intent.map(|intent| intent.emails).unwrap_or_default();
        let record = if !emails.is_empty() {
            // The worker before this one may still be sending.
            let outcome = |email: &EmailIntent| email.outcome().unwrap_or(EmailOutcome::Unknown);
            Record::Partial { batch, emails: emails.iter().map(outcome).collect() }
        } else if possibly {
            let reason = format!("{workers} workers failed while processing the batch").into();
            Record::Unknown { batch, reason }
        } else {
            let message = format!("not sent: {workers} workers failed while preparing the batch").into();
            Record::Rejected { batch, status: 0, message }
        };
        self.settle(lease, &record, RequestCounts::default()).await
    }

    /// Records a result, and only then removes the batch from the queue.
    async fn settle(&self, lease: &Lease, record: &Record, effort: RequestCounts) -> Delivered {
        let result = bytes::Bytes::from(effort.prepend_to(&record.to_bytes()));
        let recorded = async {
            loop {
                match self.backend.record_result(lease.batch, result.clone()).await {
                    Err(error) if error.is_transient() => sleep(RETRY).await,
                    recorded => return recorded,
                }
            }
        };
        let stopped = async {
            self.stop.wait_for(Stop::Drain).await;
            let _ = timeout(GRACE, self.stop.wait_for(Stop::Abort)).await;
        };
        let recorded: Result<bool, QueueError> = tokio::select! {
            recorded = recorded => recorded,
            // The intent stays, so the batch is sent again under the same key.
            () = stopped => return Delivered::Released,
        };
        match recorded {
            Ok(first) => {
                if first {
                    self.tally(|tally| tally.batches += 1);
                    self.report_event(WorkerEvent::Settled { batch: lease.batch });
                }
                // If this fails, the queue delivers the batch again, and the result is found.
                let _ = self.backend.complete(lease).await;
                Delivered::Settled
            }
            Err(error) => Delivered::Failed(error.into()),
        }
    }
}

/// A batch leased by this worker and recorded in the queue.
struct Leased<'a, B, S> {
    shared: &'a Shared<B, S>,
    lease: &'a Lease,
    claim: Claim,
    /// The permit for the first attempt, and its slot unless that has expired.
    turn: Option<(Permit, Option<Duration>)>,
    /// The slot used for the attempt.
    slot: Duration,
    effort: RequestCounts,
    /// Whether the batch has a result.
    settled: bool,
    /// What the last rejection was about.
    about: RejectionScope,
}

impl<B: Backend, S: Sender> Ledger for Leased<'_, B, S> {
    type Failure = Delivered;

    async fn permit(&mut self, retry: bool) -> Result<Permit, Delivery> {
        let shared = self.shared;
        self.claim.record_emails(&*shared.backend, self.effort.requests).await;
        let turn = self.turn.take();
        let granted = async {
            let (permit, slot) = match turn {
                Some(turn) => turn,
                None if retry => (shared.gate.retry_permit().await, None),
                None => (shared.gate.acquire().await, None),
            };
            match slot {
                Some(slot) => (permit, slot),
                None => (permit, shared.slot().await),
            }
        };
        tokio::select! {
            biased;
            () = shared.wait_for_stop() => Err(Delivery::Stopped),
            (permit, slot) = granted => {
                self.slot = slot;
                Ok(permit)
            }
        }
    }

    async fn before_attempt(&mut self) -> Result<Before, Delivered> {
        let Shared { backend, clock, .. } = self.shared;
        if self.claim.is_split() {
            return match self.claim.before_email(&**backend, clock, self.effort.requests).await {
                Ok(Some(before)) => Ok(before),
                // Another worker has taken the batch. Returning the lease would add an entry, whose worker takes the batch from that one.
                Ok(None) => Err(Delivered::Released),
                Err(error) => Err(self.shared.abandon(self.lease, error).await),
            };
        }
        match self.claim.before_attempt(&**backend, clock).await {
            Ok(Before::Ended) => {
                let _ = backend.complete(self.lease).await;
                self.settled = true;
                Ok(Before::Ended)
            }
            Ok(before) => Ok(before),
            Err(error) => Err(self.shared.abandon(self.lease, error).await),
        }
    }

    async fn send(&mut self, request: SendRequest, repeats: bool) -> Option<Attempt> {
        self.effort.repeated |= repeats;
        self.effort.requests += 1;
        self.shared.tally(|tally| {
            tally.requests += 1;
            tally.replayed += u64::from(repeats);
        });
        tokio::select! {
            attempt = self.shared.sender.send(request) => Some(attempt),
            () = self.shared.stop.wait_for(Stop::Abort) => None,
        }
    }

    fn finish(&mut self, permit: Permit, attempt: &Attempt) {
        let throttled = matches!(attempt.observation, Observation::Throttled { .. });
        self.effort.throttled += u32::from(throttled);
        self.shared.tally(|tally| tally.throttled += u64::from(throttled));
        // All workers learn the rate together; the gate only counts failures.
        permit.finish(if throttled { Observation::Other } else { attempt.observation }, &HeaderMap::new());
        self.shared.pace.observe(RateSignal::new(self.slot, attempt.observation.verdict(), &attempt.headers));
        let accepted = match &attempt.result {
            AttemptResult::Accepted { .. } => true,
            AttemptResult::Partial { emails } => {
                emails.iter().any(|email| matches!(email, EmailOutcome::Accepted(_)))
            }
            _ => false,
        };
        if accepted {
            self.shared.refusals.lock().record_accepted();
        }
    }

    fn now(&self) -> UnixMillis {
        self.shared.clock.millis()
    }

    fn situation(&self, now: UnixMillis) -> Situation {
        self.claim.situation(now)
    }

    fn set_uncertain(&mut self) {
        self.claim.set_uncertain();
    }

    /// Does nothing: the intent stays until the batch returns to the queue.
    fn withdraw(&mut self) {}

    /// Returns `false`: only the claim knows.
    fn is_split(&self) -> bool {
        false
    }

    fn select_email(&mut self, email: usize) -> EmailStart {
        self.claim.select_email(email)
    }

    fn note_email(&mut self, email: usize, outcome: Option<&EmailOutcome>) {
        self.claim.note_email(email, outcome);
    }

    async fn split(&mut self) -> Result<bool, Delivered> {
        let split = self.claim.split(&*self.shared.backend, self.effort.requests).await;
        match split {
            Ok(split) => Ok(split),
            Err(error) => Err(self.shared.abandon(self.lease, error).await),
        }
    }

    async fn settle(&mut self, record: &Record) -> Result<(), Delivered> {
        let requests = self.effort.requests.saturating_add(self.claim.earlier_requests());
        self.settled = true;
        match self.shared.settle(self.lease, record, RequestCounts { requests, ..self.effort }).await {
            Delivered::Settled => Ok(()),
            failed => Err(failed),
        }
    }

    async fn delay(&mut self, time: Duration) -> bool {
        tokio::select! {
            () = sleep(time) => true,
            () = self.shared.wait_for_stop() => false,
        }
    }

    fn is_rejected_alone(&mut self, status: u16) -> bool {
        // The client itself rejected a request without a status, such as its recipient guard: another worker may send the batch.
        self.about = if matches!(status, 0 | 401) {
            RejectionScope::Everything
        } else {
            self.shared.refusals.lock().record_rejected(self.lease.batch)
        };
        self.about == RejectionScope::Batch
    }

    fn service(&self) -> &Service {
        &self.shared.service
    }
}

/// Waits for a rendered batch, and gives up its turn if that takes long: the batches that occupy the memory may themselves be waiting for a permit.
async fn yielding<T, U>(render: impl Future<Output = T>, turn: &mut Option<U>) -> T {
    let mut render = pin!(render);
    if let Ok(rendered) = timeout(MAX_TURN, &mut render).await {
        return rendered;
    }
    *turn = None;
    render.await
}

#[cfg(test)]
mod tests {
    use crate::pace::{Gate, PaceOptions};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_batch_that_waits_for_memory_gives_its_permit_to_the_one_that_holds_it() {
        let gate = Gate::new(PaceOptions { concurrency: 1, ..PaceOptions::default() });
        let mut turn = Some(gate.acquire().await);
        let memory_is_free = async { drop(gate.acquire().await) };
        let rendered = timeout(Duration::from_mins(1), yielding(memory_is_free, &mut turn)).await;
        assert!(rendered.is_ok() && turn.is_none());
        let mut turn = Some(gate.acquire().await);
        yielding(async {}, &mut turn).await;
        assert!(turn.is_some(), "a batch that is rendered at once keeps its permit");
    }
}
