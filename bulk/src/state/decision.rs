//! The consequences of an attempt's result.
//!
//! No email may be sent twice, and none may be silently lost. Both follow from three rules:
//!
//! - After an attempt with an uncertain outcome, a batch is only ever attempted with the same key and the same bytes, and only while the service
//!   remembers the key. No later result makes it `fresh` again: a 429 says that *its* request wasn't processed, but nothing about an earlier one.
//! - A batch returns to `fresh`, which restarts the lifetime of its key, only if no attempt was uncertain and the service certainly processed
//!   nothing.
//! - If a batch can't be settled within that lifetime, it becomes `unknown`.

use std::time::Duration;

use super::Situation;
use crate::journal::{EmailOutcome, Record, SentId, UnixMillis};

/// The result of one attempt to send a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    /// The service accepted the batch, with one ID per email.
    Accepted {
        /// The ID of each email.
        ids: Vec<SentId>,
    },
    /// The service accepted the batch in part.
    Partial {
        /// The outcome of each email.
        emails: Vec<EmailOutcome>,
    },
    /// The request wasn't sent: the DNS lookup, connection or TLS handshake failed. Contains the reason.
    NotSent(Box<str>),
    /// 429: the service didn't process the request.
    Throttled {
        /// The service's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// 429 because a quota is used up.
    Quota {
        /// The name of the quota.
        name: Box<str>,
        /// The service's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The service may have processed the request: a timeout, a connection reset, a 5xx, a 409 while the first request is in progress, or an
    /// unreadable 200. Contains the reason.
    Uncertain(Box<str>),
    /// 409: the key was used with another body.
    KeyUsed,
    /// Another 4xx.
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The service's message.
        message: Box<str>,
    },
    /// 401 or 403.
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// The service's message.
        message: Box<str>,
    },
}

impl AttemptResult {
    /// Evaluates a 200 response to a batch of `emails` emails: the accepted IDs in order, and the rejected emails by index.
    ///
    /// Without errors, and with one ID per email, the batch is accepted. If the numbers of IDs and errors add up, each ID belongs to the next email
    /// without an error. Otherwise IDs can't be assigned to emails, and each email without an error is unknown. Errors that contradict each other or
    /// the IDs prove nothing.
    pub(crate) fn from_response(emails: u16, ids: Vec<SentId>, errors: Vec<(usize, Box<str>)>) -> Self {
        let emails = usize::from(emails);
        if errors.is_empty() && ids.len() == emails {
            return Self::Accepted { ids };
        }
        let mut outcomes = vec![EmailOutcome::Unknown; emails];
        let rejected = errors.len();
        let mut consistent = rejected + ids.len() <= emails;
        for (index, message) in errors {
            match outcomes.get_mut(index) {
                Some(outcome @ EmailOutcome::Unknown) => *outcome = EmailOutcome::Rejected(message),
                _ => consistent = false,
            }
        }
        if !consistent {
            outcomes.fill(EmailOutcome::Unknown);
        } else if rejected + ids.len() == emails {
            let accepted = outcomes.iter_mut().filter(|outcome| **outcome == EmailOutcome::Unknown);
            accepted.zip(ids).for_each(|(outcome, id)| *outcome = EmailOutcome::Accepted(id));
        }
        Self::Partial { emails: outcomes }
    }
}

/// What to do after an attempt: journal the record first, then continue with `next`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The record to journal. [`Record::NotSent`] may be a note; any other record must be durable before the batch counts as settled.
    pub(crate) record: Option<Record>,
    /// The next step.
    pub(crate) next: Next,
}

/// The next step after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The batch has a terminal state.
    Done,
    /// Attempt the batch again with the same key and the same bytes.
    RetrySame {
        /// The delay that the service requested.
        after: Option<Duration>,
    },
    /// The batch is `fresh` again.
    BackToFresh,
    /// Stop the job: every request would fail for this reason.
    StopJob(String),
    /// Pause the job: a quota is used up.
    PauseJob {
        /// The name of the quota.
        quota: Box<str>,
        /// When it is available again, if the service stated it.
        until: Option<UnixMillis>,
    },
}

/// Decides what to do after an attempt.
pub(crate) fn decide(situation: &Situation, result: AttemptResult, now: UnixMillis) -> Decision {
    let &Situation { batch, emails, earlier_uncertain, .. } = situation;
    let not_sent = || (!earlier_uncertain).then_some(Record::NotSent { batch });
    match result {
        AttemptResult::Accepted { ids } if ids.len() == usize::from(emails) => {
            finish(Record::Result { batch, ids })
        }
        AttemptResult::Partial { emails: outcomes } if outcomes.len() == usize::from(emails) => {
            finish(Record::Partial { batch, emails: outcomes })
        }
        AttemptResult::Accepted { .. } | AttemptResult::Partial { .. } => {
            finish(Record::Partial { batch, emails: vec![EmailOutcome::Unknown; emails.into()] })
        }
        AttemptResult::NotSent(reason) => retry_unsent(situation, None, &reason),
        AttemptResult::Throttled { retry_after } => {
            retry_unsent(situation, retry_after, "429 Too Many Requests")
        }
        AttemptResult::Quota { name, retry_after } => Decision {
            record: not_sent(),
            next: Next::PauseJob { quota: name, until: retry_after.map(|delay| now.saturating_add(delay)) },
        },
        AttemptResult::Uncertain(reason) => retry(situation, None, &reason),
        AttemptResult::KeyUsed => {
            let reason = "the service received a different request with this idempotency key".into();
            finish(Record::Unknown { batch, reason })
        }
        AttemptResult::Rejected { status, message } => {
            // The batch may have become invalid between two attempts: a domain was removed, or a template deleted.
            if earlier_uncertain {
                let reason =
                    format!("HTTP {status}: {message}; the outcome of an earlier attempt is unknown");
                return finish(Record::Unknown { batch, reason: reason.into() });
            }
            finish(Record::Rejected { batch, status, message })
        }
        AttemptResult::Unauthorized { status, message } => {
            // The status is 0 if the client itself rejected the request.
            let reason = if status == 0 { message.into() } else { format!("HTTP {status}: {message}") };
            Decision { record: not_sent(), next: Next::StopJob(reason) }
        }
    }
}

fn finish(record: Record) -> Decision {
    Decision { record: Some(record), next: Next::Done }
}

/// Decides what to do after an attempt that the service certainly didn't process.
fn retry_unsent(situation: &Situation, after: Option<Duration>, reason: &str) -> Decision {
    if situation.earlier_uncertain {
        return retry(situation, after, reason);
    }
    Decision { record: Some(Record::NotSent { batch: situation.batch }), next: Next::BackToFresh }
}

fn retry(situation: &Situation, after: Option<Duration>, reason: &str) -> Decision {
    if situation.can_be_resent() {
        return Decision { record: None, next: Next::RetrySame { after } };
    }
    finish(situation.expiry_record(Some(reason)))
}
