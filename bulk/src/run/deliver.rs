//! The delivery of one batch: intent, attempts, result.

mod split;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{Event, Shared, Stop};
use crate::{
    error::Result,
    journal::{EmailOutcome, Record},
    key::idempotency_key,
    pace::{Observation, Permit},
    plan::{Prepared, Rendered},
    sender::{SendRequest, Sender, date},
    state::{AttemptResult, BatchState, BeforeAttempt, Decision, Next},
};

/// How long a batch is attempted while the service fails for it and responds to others: a service that stores its response per key, errors
/// included, never returns another one.
pub(crate) const MAX_FAILING: Duration = Duration::from_hours(1);

/// How the delivery of a batch ended.
#[derive(Debug)]
pub(super) enum Delivery {
    /// The batch has a terminal state.
    Ended,
    /// The job is stopping; resuming continues with the batch.
    Stopped,
    /// No request can succeed, for this reason: the credential or the connection.
    Unauthorized(String),
    /// The service rejects everything, lately for this reason.
    Rejected(String),
    /// A quota is exhausted.
    Quota {
        name: Box<str>,
        /// When it is available again, in milliseconds since the Unix epoch.
        until: Option<u64>,
    },
}

/// How the next attempt waits for its turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    /// After a failure: taken from the retry budget.
    Retry,
}

/// Delivers a batch, with as many attempts as it takes.
pub(super) async fn deliver<S: Sender>(shared: Arc<Shared<S>>, prepared: Rendered) -> Result<Delivery> {
    let (batch, emails) = (prepared.batch, prepared.emails());
    let key = idempotency_key(shared.plan.id(), batch, &prepared.hash);
    if shared.states().is_split(batch) {
        return split::deliver(&shared, &prepared).await;
    }
    let replayed = matches!(shared.states().state(batch), Some(BatchState::Maybe { .. }));
    let mut turn = if replayed { Turn::Retry } else { Turn::First };
    let mut unauthorized = false;
    let mut failing_since = None;
    let mut counted = !replayed;
    loop {
        let Some(mut permit) = permit(&shared, turn).await else { return Ok(Delivery::Stopped) };
        if shared.timetable.is_some()
            || matches!(shared.states().state(batch), Some(BatchState::Maybe { .. }))
        {
            permit = match known_age(&shared, permit).await {
                Ok(permit) => permit,
                Err(Some(delivery)) => return Ok(delivery),
                Err(None) => {
                    turn = Turn::Retry;
                    continue;
                }
            };
        }
        let before = shared.states().before_attempt(batch, emails, prepared.hash, shared.clock.millis());
        match before {
            BeforeAttempt::Resend => {}
            BeforeAttempt::Ended => return Ok(Delivery::Ended),
            BeforeAttempt::Start(intent) => {
                let admitted = shared.timetable.as_ref().map_or(Ok(()), |timetable| timetable.admit(&intent));
                if let Err(wait) = admitted {
                    drop(permit);
                    if !delay(&shared, wait).await {
                        return Ok(Delivery::Stopped);
                    }
                    continue;
                }
                shared.record(&intent).await?;
            }
            BeforeAttempt::Settle(outcome) => {
                shared.settle(&prepared, &outcome).await?;
                return Ok(Delivery::Ended);
            }
        }
        shared.tally.requests.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut counted, true) {
            shared.tally.replayed.fetch_add(1, Ordering::Relaxed);
        }
        permit.sending();
        let request =
            SendRequest { kind: prepared.kind, emails, key: key.clone(), body: prepared.body.clone() };
        let mut attempt = tokio::select! {
            attempt = shared.sender.send(request) => attempt,
            () = shared.control.reached(Stop::Abort) => return Ok(Delivery::Stopped),
        };
        permit.finish(attempt.observation, &attempt.headers);
        shared.note_response(&attempt);
        shared.clock.saw(date(&attempt.headers));
        // A session refreshes a rejected access token for the next request, so one 401 isn't final.
        if let AttemptResult::Unauthorized { status: 401, message } = &attempt.result
            && !std::mem::replace(&mut unauthorized, true)
        {
            attempt.result = AttemptResult::NotSent(message.clone());
        }
        if let AttemptResult::Uncertain(reason) = &attempt.result
            && attempt.observation == Observation::ServerError
        {
            let since = *failing_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= MAX_FAILING && shared.is_responsive() {
                let reason = format!("the service kept failing for this batch alone; last result: {reason}");
                shared.settle(&prepared, &Record::Unknown { batch, reason: reason.into() }).await?;
                return Ok(Delivery::Ended);
            }
        } else {
            failing_since = None;
        }
        let mut rejected = None;
        match &attempt.result {
            AttemptResult::Rejected { status, message } => {
                if let Some(reason) = shared.note_rejection(*status, message) {
                    let now = shared.clock.millis();
                    // Resuming tries the batch again, if none of it can have been accepted.
                    let unsent = AttemptResult::NotSent(reason.clone().into());
                    let Decision { record, .. } = shared.states().decide(batch, unsent, now);
                    if let Some(record) = record {
                        shared.note(&record);
                    }
                    return Ok(Delivery::Rejected(reason));
                }
                if shared.states().can_be_split(batch) {
                    shared.record(&Record::Split { batch }).await?;
                    return split::deliver(&shared, &prepared).await;
                }
            }
            AttemptResult::Partial { emails } if is_rejected(emails) => {
                rejected = shared.note_rejection(200, &first_rejection(emails));
            }
            AttemptResult::Accepted { .. } | AttemptResult::Partial { .. } => shared.note_acceptance(),
            _ => {}
        }
        let now = shared.clock.millis();
        let Decision { record, next } = shared.states().decide(batch, attempt.result, now);
        match &record {
            Some(record @ Record::NotSent { .. }) => shared.note(record),
            Some(record) => shared.settle(&prepared, record).await?,
            None => {}
        }
        match next {
            Next::Done => return Ok(rejected.map_or(Delivery::Ended, Delivery::Rejected)),
            Next::BackToFresh => turn = Turn::First,
            Next::RetrySame { after } => {
                turn = Turn::Retry;
                if let Some(after) = after
                    && !delay(&shared, after).await
                {
                    return Ok(Delivery::Stopped);
                }
            }
            Next::StopJob(reason) => return Ok(Delivery::Unauthorized(reason)),
            Next::PauseJob { quota, until } => {
                return Ok(Delivery::Quota { name: quota, until: until.map(|until| until.0) });
            }
        }
    }
}

