//! Decides when requests are sent, without reading a clock: every method receives the time since the job started.

use std::{fmt, time::Duration};

use http::HeaderMap;
use idempost::call::{RateLimiter, RateSignal, RateSlot, RateVerdict};

use super::{
    breaker::{Breaker, BreakerState},
    concurrency::Concurrency,
    retries::Retries,
};

#[cfg(test)]
mod tests;

/// Stretches the interval of a rate that must never be exceeded, to compensate for the tolerance of [`RateLimiter`] over a second.
const STRETCH: f64 = 1.01;

/// The settings of a job's pace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaceOptions {
    /// The maximum rate in requests per second, not exceeded in any second. Default: none.
    pub(crate) max_rps: Option<f64>,
    /// The maximum number of requests in flight, at least 1. Default: 16.
    pub(crate) concurrency: usize,
    /// The rate that an earlier run of the job learned ([`Snapshot::learned_limit`]), in requests per second. Default: none; the job begins with a
    /// slow start.
    pub(crate) start_rate: Option<f64>,
}

impl Default for PaceOptions {
    fn default() -> Self {
        Self { max_rps: None, concurrency: 16, start_rate: None }
    }
}

/// The outcome of a request, as far as it affects the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// The service accepted the request.
    Accepted,
    /// A 429 because of the request rate. For an exhausted quota, report [`Other`](Self::Other) and pause the job instead.
    Throttled {
        /// The response's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// A 5xx response.
    ServerError,
    /// No response within the timeout.
    Timeout,
    /// No response for another reason: the connection was refused or lost.
    Unreachable,
    /// Any other response, such as a rejected batch.
    Other,
}

impl Observation {
    /// Returns what the outcome says about the rate.
    pub(crate) fn verdict(self) -> RateVerdict {
        match self {
            Self::Accepted => RateVerdict::Admitted,
            Self::Throttled { retry_after } => RateVerdict::Throttled { retry_after },
            _ => RateVerdict::Unrelated,
        }
    }
}

/// Starts with a rate learned earlier, or slowly.
pub(super) fn initial_limiter(learned: Option<f64>, now: Duration) -> RateLimiter {
    learned.map_or_else(|| RateLimiter::slow_start(now), |rate| RateLimiter::with_limit(rate, now))
}

/// Returns a rate that never exceeds `max_rps` in any second.
pub(super) fn sustained_rate(max_rps: f64) -> f64 {
    max_rps / STRETCH
}

/// The reason why no requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseReason {
    /// The service responded with 429, or announced that the current window is used up.
    RateLimited,
    /// The circuit breaker is open: too many consecutive requests failed.
    ServiceFailing,
}

impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RateLimited => "the rate limit of the service is used up",
            Self::ServiceFailing => "the service doesn't respond, or fails",
        })
    }
}

/// A pause of the whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// The time until the job resumes.
    pub(crate) remaining: Duration,
    /// The reason.
    pub(crate) reason: PauseReason,
}

/// The state of a job's pace, for progress reports and the journal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Snapshot {
    /// The current rate, in requests per second; `None` if unlimited.
    pub(crate) rate: Option<f64>,
    /// The service's limit in requests per second, as announced or as learned from 429s; `None` while unknown. Journal it, and pass it as
    /// [`PaceOptions::start_rate`] when the job is resumed.
    pub(crate) learned_limit: Option<f64>,
    /// The current pause.
    pub(crate) pause: Option<Pause>,
    /// The state of the circuit breaker.
    pub(crate) breaker: BreakerState,
    /// The number of 429 responses so far.
    pub(crate) throttled: u64,
    /// The number of requests in flight.
    pub(crate) in_flight: usize,
    /// The maximum number of requests in flight; lowered while timeouts increase.
    pub(crate) concurrency: usize,
}

/// The right to send one request. Pass it to [`Controller::observe`] or [`Controller::release`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Ticket {
    slot: RateSlot,
    sent_at: Duration,
    trial: bool,
}

/// A retry taken from the budget. Return it with [`Controller::refund_retry`] if it isn't used.
#[derive(Debug)]
#[must_use]
pub(crate) struct RetryTicket {
    charged: bool,
}

/// When to check again unless a request ends before; `None` if only the end of a request changes the state.
pub(crate) type Blocked = Option<Duration>;

/// Decides when requests are sent.
///
/// Learns the service's limit from its responses, pauses when the service requests it or fails, and limits the requests in flight. `now` is the time
/// since the job started and must not decrease.
#[derive(Debug)]
pub(crate) struct Controller {
    pace: RateLimiter,
    concurrency: Concurrency,
    breaker: Breaker,
    retries: Retries,
    in_flight: usize,
    throttled: u64,
}

