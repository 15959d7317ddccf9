//! The delivery of one batch: intent, attempts, result. It works the same whether the batch is recorded in this machine's journal or in a queue
//! shared by workers.
//!
//! # Why a bad row doesn't cause its neighbors to be rejected
//!
//! If the service rejects a batch and has certainly accepted none of it, its emails are sent one by one. The split is durable before the first email
//! leaves, and from then on the batch as a whole is never sent again. Each email has its own key, which depends on the batch, the email's position
//! and its bytes. A journal records each email's intent and result like those of a batch, so the next process continues with the email that was in
//! flight. A queue has no such records: the next worker sends all of them again under these keys, and the service executes each once; the age of the
//! first attempt limits how long this is possible.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    journal::{EmailOutcome, Record, UnixMillis},
    key::idempotency_key,
    locked::Locked,
    pace::{Observation, Permit},
    plan::{BatchKind, Prepared},
    sender::{Attempt, SendRequest},
    state::{AttemptResult, Decision, Next, Situation, decide},
};

/// How long a batch is attempted while the service fails for it but responds to others: a service that stores its response per key, errors included,
/// never returns a different one.
const MAX_FAILING: Duration = Duration::from_hours(1);

/// The service counts as up if it responded within this time.
const RECENT: Duration = Duration::from_mins(1);

/// How a delivery ended.
#[derive(Debug)]
pub(crate) enum Delivery {
    /// The batch has a terminal state.
    Ended,
    /// The job or the process is stopping; the batch is left as it is.
    Stopped,
    /// The service rejects every request, for this reason: the credential or the connection.
    Unauthorized(String),
    /// The service rejects everything, most recently for this reason.
    Rejected(String),
    /// A quota is exhausted.
    Quota {
        name: Box<str>,
        /// When it is available again.
        until: Option<UnixMillis>,
    },
}

/// What to do before an attempt.
#[derive(Debug)]
pub(crate) enum Before {
    /// Send the batch: its intent is durable.
    Send,
    /// Send its emails one by one: its split is durable.
    Split,
    /// Don't send it: this is its result.
    Settle(Record),
    /// Don't send it: it has a result.
    Ended,
    /// Don't send it before this time has passed.
    Wait(Duration),
}

/// What is known about an email of a split batch before this process attempts it.
#[derive(Debug)]
pub(crate) enum EmailStart {
    Fresh,
    /// An earlier process may have sent it.
    Uncertain,
    Settled(EmailOutcome),
}

/// The record of a batch, and the state that its delivery shares with others.
pub(crate) trait Ledger: Send {
    /// Why a record couldn't be written.
    type Failure: Send;

    /// Waits for the right to send; a retry needs budget.
    fn permit(&mut self, retry: bool) -> impl Future<Output = Result<Permit, Delivery>> + Send;

    /// Makes sure that the intent is durable and another attempt is safe.
    fn before_attempt(&mut self) -> impl Future<Output = Result<Before, Self::Failure>> + Send;

    /// Sends a request; `repeats` if it repeats an attempt that may have been executed. `None` if the process ends first.
    fn send(&mut self, request: SendRequest, repeats: bool) -> impl Future<Output = Option<Attempt>> + Send;

    /// Updates rates and counts from an attempt.
    fn finish(&mut self, permit: Permit, attempt: &Attempt);

    fn now(&self) -> UnixMillis;

    /// Returns what is known about the batch's attempts.
    fn situation(&self, now: UnixMillis) -> Situation;

    /// Records that the outcome of an attempt is uncertain.
    fn set_uncertain(&mut self);

    /// Records that no attempt was executed.
    fn withdraw(&mut self);

    /// Returns whether the batch is known to be split before its first attempt.
    fn is_split(&self) -> bool;

    /// Selects an email of a split batch.
    fn select_email(&mut self, email: usize) -> EmailStart;

