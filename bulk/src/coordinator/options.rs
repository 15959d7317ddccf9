//! Options for distributing a job.

use crate::{account::Account, queue::Priority};

/// Options for distributing a job.
#[derive(Clone, Debug, Default)]
pub struct DistributeOptions {
    pub(super) max_rps: Option<f64>,
    pub(super) priority: Priority,
    pub(crate) skip_invalid: bool,
    pub(crate) account: Account,
}

impl DistributeOptions {
    setters! {
        /// Sets the maximum number of requests per second across all workers. By default they learn the service's limit.
        max_rps: f64;
        /// Sets the job's priority in the queue. By default, all jobs share the workers equally.
        priority: Priority;
        /// Sends the valid rows even if other rows are invalid. Without this, a job with invalid rows doesn't start.
        skip_invalid = true;
        /// Sets the account that the job belongs to; by default, the account of the client's credential.
        account: Account;
    }
}