impl Controller {
    /// Creates a controller.
    pub(crate) fn new(options: PaceOptions) -> Self {
        let mut pace = initial_limiter(options.start_rate, Duration::ZERO);
        pace.set_max(options.max_rps.map(sustained_rate));
        Self {
            pace,
            concurrency: Concurrency::new(options.concurrency),
            breaker: Breaker::default(),
            retries: Retries::default(),
            in_flight: 0,
            throttled: 0,
        }
    }

    /// Admits one request.
    ///
    /// # Errors
    /// The rate, a pause, the breaker or the concurrency limit doesn't allow a request now.
    pub(crate) fn admit(&mut self, now: Duration) -> Result<Ticket, Blocked> {
        self.breaker.check(now)?;
        if self.in_flight >= self.concurrency.limit() {
            return Err(None);
        }
        let slot = self.pace.take(now).map_err(Some)?;
        self.in_flight += 1;
        self.retries.record_sent();
        Ok(Ticket { slot, sent_at: now, trial: self.breaker.admit() })
    }

    /// Takes one retry from the budget, for a batch whose last attempt failed with a 5xx or without a response. A throttled batch doesn't need one.
    ///
    /// The budget is a bucket of 100 retries; every request adds a tenth of a retry, and so does every second. Unless the breaker is closed, retries
    /// are free, since the breaker already limits them.
    ///
    /// # Errors
    /// The budget is used up. Contains the latest time to try again.
    pub(crate) fn take_retry(&mut self, now: Duration) -> Result<RetryTicket, Duration> {
        if self.breaker.state() != BreakerState::Closed {
            return Ok(RetryTicket { charged: false });
        }
        self.retries.take(now)?;
        Ok(RetryTicket { charged: true })
    }

    /// Gives back an unused retry.
    pub(crate) fn refund_retry(&mut self, RetryTicket { charged }: RetryTicket) {
        if charged {
            self.retries.refund();
        }
    }

    /// Gives back the slot of an unsent request.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket ends once")]
    pub(crate) fn release(&mut self, ticket: Ticket, now: Duration) {
        let Ticket { slot, trial, .. } = ticket;
        self.in_flight -= 1;
        self.pace.return_slot(slot);
        if trial {
            self.breaker.return_trial(now);
        }
    }

    /// Ends a sent request whose outcome will never be known because its task was canceled.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket ends once")]
    pub(crate) fn abandon(&mut self, ticket: Ticket, now: Duration) {
        let Ticket { trial, .. } = ticket;
        self.in_flight -= 1;
        if trial {
            self.breaker.record_failure(true, now);
        }
    }

    /// Updates the pace from the outcome of a request.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket ends once")]
    pub(crate) fn observe(
        &mut self,
        ticket: Ticket,
        observation: Observation,
        headers: &HeaderMap,
        now: Duration,
    ) {
        let Ticket { sent_at, trial, .. } = ticket;
        self.in_flight -= 1;
        let signal = RateSignal::new(sent_at, observation.verdict(), headers);
        self.throttled += u64::from(signal.is_throttled());
        self.pace.observe(&signal, u32::try_from(self.in_flight).unwrap_or(u32::MAX), now);
        match observation {
            Observation::ServerError | Observation::Timeout | Observation::Unreachable => {
                self.breaker.record_failure(trial, now);
            }
            Observation::Accepted | Observation::Throttled { .. } | Observation::Other => {
                self.breaker.record_success();
            }
        }
        match observation {
            Observation::Timeout => self.concurrency.timed_out(sent_at, now),
            Observation::Unreachable => {}
            _ => self.concurrency.record_response(),
        }
    }

    /// Returns the current state.
    pub(crate) fn snapshot(&self, now: Duration) -> Snapshot {
        let failing =
            self.breaker.check(now).err().map(|until| (until.unwrap_or(now), PauseReason::ServiceFailing));
        let limited = (self.pace.paused_until(), PauseReason::RateLimited);
        let pauses = failing.into_iter().chain([limited]).filter(|(until, _)| *until > now);
        let pause = pauses.max_by_key(|(until, _)| *until);
        Snapshot {
            rate: self.pace.rate(now),
            learned_limit: self.pace.limit(),
            pause: pause.map(|(until, reason)| Pause { remaining: until.saturating_sub(now), reason }),
            breaker: self.breaker.state(),
            throttled: self.throttled,
            in_flight: self.in_flight,
            concurrency: self.concurrency.limit(),
        }
    }
}
