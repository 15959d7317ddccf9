//! Deliberately sending rows of a job again.

use crate::{error::Result, parts, plan::Plan};

/// Which rows a new part of the job sends again, under new idempotency keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The rows that the service rejected.
    Rejected,
    /// The rows of unknown outcome. Rows that had in fact been sent are then delivered twice.
    Unknown,
}

/// Plans a part with these rows of the whole job, or opens an unfinished one; `None` if there are none.
pub(crate) fn plan(job: &Plan, retry: Retry) -> Result<Option<Plan>> {
    parts::retry(job, retry == Retry::Unknown)
}
