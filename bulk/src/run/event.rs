//! Events of a running job.

use std::time::Duration;

use crate::{
    counts::Counts,
    journal::{EmailOutcome, Record},
};

/// An event of a running job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The counts so far, at most ten times per second.
    Progress(Progress),
    /// The job pauses: the service requested it, or the service doesn't respond.
    Paused {
        /// The time until the next request.
        remaining: Duration,
        /// The reason.
        reason: String,
    },
    /// The queue of a distributed job doesn't respond. The job continues when it does.
    QueueUnavailable {
        /// The last failure.
        reason: String,
    },
    /// No worker serves the distributed job.
    NoWorkers,
    /// The queue of a distributed job responds again.
    QueueAvailable,
    /// The service rejected a batch. Its rows aren't sent again; `rejected.csv` lists them at the end.
    Rejected {
        /// The batch.
        batch: u32,
        /// The number of its first row.
        first_row: u64,
        /// The number of rejected emails.
        emails: u64,
        /// The service's message.
        reason: String,
    },
    /// It can't be determined whether the service accepted the emails of a batch. They are never sent again automatically.
    Unknown {
        /// The batch.
        batch: u32,
        /// The number of its first row.
        first_row: u64,
        /// The number of emails.
        emails: u64,
        /// The reason.
        reason: String,
    },
}

/// The progress of a running job.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The emails by outcome.
    pub counts: Counts,
    /// The current rate, in requests per second; `None` if unlimited.
    pub requests_per_second: Option<f64>,
    /// The service's limit in requests per second, once known.
    pub learned_limit: Option<f64>,
    /// The requests of this run for the part of the job that it sends.
    pub requests: u64,
    /// The responses with status 429 to them.
    pub throttled: u64,
    /// The time since the run began to send this part.
    pub elapsed: Duration,
    /// The estimated time until the job is finished; `None` before the first batch.
    pub remaining: Option<Duration>,
}

/// Returns the event for a batch's record. `first_row` is the batch's first row.
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
                _ if unknown == 0 => None,
                _ => {
                    let reason = "the responses don't show whether they were accepted".to_owned();
                    Some(Event::Unknown { batch, first_row, emails: unknown, reason })
                }
            }
        }
        _ => None,
    }
}