    /// Records the outcome of an email of a split batch, or that none of its attempts was executed.
    fn note_email(&mut self, email: usize, outcome: Option<&EmailOutcome>);

    /// Makes the split durable, unless another process has taken the batch.
    fn split(&mut self) -> impl Future<Output = Result<bool, Self::Failure>> + Send;

    /// Makes the result durable.
    fn settle(&mut self, record: &Record) -> impl Future<Output = Result<(), Self::Failure>> + Send;

    /// Waits, and returns whether the delivery continues.
    fn delay(&mut self, time: Duration) -> impl Future<Output = bool> + Send;

    /// Returns whether a rejection with this status concerns only this request.
    fn is_rejected_alone(&mut self, status: u16) -> bool;

    /// Returns what this process knows about the service.
    fn service(&self) -> &Service;
}

/// What a process knows about the service from all of its requests.
#[derive(Debug)]
pub(crate) struct Service {
    /// When the service last responded, and the most recent failure since then.
    contact: Locked<(Instant, Option<Box<str>>)>,
    /// The number of consecutive rejected requests. Many have a common cause, such as a missing template, rather than a bad row.
    rejections: AtomicU64,
    /// How many of them stop the job; 0 for no limit.
    max_rejections: u64,
}

impl Service {
    /// Every request in flight may contain a bad row, so the job only stops after more rejections than that.
    pub(crate) fn new(max_rejections: u64, concurrency: usize) -> Self {
        let max = if max_rejections == 0 { 0 } else { max_rejections.max(concurrency as u64 + 1) };
        let contact = Locked::new((Instant::now(), None));
        Self { contact, rejections: AtomicU64::new(0), max_rejections: max }
    }

    /// Records whether the service responded.
    pub(crate) fn note(&self, attempt: &Attempt) {
        let mut contact = self.contact.lock();
        match &attempt.result {
            AttemptResult::NotSent(reason) | AttemptResult::Uncertain(reason) => {
                contact.1 = Some(reason.clone());
            }
            _ => *contact = (Instant::now(), None),
        }
    }

    /// Returns whether the service has responded recently, to any batch.
    fn is_responsive(&self) -> bool {
        self.contact.lock().0.elapsed() < RECENT
    }

    /// Returns the last failure if the service hasn't responded within this time.
    pub(crate) fn outage(&self, limit: Duration) -> Option<String> {
        let contact = self.contact.lock();
        contact.1.as_deref().filter(|_| contact.0.elapsed() >= limit).map(str::to_owned)
    }

    /// Counts a response. Returns the reason to stop after too many consecutive rejections.
    fn count_rejection(&self, result: &AttemptResult) -> Option<String> {
        let (status, message) = match result {
            AttemptResult::Rejected { status, message } => (*status, &**message),
            AttemptResult::Partial { emails } => match rejection_message(emails) {
                Some(message) => (200, message),
                None => return self.reset(),
            },
            AttemptResult::Accepted { .. } => return self.reset(),
            _ => return None,
        };
        let rejections = self.rejections.fetch_add(1, Ordering::Relaxed) + 1;
        (self.max_rejections > 0 && rejections >= self.max_rejections).then(|| {
            format!(
                "the service rejected {rejections} requests in a row, the last one with HTTP {status}: {message}"
            )
        })
    }

    fn reset(&self) -> Option<String> {
        self.rejections.store(0, Ordering::Relaxed);
        None
    }
}

/// Returns the first message if the service accepted a batch and rejected all of its emails.
fn rejection_message(emails: &[EmailOutcome]) -> Option<&str> {
    let messages = emails.iter().map(|email| match email {
        EmailOutcome::Rejected(message) => Some(&**message),
        _ => None,
    });
    messages.collect::<Option<Vec<_>>>()?.first().copied()
}

/// How the attempts of a request ended.
enum Attempted {
    /// The request has this result, after which the delivery ends as stated.
    Settled(Record, Delivery),
    /// The batch's emails must be sent one by one.
    Split,
    Over(Delivery),
}

