//! The delivery of one batch by a worker: lease, intent, attempts, result.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::HeaderMap;
use idempost::call::RateSignal;
use tokio::time::{Instant, interval, sleep, timeout};

use super::{
    Shared, WorkerEvent,
    claim::{Before, Claim},
    refusals::About,
    renderer::RenderError,
    settled::Effort,
};
use crate::{
    error::BulkError,
    journal::{EmailOutcome, Record},
    key::idempotency_key,
    pace::{Observation, Permit},
    queue::{Backend, IntentState, Lease, QueueError, pause},
    run::{MAX_FAILING, Stop},
    sender::{SendRequest, Sender},
    state::{AttemptResult, Decision, Next, decide},
};

/// The pause after a failed attempt to record a result.
const RETRY: Duration = Duration::from_millis(250);
/// How long a batch that waits for memory keeps its turn.
const KEPT: Duration = Duration::from_secs(1);
/// How long a stopping worker tries to record a result.
const GRACE: Duration = Duration::from_secs(10);
/// The pause for a quota whose end the service didn't name.
const QUOTA_PAUSE: Duration = Duration::from_mins(15);

/// How a delivery ended.
#[derive(Debug)]
pub(super) enum Delivered {
    /// The batch has a result.
    Settled,
    /// The batch is left to another delivery.
    Released,
    /// No request of this worker can succeed.
    Unauthorized(String),
    /// The worker can't continue.
    Failed(BulkError),
}

