//! The number of attempts and their delays. [`CallState`](super::state::CallState) decides whether a retry is safe.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use http::StatusCode;

use crate::{
    error::{ApiError, Error},
    transport::{TransportError, TransportErrorKind},
};

/// The longest `Retry-After` that a call waits for; if it is longer, the call fails with the delay in its error.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The number of attempts of a call, and the delays between them.
///
/// The delay before attempt n + 1 is a random part of min(`max_delay`, `base_delay` · 2ⁿ⁻¹) ("full jitter"). A longer `Retry-After` from the service
/// takes precedence; one of more than 60 s ends the call with an error, whose [`Error::retry_after`](crate::Error::retry_after) returns the delay.
///
/// [`decide_by`](Self::decide_by) adds the application's own rules.
#[derive(Clone, Debug)]
#[must_use]
pub struct RetryPolicy {
    max_attempts: u32,
    base_delay: Duration,
    max_delay: Duration,
    budget: u32,
    decider: Option<Decider>,
}

type Decide = dyn Fn(&FailedAttempt<'_>) -> Option<Duration> + Send + Sync;

#[derive(Clone)]
struct Decider(Arc<Decide>);

partial_debug!(Decider = "Decider");

/// A failed attempt that can be retried; see [`RetryPolicy::decide_by`].
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedAttempt<'a> {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The time since the call started.
    pub elapsed: Duration,
    /// The error with which the call ends if it isn't retried.
    pub error: &'a Error,
    /// The policy's own decision: the delay, or `None` after [`max_attempts`](RetryPolicy::max_attempts) or if `Retry-After` is too long.
    pub default: Option<Duration>,
}

impl Default for RetryPolicy {
    /// Three attempts, with delays of at most 0.5 s at first and 20 s later, and a budget of 500 retries.
    fn default() -> Self {
        Self {
            max_attempts: 3,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(20),
            budget: 500,
            decider: None,
        }
    }
}

impl RetryPolicy {
    /// Creates a policy with one attempt and no retries.
    pub fn never() -> Self {
        Self { max_attempts: 1, ..Self::default() }
    }

    /// Sets the maximum number of attempts, including the first; at least 1.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    setters! {
        /// Sets the upper bound of the first delay.
        base_delay(Duration);
        /// Sets the upper bound of all delays; a `Retry-After` from the service may exceed it.
        max_delay(Duration);
        /// Sets the client's retry budget, which keeps its calls from multiplying the traffic during an outage: the number of retries that all calls
        /// together make before the service accepts any. After a timeout, a retry counts twice; after a 429, which the rate limiter handles, it doesn't
        /// count. A call that succeeds returns its retries to the budget, and every five successes add one more. If a call isn't retried because the
        /// budget is exhausted, [`Error::retry_budget_exhausted`](crate::Error::retry_budget_exhausted) says so.
        ///
        /// Only the policy of the [`ClientBuilder`](crate::ClientBuilder::retry) sets it.
        budget(u32);
    }

    /// Lets a function decide on each retry: it returns the delay before the next attempt, or `None` to end the call with the error.
    ///
    /// It is called only if a retry is safe and can succeed, so it can't cause an email to be sent twice. The call's timeout and the client's
    /// [`budget`](Self::budget) still apply. Another attempt after a token refresh doesn't count as a retry here, nor does resuming a download.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use idempost::call::RetryPolicy;
    ///
    /// // Waits up to five minutes for a service in maintenance, however many attempts that takes.
    /// let policy = RetryPolicy::default().decide_by(|failed| {
    ///     let maintenance = failed.error.status().is_some_and(|status| status == 503);
    ///     let patient = maintenance && failed.elapsed < Duration::from_secs(300);
    ///     if patient { Some(Duration::from_secs(10)) } else { failed.default }
    /// });
    /// # drop(policy);
    /// ```
    pub fn decide_by(
        mut self,
        decide: impl Fn(&FailedAttempt<'_>) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.decider = Some(Decider(Arc::new(decide)));
        self
    }

    pub(super) fn decide(&self, failed: &FailedAttempt<'_>) -> Option<Duration> {
        self.decider.as_ref().map_or(failed.default, |Decider(decide)| decide(failed))
    }

    pub(crate) fn attempt_limit(&self) -> u32 {
        self.max_attempts
    }

    /// Returns the delay after `attempts_made` attempts; `None` if no attempts are left, or if the service requests a longer delay than a call waits
    /// for. `chance` is a random number in 0..1.
    pub(crate) fn delay(&self, attempts_made: u32, cause: &Cause, chance: f64) -> Option<Duration> {
        if attempts_made >= self.max_attempts || cause.exceeds_max_wait() {
            return None;
        }
        let doubled = 2_u32.saturating_pow(attempts_made.saturating_sub(1));
        let base = self.base_delay.max(cause.minimum);
        let ceiling = base.saturating_mul(doubled).min(self.max_delay.max(cause.minimum));
        let jittered = ceiling.mul_f64(chance.clamp(0.0, 1.0)).max(cause.minimum);
        Some(match cause.retry_after {
            // Otherwise all clients with the same `Retry-After` would retry at the same time.
            Some(delay) => jittered.max(delay + delay.mul_f64(0.25 * chance)),
            None => jittered,
        })
    }
}

