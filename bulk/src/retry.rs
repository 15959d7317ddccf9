//! Deliberately sending rows of a job again.

use crate::{
    error::Result,
    outcomes::{self, Outcome},
    parts,
    plan::{Plan, Selection},
};

/// Which rows a new part of the job sends again, under new idempotency keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The rows that the service rejected.
    Rejected,
    /// The rows of unknown outcome. Rows that had in fact been sent are then delivered twice.
    Unknown,
}

/// Plans a part with these rows, except rows that an earlier retry has sent; `None` if there are none.
pub(crate) fn plan(earlier: &Plan, retry: Retry) -> Result<Option<Plan>> {
    let earlier = Plan::open(earlier.dir())?;
    let mut rows = Vec::new();
    outcomes::visit(&earlier, |row| {
        if matches!(
            (retry, row.outcome),
            (Retry::Rejected, Outcome::Rejected { .. }) | (Retry::Unknown, Outcome::Unknown { .. })
        ) {
            rows.push(row.row);
        }
        Ok(())
    })?;
    let rows = Selection::new(rows);
    if rows.is_empty() {
        return Ok(None);
    }
    parts::retry(&earlier, rows, retry == Retry::Unknown)
}
