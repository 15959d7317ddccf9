//! The circuit breaker: it stops the job while the service fails.

use std::time::Duration;

/// The number of consecutive failures that opens the breaker.
const FAILURES: u32 = 20;
/// The time from opening to the first trial, and between trials.
const TRIAL_INTERVAL: Duration = Duration::from_secs(30);

/// The state of the circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerState {
    /// Requests are sent.
    Closed,
    /// No requests are sent.
    Open,
    /// One request is in flight as a trial.
    HalfOpen,
}

/// Opens after [`FAILURES`] consecutive failures, then admits one trial request per [`TRIAL_INTERVAL`] until one succeeds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Breaker {
    Closed { failures: u32 },
    Open { until: Duration },
    HalfOpen,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Breaker {
    pub(super) fn state(&self) -> BreakerState {
        match self {
            Self::Closed { .. } => BreakerState::Closed,
            Self::Open { .. } => BreakerState::Open,
            Self::HalfOpen => BreakerState::HalfOpen,
        }
    }

    /// Returns `Ok` if a request may be sent, otherwise the time to check again; `Err(None)`: after the trial's response.
    pub(super) fn check(&self, now: Duration) -> Result<(), Option<Duration>> {
        match *self {
            Self::Closed { .. } => Ok(()),
            Self::Open { until } if until <= now => Ok(()),
            Self::Open { until } => Err(Some(until)),
            Self::HalfOpen => Err(None),
        }
    }

    /// Returns whether the request admitted now is the trial.
    pub(super) fn admit(&mut self) -> bool {
        let trial = matches!(self, Self::Open { .. });
        if trial {
            *self = Self::HalfOpen;
        }
        trial
    }

    pub(super) fn record_success(&mut self) {
        *self = Self::default();
    }

    /// Counts a failure. Unless the breaker is closed, only the trial's failure counts: all other requests were sent before it opened.
    pub(super) fn record_failure(&mut self, trial: bool, now: Duration) {
        match self {
            Self::Closed { failures } => {
                *failures += 1;
                if *failures < FAILURES {
                    return;
                }
            }
            Self::HalfOpen if trial => {}
            Self::HalfOpen | Self::Open { .. } => return,
        }
        *self = Self::Open { until: now + TRIAL_INTERVAL };
    }

    /// Gives back an unused trial.
    pub(super) fn return_trial(&mut self, now: Duration) {
        if let Self::HalfOpen = self {
            *self = Self::Open { until: now };
        }
    }
}
