//! Decides when requests are sent, without a clock: every method gets the time since the job started.

use std::{fmt, time::Duration};

use http::HeaderMap;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::{
    breaker::{Breaker, BreakerState},
    cell::{Cell, STRETCH, Slot, interval},
    concurrency::Concurrency,
    headers::Announced,
    rate::{Announcement, Rate},
    retries::Retries,
};

#[cfg(test)]
mod tests;

/// The pause after a 429 without `Retry-After`.
pub(super) const DEFAULT_PAUSE: Duration = Duration::from_millis(500);
/// Pauses are extended by a random share of up to this, so that several processes don't resume at the same instant.
const JITTER: f64 = 0.05;
/// The longest pause.
pub(super) const MAX_PAUSE: Duration = Duration::from_hours(24 * 365);
/// A window of which the job itself used at least this share, less one request, was exhausted by the job itself.
pub(super) const OWN_SHARE: f64 = 0.9;

/// The settings of a job's pace.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub(crate) struct PaceOptions {
    /// The maximum rate in requests per second; never exceeded in any second. Default: none.
    pub(crate) max_rps: Option<f64>,
    /// The maximum number of requests in flight, at least 1. Default: 16.
    pub(crate) concurrency: usize,
    /// The rate that an earlier run of the job learned ([`Snapshot::learned_limit`]), in requests per second. Default: none, and the
    /// job begins with a slow start.
    pub(crate) start_rate: Option<f64>,
}

impl Default for PaceOptions {
    fn default() -> Self {
        Self { max_rps: None, concurrency: 16, start_rate: None }
    }
}

/// The outcome of a request, as far as the pace depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// The service accepted the request.
    Accepted,
    /// A 429 because of the request rate. Report an exhausted quota as [`Other`](Self::Other), and pause the job instead.
    Throttled {
        /// The response's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// A 5xx response.
    ServerError,
    /// No response within the timeout.
    Timeout,
    /// No response for another reason: the connection was refused, or was lost.
    Unreachable,
    /// Any other response, such as a rejected batch.
    Other,
}

/// The reason why no request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum PauseReason {
    /// The service responded with 429.
    Throttled,
    /// The service announced that its current window is used up, by other senders as well.
    WindowExhausted,
    /// The circuit breaker is open: too many consecutive requests failed.
    ServiceFailing,
}

impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Throttled => "the service responded with 429",
            Self::WindowExhausted => "the rate limit of the service is used up",
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
#[non_exhaustive]
pub(crate) struct Snapshot {
    /// The current rate, in requests per second.
    pub(crate) rate: f64,
    /// The service's limit as announced, or as learned from 429s, in requests per second; `None` while the limit is unknown.
    /// Journal it, and pass it as [`PaceOptions::start_rate`] when the job is resumed.
    pub(crate) learned_limit: Option<f64>,
    /// The current pause.
    pub(crate) pause: Option<Pause>,
    /// The state of the circuit breaker.
    pub(crate) breaker: BreakerState,
    /// The number of 429s so far.
    pub(crate) throttled: u64,
    /// The number of requests in flight.
    pub(crate) in_flight: usize,
    /// The maximum number of requests in flight; lowered while timeouts rise.
    pub(crate) concurrency: usize,
}

/// The right to send one request. Pass it to [`Controller::observe`] or [`Controller::give_back`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Ticket {
    slot: Slot,
    sent_at: Duration,
    trial: bool,
}

/// A retry taken from the budget. Return it with [`Controller::give_back_retry`] if it isn't used.
#[derive(Debug)]
#[must_use]
pub(crate) struct RetryTicket {
    charged: bool,
}

/// No request may be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// When to check again, if no request ends before; `None` if only the end of a request changes the state.
    pub(crate) until: Option<Duration>,
}

/// Decides when requests are sent.
///
/// Learns the service's limit from its responses, pauses when the service asks for it or fails, and bounds the requests in flight. `now` is
/// the time since the job started, and must not decrease.
#[derive(Debug)]
pub(crate) struct Controller {
    rate: Rate,
    cell: Cell,
    concurrency: Concurrency,
    breaker: Breaker,
    retries: Retries,
    paused: Option<(Duration, PauseReason)>,
    in_flight: usize,
    throttled: u64,
    random: StdRng,
}

impl Controller {
    /// Creates a controller whose jitter is seeded by the operating system.
    pub(crate) fn new(options: PaceOptions) -> Self {
        Self::with_random(options, StdRng::from_entropy())
    }

    /// Creates a controller with a given source of jitter.
    pub(crate) fn with_random(options: PaceOptions, random: StdRng) -> Self {
        let max = options.max_rps.map(|max| max / STRETCH);
        Self {
            rate: Rate::new(options.start_rate, max),
            cell: Cell::default(),
            concurrency: Concurrency::new(options.concurrency),
            breaker: Breaker::default(),
            retries: Retries::default(),
            paused: None,
            in_flight: 0,
            throttled: 0,
            random,
        }
    }

    /// Admits one request.
    ///
    /// # Errors
    /// Rate, pause, breaker or concurrency don't allow a request now.
    pub(crate) fn admit(&mut self, now: Duration) -> Result<Ticket, Blocked> {
        if let Some((until, _)) = self.paused.filter(|(until, _)| *until > now) {
            return Err(Blocked { until: Some(until) });
        }
        self.paused = None;
        self.breaker.check(now).map_err(|until| Blocked { until })?;
        if self.in_flight >= self.concurrency.bound() {
            return Err(Blocked { until: None });
        }
        let interval = interval(self.rate.current());
        let ready_at = self.cell.ready_at(interval);
        if ready_at > now {
            return Err(Blocked { until: Some(ready_at) });
        }
        self.in_flight += 1;
        self.rate.sent(now);
        self.retries.sent();
        Ok(Ticket { slot: self.cell.take(now, interval), sent_at: now, trial: self.breaker.admit() })
    }

