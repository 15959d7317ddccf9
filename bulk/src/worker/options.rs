//! Worker options.

use std::time::Duration;

use crate::account::Account;

/// The default number of requests in flight.
const CONCURRENCY: usize = 16;
/// The default maximum number of deliveries without a result.
const MAX_DELIVERIES: u32 = 10;

/// Worker options.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub(super) account: Account,
    pub(super) concurrency: usize,
    pub(super) max_deliveries: u32,
    pub(super) leave_when_idle: Option<Duration>,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            account: Account::default(),
            concurrency: CONCURRENCY,
            max_deliveries: MAX_DELIVERIES,
            leave_when_idle: None,
        }
    }
}

impl WorkerOptions {
    /// Sets the maximum number of requests in flight, from 1 to 64; 16 by default.
    #[must_use]
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, 64);
        self
    }

    setters! {
        /// Sets the account that the worker sends from; by default, the account of the client's credential. It has to be the job's account.
        account: Account;
    }

    /// Sets how many workers may fail while processing a batch, at least 1; 10 by default. After that, the batch is no longer sent: it becomes
    /// unknown if it was attempted, and rejected otherwise.
    #[must_use]
    pub fn max_deliveries(mut self, deliveries: u32) -> Self {
        self.max_deliveries = deliveries.max(1);
        self
    }

    setters! {
        /// Ends the worker if it receives no batch within this time or the job is paused, so that it can serve another job. By default, it waits until
        /// the job ends.
        leave_when_idle: Duration;
    }
}
