//! The parameters of what happens to an account.

use std::sync::Arc;

use jiff::Timestamp;

use crate::state::State;
use crate::state::job::{Job, Work};
use crate::state::tenant::Tenant;

/// An account, and the time at which something happens to it.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub state: &'a State,
    pub tenant: &'a Arc<Tenant>,
    /// On the account's clock; the due time of a job that runs later.
    pub at: Timestamp,
}

impl Moment<'_> {
    /// Schedules work of the account.
    pub fn schedule(self, due: Timestamp, work: impl Into<Work>) {
        self.state.scheduler.schedule(due, Job::new(self.tenant, work));
    }
}