    /// Takes one retry from the budget, for a batch whose last attempt failed with a 5xx or without a response. A batch that was throttled
    /// needs none.
    ///
    /// The budget is a bucket of 100 retries; every request adds a tenth of one, and so does every second. While the breaker isn't closed, retries
    /// are free: the breaker already limits them.
    ///
    /// # Errors
    /// The budget is used up: returns when to try again at the latest.
    pub(crate) fn take_retry(&mut self, now: Duration) -> Result<RetryTicket, Blocked> {
        if self.breaker.state() != BreakerState::Closed {
            return Ok(RetryTicket { charged: false });
        }
        self.retries.take(now).map_err(|until| Blocked { until: Some(until) })?;
        Ok(RetryTicket { charged: true })
    }

    /// Returns a retry that wasn't used.
    pub(crate) fn give_back_retry(&mut self, RetryTicket { charged }: RetryTicket) {
        if charged {
            self.retries.give_back();
        }
    }

    /// Returns the slot of a request that wasn't sent.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket ends once")]
    pub(crate) fn give_back(&mut self, ticket: Ticket, now: Duration) {
        let Ticket { slot, trial, .. } = ticket;
        self.in_flight -= 1;
        self.cell.give_back(slot);
        self.rate.not_sent();
        if trial {
            self.breaker.give_back(now);
        }
    }

    /// Ends a request that was sent and whose outcome will never be known, because its task was canceled.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket ends once")]
    pub(crate) fn abandon(&mut self, ticket: Ticket, now: Duration) {
        let Ticket { trial, .. } = ticket;
        self.in_flight -= 1;
        if trial {
            self.breaker.failed(true, now);
        }
    }

    /// Learns from the outcome of a request.
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
        if let Some(announced) = Announced::read(headers) {
            self.announced(announced, now);
        }
        match observation {
            Observation::ServerError | Observation::Timeout | Observation::Unreachable => {
                self.breaker.failed(trial, now);
            }
            Observation::Accepted | Observation::Throttled { .. } | Observation::Other => {
                self.breaker.succeeded();
            }
        }
        match observation {
            Observation::Timeout => self.concurrency.timed_out(sent_at, now),
            Observation::Unreachable => {}
            _ => self.concurrency.answered(),
        }
        match observation {
            Observation::Accepted | Observation::Other => self.rate.accepted(sent_at, now),
            Observation::Throttled { retry_after } => {
                self.throttled += 1;
                let resumes_at =
                    self.pause(retry_after.unwrap_or(DEFAULT_PAUSE), PauseReason::Throttled, now);
                self.rate.throttled(sent_at, resumes_at, now);
            }
            _ => {}
        }
    }

    /// Returns the current state.
    pub(crate) fn snapshot(&self, now: Duration) -> Snapshot {
        let failing =
            self.breaker.check(now).err().map(|until| (until.unwrap_or(now), PauseReason::ServiceFailing));
        let pauses = [self.paused, failing].into_iter().flatten().filter(|(until, _)| *until > now);
        let pause = pauses.max_by_key(|(until, _)| *until);
        Snapshot {
            rate: self.rate.current(),
            learned_limit: self.rate.learned(),
            pause: pause.map(|(until, reason)| Pause { remaining: until.saturating_sub(now), reason }),
            breaker: self.breaker.state(),
            throttled: self.throttled,
            in_flight: self.in_flight,
            concurrency: self.concurrency.bound(),
        }
    }

    fn announced(&mut self, announced: Announced, now: Duration) {
        let limit = announced.limit;
        let announcement = self.rate.announce(limit.per_second(), now);
        match announcement {
            Announcement::Known => {}
            // Requests at the higher rate may have used up the current window.
            Announcement::Lower => {
                self.pause(limit.window(), PauseReason::WindowExhausted, now);
            }
            // Requests in flight count in the service's window.
            Announcement::New => {
                let interval = interval(self.rate.current());
                let ahead = u32::try_from(self.in_flight).unwrap_or(u32::MAX);
                self.cell.postpone(now.saturating_add(interval.saturating_mul(ahead)), interval);
            }
        }
        if let Some(reset) = announced.exhausted {
            // A window of a second that the job itself used up is what its own rate ends with, and `reset`, in whole seconds, is too coarse for it.
            let own = u32::try_from(self.rate.sent_lately(now)).unwrap_or(u32::MAX);
            let expected = f64::from(limit.requests()) * OWN_SHARE - 1.0;
            let coarse = announcement == Announcement::Known && limit.window() <= Duration::from_secs(1);
            if !coarse || f64::from(own) < expected {
                self.pause(reset, PauseReason::WindowExhausted, now);
            }
        }
    }

    /// Pauses all requests; returns the end of the pause.
    fn pause(&mut self, pause: Duration, reason: PauseReason, now: Duration) -> Duration {
        let jitter = 1.0 + self.random.gen_range(0.0..JITTER);
        let until = now + pause.min(MAX_PAUSE).mul_f64(jitter);
        match self.paused {
            Some((longer, _)) if longer >= until => longer,
            _ => {
                self.paused = Some((until, reason));
                until
            }
        }
    }
}
