//! Options for running a job.

use std::time::Duration;

use crate::{account::Account, clock::WallClock, schedule::Schedule, stop_rule::StopRule};

/// The maximum number of requests in flight.
pub(crate) const MAX_CONCURRENCY: usize = 64;
/// The default number of requests in flight.
const CONCURRENCY: usize = 16;
/// The default time without a response after which a job gives up.
const MAX_OUTAGE: Duration = Duration::from_mins(15);
/// The default number of consecutive rejected requests after which a job pauses.
pub(crate) const MAX_REJECTIONS: u64 = 20;

/// Options for running a job.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub(super) max_rps: Option<f64>,
    pub(super) concurrency: usize,
    pub(super) max_outage: Duration,
    pub(super) max_rejections: u64,
    pub(super) schedule: Option<Schedule>,
    pub(super) stop_rules: Vec<StopRule>,
    pub(crate) skip_invalid: bool,
    pub(crate) account: Account,
    pub(super) wall: WallClock,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            max_rps: None,
            concurrency: CONCURRENCY,
            max_outage: MAX_OUTAGE,
            max_rejections: MAX_REJECTIONS,
            schedule: None,
            stop_rules: Vec::new(),
            skip_invalid: false,
            account: Account::default(),
            wall: WallClock::default(),
        }
    }
}

impl RunOptions {
    setters! {
        /// Sets the maximum number of requests per second. By default the job learns the service's limit.
        max_rps: f64;
    }

    /// Sets the maximum number of requests in flight, from 1 to 64; 16 by default.
    #[must_use]
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, MAX_CONCURRENCY);
        self
    }

    setters! {
        /// Sets the time without any response from the service after which the job stops and can be resumed; 15 minutes by default.
        max_outage: Duration;
        /// Sets the number of consecutive rejected requests after which the job pauses, since a common cause, such as a missing template, isn't a problem
        /// of individual rows; 20 by default. With 0, the job continues and its rows are rejected one by one.
        max_rejections: u64;
    }

    /// Pauses the job when the share of its emails with a bad outcome exceeds a limit; repeatable. For rules about bounces and complaints, the client
    /// needs full access.
    #[must_use]
    pub fn stop_on(mut self, rule: StopRule) -> Self {
        self.stop_rules.push(rule);
        self
    }

    setters! {
        /// Sets when the job sends. The job keeps the schedule until another one is set.
        schedule: Schedule;
        /// Sends the valid rows even if other rows are invalid. Without this, a job with invalid rows doesn't start.
        skip_invalid = true;
        /// Sets the account that sends the job; by default, the account of the client's credential.
        account: Account;
    }

    /// Moves the job's clock ahead, to test expired idempotency keys.
    #[doc(hidden)]
    #[must_use]
    pub fn clock_offset(self, offset: Duration) -> Self {
        self.wall.advance_millis(i64::try_from(offset.as_millis()).unwrap_or(i64::MAX));
        self
    }

    /// Uses a wall clock that tests can move.
    #[cfg(test)]
    pub(super) fn wall_clock(self, wall: &WallClock) -> Self {
        Self { wall: wall.clone(), ..self }
    }
}
