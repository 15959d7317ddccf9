//! The report of a job: the outcome of every row.

mod files;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

pub(crate) use files::{format_time, read, write_lists, write_report};

use crate::{
    counts::Counts,
    plan::{Counts as PlanCounts, Plan},
};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// Every batch has a result.
    Finished,
    /// The run was stopped; resuming continues.
    Stopped,
    /// The service's quota is exhausted, or it requested a pause of more than 5 minutes; resuming afterwards continues.
    Paused {
        /// When sending can continue, in milliseconds since the Unix epoch; `None` if the service didn't say.
        until: Option<u64>,
        /// The reason.
        reason: String,
    },
    /// The service hasn't responded for too long; resuming continues.
    Unavailable {
        /// The last failure.
        reason: String,
    },
    /// The service rejected the credential, or the connection isn't trusted; once the cause is fixed, resuming continues.
    Unauthorized {
        /// The service's message.
        reason: String,
    },
}

/// The outcomes of a job's rows.
///
/// Each row of the input is valid or not (see [`PlanCounts`](crate::PlanCounts)), and each valid row is sent, rejected, unknown or remaining; the
/// sums are checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The job.
    pub job: String,
    /// How the last run ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// The rows of the input.
    pub rows: u64,
    /// The invalid rows, which aren't sent; `invalid.csv` lists them.
    pub invalid: u64,
    /// The rows whose cells are all empty, which are skipped.
    pub blank: u64,
    /// The valid rows by outcome, including the job's earlier parts.
    #[serde(flatten)]
    pub counts: Counts,
    /// The requests of the last run.
    pub requests: u64,
    /// The responses with status 429 in the last run.
    pub throttled: u64,
    /// The batches of the last run that repeated an earlier attempt under the same key.
    pub replayed: u64,
    /// The duration of the last run, in seconds.
    pub seconds: f64,
    /// The files that list unsent rows, if there are any.
    pub files: Vec<PathBuf>,
}

impl Report {
    /// Creates a report without requests.
    pub(crate) fn new(plan: &Plan, ending: Ending, counts: Counts, elapsed: Duration) -> Self {
        let planned = plan.counts();
        Self {
            job: plan.id().to_owned(),
            ending,
            rows: planned.rows,
            invalid: planned.invalid,
            blank: planned.blank,
            counts,
            requests: 0,
            throttled: 0,
            replayed: 0,
            seconds: elapsed.as_secs_f64(),
            files: Vec::new(),
        }
    }

    /// Adds the requests and the duration of the parts that the same run has finished before.
    pub(crate) fn continue_run(self, before: &Self) -> Self {
        Self {
            requests: self.requests + before.requests,
            throttled: self.throttled + before.throttled,
            replayed: self.replayed + before.replayed,
            seconds: self.seconds + before.seconds,
            ..self
        }
    }

    /// Turns the report of an earlier part, with which the run ended, into the job's report.
    pub(crate) fn into_job_report(self, plan: &Plan, counts: Counts) -> Self {
        let PlanCounts { rows, invalid, blank, .. } = *plan.counts();
        Self { job: plan.id().to_owned(), rows, invalid, blank, counts, ..self }
    }

    /// Returns whether every row of the input was sent.
    pub fn all_sent(&self) -> bool {
        let Counts { rejected, unknown, remaining, .. } = self.counts;
        self.invalid + rejected + unknown + remaining == 0
    }

    /// Returns the duration of the last run.
    pub fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}