/// A retry delay that is about to start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetryEvent {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// How long the client waits.
    pub delay: Duration,
    /// The cause, such as `503 service_unavailable`.
    pub cause: String,
}

pub(crate) type RetryListener = Arc<dyn Fn(&RetryEvent) + Send + Sync>;

/// The cause of a retry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub(crate) what: String,
    /// The service's `Retry-After`.
    retry_after: Option<Duration>,
    /// The delay below which a retry is pointless.
    minimum: Duration,
    /// The number of retries it takes from the budget.
    cost: u32,
    /// Whether delay and budget don't apply.
    pub(crate) immediate: bool,
}

impl Cause {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), retry_after: None, minimum: Duration::ZERO, cost: 1, immediate: false }
    }

    pub(crate) fn transport_error(error: &TransportError) -> Self {
        let cost = if error.kind() == TransportErrorKind::Timeout { 2 } else { 1 };
        Self { cost, ..Self::new(error.to_string()) }
    }

    pub(crate) fn error_response(error: &ApiError) -> Self {
        let second = Duration::from_secs(1);
        let retry_after = error.retry_after();
        let minimum = match error.status {
            StatusCode::TOO_MANY_REQUESTS => second.min(retry_after.unwrap_or(second)),
            StatusCode::CONFLICT => second,
            _ => Duration::ZERO,
        };
        Self {
            retry_after,
            minimum,
            cost: u32::from(error.status != StatusCode::TOO_MANY_REQUESTS),
            ..Self::new(format!("{} {}", error.status.as_u16(), error.name).trim_end())
        }
    }

    pub(crate) fn unreadable_response(status: StatusCode) -> Self {
        Self::new(format!("{} with an unreadable body", status.as_u16()))
    }

    /// The access token was rejected; the session will refresh it.
    pub(crate) fn token_rejected() -> Self {
        Self { immediate: true, ..Self::new("401 with an access token") }
    }

    /// Returns whether the service requests a longer delay than a call waits for.
    fn exceeds_max_wait(&self) -> bool {
        self.retry_after.is_some_and(|delay| delay > MAX_RETRY_AFTER)
    }
}

/// The retry budget shared by all calls of a client, so that an outage doesn't triple the traffic.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Counted in successes: [`SUCCESSES_PER_RETRY`] for each retry.
    left: AtomicI64,
    full: i64,
}

/// The number of successes that pay for one retry.
const SUCCESSES_PER_RETRY: i64 = 5;