/// Delivers a batch in as many attempts as necessary.
pub(crate) async fn deliver<L: Ledger>(
    ledger: &mut L,
    job: &str,
    prepared: &Prepared,
) -> Result<Delivery, L::Failure> {
    let &Prepared { batch, kind, ref body, ref hash, .. } = prepared;
    let key = idempotency_key(job, batch, hash);
    let request = SendRequest { kind, emails: prepared.emails(), key, body: body.clone() };
    if ledger.is_split() {
        return deliver_emails(ledger, job, prepared).await;
    }
    let uncertain = ledger.situation(ledger.now()).earlier_uncertain;
    let (record, delivery) = match attempts(ledger, batch, &request, None, uncertain).await? {
        Attempted::Settled(Record::Rejected { .. }, Delivery::Ended) if request.emails > 1 => {
            if !ledger.split().await? {
                return Ok(Delivery::Stopped);
            }
            return deliver_emails(ledger, job, prepared).await;
        }
        Attempted::Split => return deliver_emails(ledger, job, prepared).await,
        Attempted::Settled(record, delivery) => (record, delivery),
        Attempted::Over(delivery) => return Ok(delivery),
    };
    ledger.settle(&record).await?;
    Ok(delivery)
}

/// Delivers the emails of a split batch one by one.
async fn deliver_emails<L: Ledger>(
    ledger: &mut L,
    job: &str,
    prepared: &Prepared,
) -> Result<Delivery, L::Failure> {
    let batch = prepared.batch;
    let mut outcomes = Vec::with_capacity(prepared.rows.len());
    // Recorded as unsent: only an acceptance proves that the rejections before it have no common cause. Until then, resuming attempts them again.
    let mut rejected = Vec::new();
    for email in 0..prepared.rows.len() {
        let uncertain = match ledger.select_email(email) {
            EmailStart::Settled(outcome) => {
                outcomes.push(outcome);
                continue;
            }
            EmailStart::Uncertain => true,
            EmailStart::Fresh => false,
        };
        let (body, hash) = prepared.alone(email);
        let key = format!("{}/{email}", idempotency_key(job, batch, &hash));
        let request = SendRequest { kind: BatchKind::Batch, emails: 1, key, body };
        match attempts(ledger, batch, &request, Some(email), uncertain).await? {
            Attempted::Settled(record, delivery) => {
                let outcome = outcome(record);
                if outcome.is_rejected() {
                    ledger.note_email(email, None);
                    rejected.push(email);
                } else {
                    ledger.note_email(email, Some(&outcome));
                }
                if matches!(outcome, EmailOutcome::Accepted(_)) {
                    rejected.drain(..).for_each(|email| ledger.note_email(email, outcomes.get(email)));
                }
                outcomes.push(outcome);
                if !matches!(delivery, Delivery::Ended) {
                    return Ok(delivery);
                }
            }
            Attempted::Over(delivery) => return Ok(delivery),
            Attempted::Split => return Ok(Delivery::Stopped),
        }
    }
    ledger.settle(&Record::Partial { batch, emails: outcomes }).await?;
    Ok(Delivery::Ended)
}

/// Returns the outcome of a request's only email.
fn outcome(record: Record) -> EmailOutcome {
    let outcome = match record {
        Record::Result { ids, .. } => ids.into_iter().next().map(EmailOutcome::Accepted),
        Record::Partial { emails, .. } => emails.into_iter().next(),
        Record::Rejected { status: 0, message, .. } => Some(EmailOutcome::Rejected(message)),
        Record::Rejected { status, message, .. } => {
            Some(EmailOutcome::Rejected(format!("HTTP {status}: {message}").into()))
        }
        _ => None,
    };
    outcome.unwrap_or(EmailOutcome::Unknown)
}

