//! The delivery of a job's batches on this machine, recorded in its journal.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{Shared, Stop, event::outcome_event};
use crate::{
    clock::Reading,
    deliver::{self, Before, Delivery, EmailStart, Ledger, Service},
    error::{BulkError, Result},
    journal::{EmailOutcome, Record, UnixMillis},
    pace::{Observation, Permit},
    plan::{Prepared, Rendered},
    sender::{Attempt, SendRequest, Sender, response_time},
    state::{AttemptResult, BatchState, BeforeAttempt, Situation},
};

/// Delivers a batch.
pub(super) async fn deliver<S: Sender>(shared: Arc<Shared<S>>, prepared: Rendered) -> Result<Delivery> {
    let is_open = matches!(shared.states.lock().state(prepared.batch), Some(BatchState::Maybe { .. }));
    let mut batch = Batch { shared: &shared, prepared: &prepared, replayed: is_open, ended: None };
    deliver::deliver(&mut batch, shared.plan.id(), &prepared).await
}

struct Batch<'a, S> {
    shared: &'a Shared<S>,
    prepared: &'a Prepared,
    /// An earlier process may have sent the batch, and this process hasn't yet.
    replayed: bool,
    /// When this process's last attempt ended.
    ended: Option<Reading>,
}

impl<S: Sender> Batch<'_, S> {
    /// Confirms the time with the service's.
    async fn confirm_time(&self) -> Result<(), Attempt> {
        let asked = self.shared.clock.read();
        let time = self.shared.sender.time().await?;
        self.shared.learn_time(|clock| clock.confirm(time, asked));
        // Makes the times durable. If this fails, so does the next record.
        let _ = self.shared.journal.append_all(&[]).await;
        Ok(())
    }

    /// Learns whether this machine's clock is ahead of the service's.
    async fn compare_clocks(&self) -> Result<(), Attempt> {
        let time = self.shared.sender.time().await?;
        self.shared.learn_time(|clock| clock.observe(time));
        Ok(())
    }

    /// Journals that the batch is attempted or ends on a later day than before; the [schedule](crate::schedule) counts it there too.
    async fn record_day(&self) -> Result<()> {
        let (shared, batch) = (self.shared, self.prepared.batch);
        let Some(timetable) = &shared.timetable else { return Ok(()) };
        if shared.clock.is_in_doubt() {
            // The machine may have slept past midnight while the request was in flight.
            tokio::select! {
                _ = self.confirm_time() => {}
                () = shared.control.wait_for(Stop::Abort) => {}
            }
        }
        match timetable.attempt_on_new_day(batch, self.now()) {
            Some(attempt) => shared.record(&attempt).await,
            None => Ok(()),
        }
    }
}