/// Returns whether the service accepted a batch and rejected all of its emails.
fn is_rejected(emails: &[EmailOutcome]) -> bool {
    emails.iter().all(|email| matches!(email, EmailOutcome::Rejected(_)))
}

fn first_rejection(emails: &[EmailOutcome]) -> String {
    let messages = emails.iter().filter_map(|email| match email {
        EmailOutcome::Rejected(message) => Some(message.to_string()),
        _ => None,
    });
    messages.take(1).collect()
}

/// Makes sure that the age of a request that may have been sent is known before it is repeated: if the clock is in doubt, asks the service for its time.
/// Returns the permit; an error ends the delivery, or the request waits for its next turn.
async fn known_age<S: Sender>(
    shared: &Shared<S>,
    permit: Permit,
) -> std::result::Result<Permit, Option<Delivery>> {
    if !shared.clock.is_in_doubt() {
        return Ok(permit);
    }
    match shared.sender.time().await {
        Ok(time) => {
            shared.clock.confirm(time);
            Ok(permit)
        }
        Err(attempt) => {
            permit.finish(attempt.observation, &attempt.headers);
            shared.note_response(&attempt);
            Err(match attempt.result {
                AttemptResult::Unauthorized { message, .. } => Some(Delivery::Unauthorized(message.into())),
                _ => None,
            })
        }
    }
}

/// Waits for the batch's turn. `None` if the job stops first.
async fn permit<S: Sender>(shared: &Shared<S>, turn: Turn) -> Option<Permit> {
    let granted = async {
        match turn {
            Turn::First => shared.gate.permit().await,
            Turn::Retry => shared.gate.retry_permit().await,
        }
    };
    tokio::select! {
        biased;
        () = shared.control.reached(Stop::Drain) => None,
        permit = granted => Some(permit),
    }
}

/// Waits, and returns whether the job continues.
async fn delay<S: Sender>(shared: &Shared<S>, time: Duration) -> bool {
    tokio::select! {
        () = shared.control.reached(Stop::Drain) => false,
        () = sleep(time) => true,
    }
}

/// Returns the event for a record that a person should know about.
pub(super) fn event(prepared: &Prepared, record: &Record) -> Option<Event> {
    let first_row = prepared.rows.first().map_or(0, |row| row.row);
    outcome_event(prepared.batch, first_row, prepared.emails(), record)
}

/// Returns the event for the record of a batch that begins with this row.
pub(crate) fn outcome_event(batch: u32, first_row: u64, emails: u16, record: &Record) -> Option<Event> {
    let all = u64::from(emails);
    let count = |emails: &[EmailOutcome], wanted: fn(&EmailOutcome) -> bool| {
        emails.iter().filter(|email| wanted(email)).count() as u64
    };
    match record {
        Record::Rejected { message, .. } => {
            Some(Event::Rejected { batch, first_row, emails: all, reason: message.to_string() })
        }
        Record::Unknown { reason, .. } => {
            Some(Event::Unknown { batch, first_row, emails: all, reason: reason.to_string() })
        }
        Record::Partial { emails, .. } => {
            let unknown = count(emails, |email| matches!(email, EmailOutcome::Unknown));
            let rejected = emails.iter().find_map(|email| match email {
                EmailOutcome::Rejected(message) => Some(message.to_string()),
                _ => None,
            });
            match rejected {
                Some(reason) if unknown == 0 => {
                    let emails = count(emails, |email| matches!(email, EmailOutcome::Rejected(_)));
                    Some(Event::Rejected { batch, first_row, emails, reason })
                }
                _ => {
                    let reason = "the response can't be assigned to the emails of the batch".to_owned();
                    Some(Event::Unknown { batch, first_row, emails: unknown, reason })
                }
            }
        }
        _ => None,
    }
}
