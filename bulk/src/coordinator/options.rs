//! How a job is distributed.

use crate::{account::Account, queue::Priority};

/// How a job is distributed.
#[derive(Clone, Debug, Default)]
pub struct DistributeOptions {
    pub(super) max_rps: Option<f64>,
    pub(super) rate_scope: Option<String>,
    pub(super) priority: Priority,
    pub(crate) skip_invalid: bool,
    pub(crate) account: Account,
}

impl DistributeOptions {
    /// Sets the maximum number of requests per second of all workers together. By default they learn the service's limit.
    #[must_use]
    pub fn max_rps(mut self, rate: f64) -> Self {
        self.max_rps = Some(rate);
        self
    }

    /// Sets which jobs in the queue go first. By default, all share the workers equally.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Names the account whose rate limit applies. Jobs with the same name share one rate, jobs with different names don't; by default the name is
    /// made of the service's address and the profile.
    #[must_use]
    pub fn rate_scope(mut self, name: impl Into<String>) -> Self {
        self.rate_scope = Some(name.into());
        self
    }

    /// Sends the valid rows of a job that has invalid ones. Without this, such a job doesn't start.
    #[must_use]
    pub fn skip_invalid(mut self) -> Self {
        self.skip_invalid = true;
        self
    }

    /// Describes the account that the job belongs to; by default the one of the client's credential.
    #[must_use]
    pub fn account(mut self, account: Account) -> Self {
        self.account = account;
        self
    }
}