/// Delivers a leased batch, with as many attempts as it takes, and extends the lease meanwhile.
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
            // A lease that isn't extended leads to another delivery, which is safe.
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
        let key = idempotency_key(self.plan.id(), batch, &prepared.hash);
        let possibly_attempted = self.control.borrow().possibly_attempted;
        let mut claim = Claim::new(&prepared, lease.token.clone(), possibly_attempted);
        let mut turn = match turn {
            Some((permit, Some(slot))) => Some((permit, slot)),
            Some((permit, None)) => tokio::select! {
                slot = self.slot() => Some((permit, slot)),
                () = self.interrupted() => return self.release(lease, &mut claim, Effort::default()).await,
            },
            None => None,
        };
        let mut unauthorized = false;
        let mut failing_since = None;
        let mut effort = Effort::default();
        loop {
            let (mut permit, slot) = match turn.take() {
                Some(turn) => turn,
                None => match self.turn(claim.is_uncertain()).await {
                    Some(turn) => turn,
                    None => return self.release(lease, &mut claim, effort).await,
                },
            };
            match claim.before_attempt(&*self.backend, &self.clock).await {
                Before::Send => {}
                Before::Ended => {
                    let _ = self.backend.done(lease).await;
                    return Delivered::Settled;
                }
                Before::Settle(record) => return self.settle(lease, &record, effort.since(&claim)).await,
                Before::Abandon(error) => return self.abandon(lease, error).await,
            }
            if claim.is_uncertain() {
                effort.repeated = true;
                self.tally.replayed.fetch_add(1, Ordering::Relaxed);
            }
            effort.requests += 1;
            self.tally.requests.fetch_add(1, Ordering::Relaxed);
            permit.sending();
            let emails = prepared.emails();
            let request =
                SendRequest { kind: prepared.kind, emails, key: key.clone(), body: prepared.body.clone() };
            let mut attempt = tokio::select! {
                attempt = self.sender.send(request) => attempt,
                () = self.stop.reached(Stop::Abort) => return Delivered::Released,
            };
            let throttled = matches!(attempt.observation, Observation::Throttled { .. });
            if throttled {
                effort.throttled += 1;
                self.tally.throttled.fetch_add(1, Ordering::Relaxed);
            }
            // The rate is learned by all workers together; the gate only counts failures.
            permit
                .finish(if throttled { Observation::Other } else { attempt.observation }, &HeaderMap::new());
            self.pace.saw(RateSignal::new(slot, attempt.observation.verdict(), &attempt.headers));
            // A session refreshes a rejected access token for the next request, so one 401 isn't final.
            if let AttemptResult::Unauthorized { status: 401, message } = &attempt.result
                && !std::mem::replace(&mut unauthorized, true)
            {
                attempt.result = AttemptResult::NotSent(message.clone());
            }
            self.note_response(&attempt);
            if let AttemptResult::Uncertain(reason) = &attempt.result
                && attempt.observation == Observation::ServerError
            {
                let since = *failing_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= MAX_FAILING && self.is_responsive() {
                    let reason =
                        format!("the service kept failing for this batch alone; last result: {reason}");
                    let unknown = Record::Unknown { batch, reason: reason.into() };
                    return self.settle(lease, &unknown, effort.since(&claim)).await;
                }
            } else {
                failing_since = None;
            }
            let status = match &attempt.result {
                AttemptResult::Unauthorized { status, .. } => Some(*status),
                _ => None,
            };
            let now = self.clock.millis();
            let situation = claim.situation(now);
            if matches!(attempt.result, AttemptResult::Uncertain(_)) {
                claim.set_uncertain();
            }
            let Decision { record, next } = decide(&situation, attempt.result, now);
            match next {
                Next::Done => {
                    let Some(record) = record else { return Delivered::Released };
                    let accepted = |email: &EmailOutcome| matches!(email, EmailOutcome::Accepted(_));
                    let reason = match &record {
                        Record::Rejected { message, .. } => Some(message.to_string()),
                        Record::Partial { emails, .. } if !emails.iter().any(accepted) => None,
                        Record::Result { .. } | Record::Partial { .. } => {
                            self.refusals().accepted();
                            None
                        }
                        _ => None,
                    };
                    if let Some(reason) = reason
                        && self.refusals().rejected()
                        && !claim.is_uncertain()
                    {
                        let reason = format!("the service rejects all batches, lately: {reason}");
                        // If the queue doesn't respond, the next rejected batch pauses the job.
                        let _ = pause(&*self.backend, &reason).await;
                        return self.release(lease, &mut claim, effort).await;
                    }
                    return self.settle(lease, &record, effort.since(&claim)).await;
                }
                Next::BackToFresh => {}
                Next::RetrySame { after } => {
                    let delay = sleep(after.unwrap_or_default());
                    tokio::select! {
                        () = delay => {}
                        () = self.interrupted() => return self.release(lease, &mut claim, effort).await,
                    }
                }
                Next::StopJob(reason) => {
                    let about =
                        if status == Some(401) { About::Everything } else { self.refusals().refused(batch) };
                    if about == About::Batch && !claim.is_uncertain() {
                        let rejected =
                            Record::Rejected { batch, status: status.unwrap_or(0), message: reason.into() };
                        return self.settle(lease, &rejected, effort.since(&claim)).await;
                    }
                    self.release(lease, &mut claim, effort).await;
                    return match about {
                        About::Everything => Delivered::Unauthorized(reason),
                        About::Unclear | About::Batch => Delivered::Released,
                    };
                }
                Next::PauseJob { quota, until } => {
                    let until = Duration::from_millis(until.unwrap_or_else(|| now.after(QUOTA_PAUSE)).0);
                    let reason = format!("the quota `{quota}` is used up");
                    if let Err(error) = self.pace.pause(until, &reason).await {
                        self.report_event(WorkerEvent::QueueUnavailable { reason: error.with_cause() });
                    }
                    return self.release(lease, &mut claim, effort).await;
                }
            }
        }
    }

    /// Waits for the right to another attempt. `None` if the worker or the job stops first.
    async fn turn(&self, retry: bool) -> Option<(Permit, Duration)> {
        let granted = async {
            let permit = if retry { self.gate.retry_permit().await } else { self.gate.permit().await };
            (permit, self.slot().await)
        };
        tokio::select! {
            biased;
            () = self.interrupted() => None,
            turn = granted => Some(turn),
        }
    }

    /// Returns the batch to the queue.
    async fn release(&self, lease: &Lease, claim: &mut Claim, effort: Effort) -> Delivered {
        claim.withdraw(&*self.backend, effort.requests).await;
        // If this fails, the lease expires.
        let _ = timeout(GRACE, self.return_lease(lease)).await;
        Delivered::Released
    }

    /// Returns a lease as soon as the queue accepts it. A lease that expires instead counts as a failed delivery.
    async fn return_lease(&self, lease: &Lease) {
        while self.backend.reject(lease).await.is_err() {
            sleep(RETRY).await;
        }
    }

    /// Returns a batch whose intent the queue couldn't record, which says nothing about the batch.
    async fn abandon(&self, lease: &Lease, error: QueueError) -> Delivered {
        tokio::select! {
            () = self.return_lease(lease) => {}
            () = self.stop.reached(Stop::Drain) => {}
        }
        if error.is_transient() || matches!(error, QueueError::Clock { .. }) {
            return Delivered::Released;
        }
        Delivered::Failed(error.into())
    }

    /// Ends a batch that was delivered too often without a result.
    async fn give_up(&self, lease: &Lease) -> Delivered {
        let (batch, workers) = (lease.batch, lease.deliveries - 1);
        match self.backend.result(batch).await {
            Ok(None) => {}
            Ok(Some(_)) => {
                let _ = self.backend.done(lease).await;
                return Delivered::Settled;
            }
            Err(_) => return Delivered::Released,
        }
        let attempted = match self.backend.intent(batch).await {
            Ok(stored) => stored.is_some_and(|stored| stored.intent.state == IntentState::Open),
            Err(_) => return Delivered::Released,
        };
        let possibly = attempted || self.control.borrow().possibly_attempted.is_some();
        let record = if possibly {
            let reason = format!("{workers} workers failed while they processed the batch").into();
            Record::Unknown { batch, reason }
        } else {
            let message = format!("not sent: {workers} workers failed while they prepared the batch").into();
            Record::Rejected { batch, status: 0, message }
        };
        self.settle(lease, &record, Effort::default()).await
    }

    /// Records a result, and only then removes the batch from the queue.
    async fn settle(&self, lease: &Lease, record: &Record, effort: Effort) -> Delivered {
        let result = bytes::Bytes::from(effort.before(&record.to_bytes()));
        let recorded = async {
            loop {
                match self.backend.conclude(lease.batch, result.clone()).await {
                    Err(error) if error.is_transient() => sleep(RETRY).await,
                    recorded => return recorded,
                }
            }
        };
        let stopped = async {
            self.stop.reached(Stop::Drain).await;
            let _ = timeout(GRACE, self.stop.reached(Stop::Abort)).await;
        };
        let recorded: Result<bool, QueueError> = tokio::select! {
            recorded = recorded => recorded,
            // The intent stays, so the batch is sent again under the same key.
            () = stopped => return Delivered::Released,
        };
        match recorded {
            Ok(first) => {
                if first {
                    self.tally.batches.fetch_add(1, Ordering::Relaxed);
                    self.report_event(WorkerEvent::Settled { batch: lease.batch });
                }
                // Otherwise the queue delivers it again, and the result is found.
                let _ = self.backend.done(lease).await;
                Delivered::Settled
            }
            Err(error) => Delivered::Failed(error.into()),
        }
    }
}

impl Effort {
    /// Adds the requests of earlier workers.
    fn since(self, claim: &Claim) -> Self {
        Self { requests: self.requests.saturating_add(claim.earlier_requests()), ..self }
    }
}

/// Waits for a rendered batch, and gives up its turn if that takes long: the batches that hold the memory for requests may wait for a permit.
async fn yielding<T, U>(render: impl Future<Output = T>, turn: &mut Option<U>) -> T {
    let mut render = pin!(render);
    if let Ok(rendered) = timeout(KEPT, &mut render).await {
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
        let mut turn = Some(gate.permit().await);
        let memory_is_free = async { drop(gate.permit().await) };
        let rendered = timeout(Duration::from_mins(1), yielding(memory_is_free, &mut turn)).await;
        assert!(rendered.is_ok() && turn.is_none());
        let mut turn = Some(gate.permit().await);
        yielding(async {}, &mut turn).await;
        assert!(turn.is_some(), "a batch that is rendered at once keeps its permit");
    }
}