impl Budget {
    pub(crate) fn new(policy: &RetryPolicy) -> Self {
        let full = i64::from(policy.budget) * SUCCESSES_PER_RETRY;
        Self { left: AtomicI64::new(full), full }
    }

    /// Withdraws the cost of one retry and returns the amount; `None` if the budget doesn't cover it.
    pub(crate) fn take(&self, cause: &Cause) -> Option<i64> {
        let cost = i64::from(cause.cost) * SUCCESSES_PER_RETRY;
        let spend = |left| (left >= cost).then(|| left - cost);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok().then_some(cost)
    }

    /// Deposits one success, and returns the amount that its call had withdrawn.
    pub(crate) fn record_success(&self, withdrawn: i64) {
        let more = |left: i64| (left < self.full).then(|| (left + 1 + withdrawn).min(self.full));
        // A full budget isn't increased further.
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::RequestDelivery;

    fn api_error(status: u16, headers: &[(&'static str, &str)]) -> ApiError {
        ApiError::example(status, headers, r#"{"name":"some_error"}"#)
    }

    fn millis(pause: Option<Duration>) -> Option<u128> {
        pause.map(|pause| pause.as_millis())
    }

    #[test]
    fn a_delay_is_a_random_part_of_a_doubling_maximum() {
        let policy = RetryPolicy::default().max_attempts(100);
        let plain = Cause::new("x");
        for (attempts, most) in [(1, 500), (2, 1_000), (3, 2_000), (6, 16_000), (7, 20_000), (99, 20_000)] {
            assert_eq!(millis(policy.delay(attempts, &plain, 0.0)), Some(0));
            assert_eq!(millis(policy.delay(attempts, &plain, 0.5)), Some(most / 2));
            assert_eq!(millis(policy.delay(attempts, &plain, 1.0)), Some(most));
        }
        let huge = policy.base_delay(Duration::MAX).max_delay(Duration::MAX);
        assert_eq!(huge.delay(50, &plain, 0.0), Some(Duration::ZERO));
        let own = RetryPolicy::default().base_delay(Duration::from_secs(2)).max_delay(Duration::from_secs(3));
        assert_eq!(millis(own.delay(1, &plain, 1.0)), Some(2_000));
        assert_eq!(millis(own.delay(2, &plain, 1.0)), Some(3_000));
    }

    #[test]
    fn attempts_are_bounded() {
        // A-51
        let plain = Cause::new("x");
        let last = |policy: RetryPolicy| (1..9).find(|made| policy.delay(*made, &plain, 0.0).is_none());
        assert_eq!(last(RetryPolicy::default()), Some(3));
        assert_eq!(last(RetryPolicy::never()), Some(1));
        assert_eq!(last(RetryPolicy::default().max_attempts(0)), Some(1));
        assert_eq!(last(RetryPolicy::default().max_attempts(5)), Some(5));
        assert_eq!(RetryPolicy::default().max_attempts(5).attempt_limit(), 5);
    }

    #[test]
    fn a_retry_after_is_honored_with_jitter() {
        // B-11
        let policy = RetryPolicy::default();
        let asked = |seconds: &str| Cause::error_response(&api_error(503, &[("retry-after", seconds)]));
        assert_eq!(millis(policy.delay(1, &asked("4"), 0.0)), Some(4_000));
        assert_eq!(millis(policy.delay(1, &asked("4"), 1.0)), Some(5_000));
        assert_eq!(millis(policy.delay(1, &asked("60"), 0.0)), Some(60_000));
        assert_eq!(policy.delay(1, &asked("61"), 0.0), None, "more than a minute is the caller's to wait");
    }

    #[test]
    fn rate_limits_and_conflicts_have_a_minimum_delay() {
        let policy = RetryPolicy::default();
        let pause = |status, headers| {
            millis(policy.delay(1, &Cause::error_response(&api_error(status, headers)), 0.0))
        };
        assert_eq!(pause(429, &[]), Some(1_000));
        assert_eq!(pause(429, &[("retry-after", "0")]), Some(0));
        assert_eq!(pause(409, &[]), Some(1_000));
        assert_eq!(pause(503, &[]), Some(0));
    }

    #[test]
    fn a_cause_names_status_and_error() {
        assert_eq!(Cause::error_response(&api_error(503, &[])).what, "503 some_error");
        assert_eq!(Cause::unreadable_response(StatusCode::OK).what, "200 with an unreadable body");
    }

    #[test]
    fn only_a_rejected_token_is_retried_without_a_delay() {
        assert!(Cause::token_rejected().immediate);
        assert!(!Cause::error_response(&api_error(503, &[])).immediate);
        assert!(!Cause::unreadable_response(StatusCode::OK).immediate);
    }

    #[test]
    fn retry_after_is_read_in_every_form_and_never_panics() {
        // LIM-16, B-11
        let at = |text: &str| api_error(429, &[("retry-after", text)]).retry_after();
        assert_eq!(at("0"), Some(Duration::ZERO));
        assert_eq!(at("5"), Some(Duration::from_secs(5)));
        assert_eq!(at("99999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        for garbage in ["1.5", "-1", "abc", "", "Thu, 99 Foo 2026"] {
            assert_eq!(at(garbage), None, "{garbage:?}");
        }
        let dated =
            |date: &str, after: &str| api_error(429, &[("date", date), ("retry-after", after)]).retry_after();
        let date = "Sat, 21 Nov 2015 04:46:00 GMT";
        assert_eq!(dated(date, "Sat, 21 Nov 2015 04:46:07 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(dated(date, "Sat, 21 Nov 2015 04:45:00 GMT"), Some(Duration::ZERO));
        let two = api_error(429, &[("retry-after", "3"), ("retry-after", "9")]);
        assert_eq!(two.retry_after(), Some(Duration::from_secs(3)));
    }

    fn budget(retries: u32) -> Budget {
        Budget::new(&RetryPolicy::default().budget(retries))
    }

    fn retries(budget: &Budget, cause: &Cause) -> usize {
        (0..1_000).filter(|_| budget.take(cause).is_some()).count()
    }

    #[test]
    fn the_budget_is_exhausted_and_refilled() {
        let budget = budget(10);
        let cause = Cause::new("x");
        assert_eq!(retries(&budget, &cause), 10);
        for _ in 0..4 {
            budget.record_success(0);
        }
        assert!(budget.take(&cause).is_none(), "five successes pay for a retry");
        budget.record_success(0);
        assert_eq!(retries(&budget, &cause), 1);
        for _ in 0..1_000 {
            budget.record_success(0);
        }
        assert_eq!(retries(&budget, &cause), 10, "it is never more than full");
        for _ in 0..4 {
            budget.record_success(0);
        }
        assert!(budget.take(&cause).is_none(), "nothing was left of a full budget");
        assert_eq!(retries(&self::budget(0), &cause), 0);
        assert_eq!(retries(&Budget::new(&RetryPolicy::default()), &cause), 500);
    }

    #[test]
    fn a_success_returns_the_retries_of_its_call() {
        let budget = budget(10);
        let cause = Cause::new("x");
        let paid: i64 = (0..10).filter_map(|_| budget.take(&cause)).sum();
        budget.record_success(paid);
        assert_eq!(retries(&budget, &cause), 10);
    }

    #[test]
    fn a_timeout_costs_twice_and_a_rate_limit_nothing() {
        let error = TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout);
        assert_eq!(retries(&budget(10), &Cause::transport_error(&error)), 5);
        assert_eq!(retries(&budget(10), &Cause::error_response(&api_error(503, &[]))), 10);
        assert_eq!(retries(&budget(0), &Cause::error_response(&api_error(429, &[]))), 1_000);
    }
}