/// Sends a request until it has a result: a batch, or the email of a split batch at index `alone`. `uncertain` if an earlier attempt may have been
/// executed.
async fn attempts<L: Ledger>(
    ledger: &mut L,
    batch: u32,
    request: &SendRequest,
    alone: Option<usize>,
    mut uncertain: bool,
) -> Result<Attempted, L::Failure> {
    let over = |delivery| Ok(Attempted::Over(delivery));
    // The emails of a batch split by an earlier process would exceed the retry budget.
    let mut retry = uncertain && alone.is_none();
    let mut unauthorized = false;
    let mut failing_since = None;
    loop {
        let mut permit = match ledger.permit(retry).await {
            Ok(permit) => permit,
            Err(delivery) => return over(delivery),
        };
        match ledger.before_attempt().await? {
            Before::Split if alone.is_some() => {}
            Before::Send => uncertain = ledger.situation(ledger.now()).earlier_uncertain,
            Before::Split => return Ok(Attempted::Split),
            Before::Settle(record) => return Ok(Attempted::Settled(record, Delivery::Ended)),
            Before::Ended => return over(Delivery::Ended),
            Before::Wait(time) => {
                drop(permit);
                if !ledger.delay(time).await {
                    return over(Delivery::Stopped);
                }
                continue;
            }
        }
        permit.sending();
        let Some(mut attempt) = ledger.send(request.clone(), uncertain).await else {
            return over(Delivery::Stopped);
        };
        ledger.finish(permit, &attempt);
        ledger.service().note(&attempt);
        // A session refreshes a rejected access token for the next request, so one 401 isn't final.
        if let AttemptResult::Unauthorized { status: 401, message } = &attempt.result
            && !std::mem::replace(&mut unauthorized, true)
        {
            attempt.result = AttemptResult::NotSent(message.clone());
        }
        let now = ledger.now();
        let mut situation = Situation { emails: request.emails, ..ledger.situation(now) };
        situation.earlier_uncertain = uncertain;
        match &attempt.result {
            AttemptResult::Uncertain(reason) if attempt.observation == Observation::ServerError => {
                let since = *failing_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= MAX_FAILING && ledger.service().is_responsive() {
                    let reason =
                        format!("the service kept failing for this batch only; last result: {reason}");
                    let record = Record::Unknown { batch, reason: reason.into() };
                    return Ok(Attempted::Settled(record, Delivery::Ended));
                }
            }
            _ => failing_since = None,
        }
        if matches!(attempt.result, AttemptResult::Uncertain(_)) {
            uncertain = true;
            ledger.set_uncertain();
        }
        let rejected = ledger.service().count_rejection(&attempt.result);
        attempt.result = match attempt.result {
            // Resuming attempts the batch again.
            AttemptResult::Rejected { message, .. } if rejected.is_some() => AttemptResult::NotSent(message),
            AttemptResult::Unauthorized { status, message } if ledger.is_rejected_alone(status) => {
                AttemptResult::Rejected { status, message }
            }
            result => result,
        };
        let Decision { record, next } = decide(&situation, attempt.result, now);
        if matches!(record, Some(Record::NotSent { .. })) {
            match alone {
                Some(email) => ledger.note_email(email, None),
                None => ledger.withdraw(),
            }
        }
        match (next, record, rejected) {
            (Next::Done, Some(record), rejected) => {
                let delivery = rejected.map_or(Delivery::Ended, Delivery::Rejected);
                return Ok(Attempted::Settled(record, delivery));
            }
            (_, _, Some(reason)) => return over(Delivery::Rejected(reason)),
            (Next::RetrySame { after }, ..) => {
                retry = true;
                if let Some(after) = after
                    && !ledger.delay(after).await
                {
                    return over(Delivery::Stopped);
                }
            }
            (Next::StopJob(reason), ..) => return over(Delivery::Unauthorized(reason)),
            (Next::PauseJob { quota, until }, ..) => return over(Delivery::Quota { name: quota, until }),
            (Next::BackToFresh | Next::Done, ..) => retry = false,
        }
    }
}
