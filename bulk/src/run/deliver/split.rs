//! The delivery of a rejected batch, email by email, so that a bad row rejects none of its neighbors.
//!
//! A SPLIT is durable before the first email leaves, and from then on the batch as a whole is never sent again. Each email has a key of its own, which
//! depends on the batch, its place and its bytes. After a crash, all of them are sent again under these keys, and the service executes each once;
//! the age of the batch's first attempt limits that as it does for a batch.

use std::sync::atomic::Ordering;

use super::{Delivery, Turn, permit};
use crate::{
    error::Result,
    journal::{EmailOutcome, Record},
    key::idempotency_key,
    plan::{BatchKind, Rendered},
    run::{Shared, Stop},
    sender::{SendRequest, Sender},
    state::{AttemptResult, BeforeAttempt, Next},
};

/// Delivers the emails of a batch one by one.
pub(super) async fn deliver<S: Sender>(shared: &Shared<S>, prepared: &Rendered) -> Result<Delivery> {
    let batch = prepared.batch;
    let mut outcomes = Vec::with_capacity(prepared.rows.len());
    while outcomes.len() < prepared.rows.len() {
        match email(shared, prepared, outcomes.len()).await? {
            Attempted::Outcome(outcome) => outcomes.push(outcome),
            // The service may have forgotten the keys of this email and of the following ones.
            Attempted::Expired => outcomes.resize(prepared.rows.len(), EmailOutcome::Unknown),
            Attempted::Stopped(delivery) => return Ok(delivery),
        }
    }
    shared.settle(prepared, &Record::Partial { batch, emails: outcomes }).await?;
    Ok(Delivery::Ended)
}

enum Attempted {
    Outcome(EmailOutcome),
    Expired,
    Stopped(Delivery),
}

async fn email<S: Sender>(shared: &Shared<S>, prepared: &Rendered, email: usize) -> Result<Attempted> {
    let (batch, emails) = (prepared.batch, prepared.emails());
    let (body, hash) = prepared.alone(email);
    let key = format!("{}/{email}", idempotency_key(shared.plan.id(), batch, &hash));
    let (mut turn, mut uncertain, mut unauthorized) = (Turn::First, false, false);
    loop {
        let Some(mut permit) = permit(shared, turn).await else {
            return Ok(Attempted::Stopped(Delivery::Stopped));
        };
        let before = shared.states().before_attempt(batch, emails, prepared.hash, shared.clock.now());
        if before != BeforeAttempt::Resend {
            return Ok(Attempted::Expired);
        }
        shared.tally.requests.fetch_add(1, Ordering::Relaxed);
        permit.sending();
        let (key, body) = (key.clone(), body.clone());
        let request = SendRequest { kind: BatchKind::Batch, emails: 1, key, body };
        let attempt = tokio::select! {
            attempt = shared.sender.send(request) => attempt,
            () = shared.control.reached(Stop::Abort) => return Ok(Attempted::Stopped(Delivery::Stopped)),
        };
        permit.finish(attempt.observation, &attempt.headers);
        shared.note_response(&attempt);
        turn = Turn::Retry;
        let outcome = match attempt.result {
            AttemptResult::Accepted { ids } => {
                shared.note_acceptance();
                ids.into_iter().next().map_or(EmailOutcome::Unknown, EmailOutcome::Accepted)
            }
            AttemptResult::Partial { emails } => emails.into_iter().next().unwrap_or(EmailOutcome::Unknown),
            AttemptResult::Rejected { status, message } if uncertain => {
                let message =
                    format!("HTTP {status}: {message} (the outcome of an earlier attempt is unknown)");
                EmailOutcome::Rejected(message.into())
            }
            AttemptResult::Rejected { status, message } => match shared.note_rejection(status, &message) {
                Some(reason) => return Ok(Attempted::Stopped(Delivery::Rejected(reason))),
                None => EmailOutcome::Rejected(format!("HTTP {status}: {message}").into()),
            },
            AttemptResult::KeyUsed => EmailOutcome::Unknown,
            AttemptResult::Uncertain(reason) => {
                uncertain = true;
                let next =
                    shared.states().decide(batch, AttemptResult::Uncertain(reason), shared.clock.now()).next;
                if next == Next::Done {
                    return Ok(Attempted::Expired);
                }
                continue;
            }
            AttemptResult::NotSent(_) | AttemptResult::Throttled { .. } => continue,
            // A session refreshes a rejected access token for the next request.
            AttemptResult::Unauthorized { status: 401, .. }
                if !std::mem::replace(&mut unauthorized, true) =>
            {
                continue;
            }
            AttemptResult::Unauthorized { status, message } => {
                return Ok(Attempted::Stopped(Delivery::Unauthorized(format!("HTTP {status}: {message}"))));
            }
            AttemptResult::Quota { name, retry_after } => {
                let until = retry_after.map(|delay| shared.clock.now().after(delay).0);
                return Ok(Attempted::Stopped(Delivery::Quota { name, until }));
            }
        };
        return Ok(Attempted::Outcome(outcome));
    }
}