impl<S: Sender> Ledger for Batch<'_, S> {
    type Failure = BulkError;

    async fn permit(&mut self, mut retry: bool) -> Result<Permit, Delivery> {
        let Self { shared, prepared, .. } = *self;
        loop {
            let granted =
                async { if retry { shared.gate.retry_permit().await } else { shared.gate.acquire().await } };
            let permit = tokio::select! {
                biased;
                () = shared.control.wait_for(Stop::Drain) => return Err(Delivery::Stopped),
                permit = granted => permit,
            };
            let is_open =
                matches!(shared.states.lock().state(prepared.batch), Some(BatchState::Maybe { .. }));
            let is_unchecked = || self.ended.is_some_and(|ended| shared.clock.is_unchecked_since(ended));
            // The age of a request has to be known before it is repeated, and the time of day before a schedule admits it. A clock in doubt can't be
            // compared.
            let is_doubtful = if is_open {
                shared.clock.is_in_doubt() || is_unchecked()
            } else {
                shared.clock.is_in_doubt() && (shared.timetable.is_some() || !shared.compared.initialized())
            };
            let learned = async {
                if is_doubtful {
                    return self.confirm_time().await;
                }
                shared.compared.get_or_try_init(|| self.compare_clocks()).await.copied()
            };
            let learned = tokio::select! {
                () = shared.control.wait_for(Stop::Drain) => return Err(Delivery::Stopped),
                learned = learned => learned,
            };
            match learned {
                Ok(()) => return Ok(permit),
                Err(attempt) => {
                    permit.finish(attempt.observation, &attempt.headers);
                    shared.service.note(&attempt);
                    if let AttemptResult::Unauthorized { message, .. } = attempt.result {
                        return Err(Delivery::Unauthorized(message.into()));
                    }
                }
            }
            retry = true;
        }
    }

    async fn before_attempt(&mut self) -> Result<Before> {
        let (Self { shared, prepared, .. }, now) = (&*self, self.now());
        let batch = prepared.batch;
        let before = shared.states.lock().before_attempt(batch, prepared.emails(), prepared.hash, now);
        if before == BeforeAttempt::Resend {
            self.record_day().await?;
        }
        Ok(match before {
            BeforeAttempt::Resend if shared.states.lock().is_split(batch) => Before::Split,
            BeforeAttempt::Resend => Before::Send,
            BeforeAttempt::Ended => Before::Ended,
            BeforeAttempt::Settle(record) => Before::Settle(record),
            BeforeAttempt::Start(intent) => {
                if let Some(timetable) = &shared.timetable
                    && let Err(wait) = timetable.admit(&intent, &prepared.domains)
                {
                    return Ok(Before::Wait(wait));
                }
                let is_email = matches!(intent, Record::EmailIntent { .. });
                if is_email {
                    self.record_day().await?;
                }
                shared.record(&intent).await?;
                if is_email { Before::Split } else { Before::Send }
            }
        })
    }

    async fn send(&mut self, request: SendRequest, _repeats: bool) -> Option<Attempt> {
        self.shared.requests.fetch_add(1, Ordering::Relaxed);
        if std::mem::take(&mut self.replayed) {
            self.shared.replayed.fetch_add(1, Ordering::Relaxed);
        }
        let attempt = tokio::select! {
            attempt = self.shared.sender.send(request) => Some(attempt),
            () = self.shared.control.wait_for(Stop::Abort) => None,
        };
        self.ended = Some(self.shared.clock.read());
        attempt
    }

    fn finish(&mut self, permit: Permit, attempt: &Attempt) {
        permit.finish(attempt.observation, &attempt.headers);
        let time = response_time(&attempt.headers, attempt.observation == Observation::Accepted);
        self.shared.learn_time(|clock| clock.observe(time));
    }

    fn now(&self) -> UnixMillis {
        self.shared.clock.millis()
    }

    fn situation(&self, now: UnixMillis) -> Situation {
        self.shared.states.lock().situation(self.prepared.batch, now)
    }

    fn set_uncertain(&mut self) {
        self.shared.states.lock().set_uncertain(self.prepared.batch);
    }

    fn withdraw(&mut self) {
        self.shared.note(&Record::NotSent { batch: self.prepared.batch });
    }

    fn is_split(&self) -> bool {
        self.shared.states.lock().is_split(self.prepared.batch)
    }

    fn select_email(&mut self, email: usize) -> EmailStart {
        let (mut states, batch) = (self.shared.states.lock(), self.prepared.batch);
        if let Some(outcome) = states.select_email(batch, email) {
            return EmailStart::Settled(outcome.clone());
        }
        let uncertain = states.situation(batch, self.now()).earlier_uncertain;
        if uncertain { EmailStart::Uncertain } else { EmailStart::Fresh }
    }

    fn note_email(&mut self, email: usize, outcome: Option<&EmailOutcome>) {
        let email = u16::try_from(email).unwrap_or(u16::MAX);
        let outcome = outcome.cloned();
        self.shared.note(&Record::EmailResult { batch: self.prepared.batch, email, outcome });
    }

    async fn split(&mut self) -> Result<bool> {
        self.shared.record(&Record::Split { batch: self.prepared.batch }).await?;
        Ok(true)
    }

    async fn settle(&mut self, record: &Record) -> Result<()> {
        self.record_day().await?;
        let Self { shared, prepared, .. } = self;
        shared.record(record).await?;
        let first_row = prepared.rows.first().map_or(0, |row| row.row);
        if let Some(event) = outcome_event(prepared.batch, first_row, prepared.emails(), record) {
            // Waits for a slow reader, because these events aren't repeated.
            let _ = shared.events.send(event).await;
        }
        Ok(())
    }

    async fn delay(&mut self, time: Duration) -> bool {
        tokio::select! {
            () = self.shared.control.wait_for(Stop::Drain) => false,
            () = self.shared.clock.sleep(time) => true,
        }
    }

    fn is_rejected_alone(&mut self, _status: u16) -> bool {
        false
    }

    fn service(&self) -> &Service {
        &self.shared.service
    }
}
