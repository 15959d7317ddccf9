//! Sending rows of a job again, deliberately.

use crate::{
    error::Result,
    folder,
    outcomes::{self, Outcome},
    plan::{Plan, Selection},
};

/// Which rows of a job are sent again, by a new job under new idempotency keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The rows that the service rejected.
    Rejected,
    /// The rows of unknown outcome. Those that were sent after all are then delivered twice.
    Unknown,
}

/// Plans a job of these rows, which belongs to the same account, beside the earlier one; `None` if there are none.
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
    let plan = earlier.again_with(rows)?;
    folder::inherit_account(earlier.dir(), plan.dir())?;
    Ok(Some(plan))
}
