//! Options for distributing a job.

use crate::{account::Account, queue::Priority};

/// Options for distributing a job.
#[derive(Clone, Debug, Default)]
pub struct DistributeOptions {
    pub(super) max_rps: Option<f64>,
    pub(super) rate_scope: Option<String>,
    pub(super) priority: Priority,
    pub(crate) skip_invalid: bool,
    pub(crate) account: Account,
}

impl DistributeOptions {
    /// Sets the maximum number of requests per second across all workers. By default they learn the service's limit.
    #[must_use]
    pub fn max_rps(mut self, rate: f64) -> Self {
        self.max_rps = Some(rate);
        self
    }

    /// Sets the job's priority in the queue. By default, all jobs share the workers equally.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Names the account whose rate limit applies. Jobs with the same name share one rate; jobs with different names don't. The default is derived
    /// from the service's address and the profile.
    #[must_use]
    pub fn rate_scope(mut self, name: impl Into<String>) -> Self {
        self.rate_scope = Some(name.into());
        self
    }

    /// Sends the valid rows even if other rows are invalid. Without this, a job with invalid rows doesn't start.
    #[must_use]
    pub fn skip_invalid(mut self) -> Self {
        self.skip_invalid = true;
        self
    }

    /// Sets the account that the job belongs to; by default, the account of the client's credential.
    #[must_use]
    pub fn account(mut self, account: Account) -> Self {
        self.account = account;
        self
    }
}
