//! Whether, and after how long, a request is sent again.
//!
//! Decided by harm, not by method. A request that can be repeated without harm ([`Idempotency::Idempotent`]) is repeated when its
//! outcome is unknown; any other is repeated only when it is certain that the service did not act on it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use http::StatusCode;

use crate::{
    error::{ApiError, Idempotency},
    transport::{RequestDelivery, TransportError, TransportErrorKind},
};

/// The longest pause that a service can ask for and get; above it the error is returned, with the pause in it.
const LONGEST_ASKED_PAUSE: Duration = Duration::from_mins(1);

/// How often and how patiently a call is tried.
///
/// The pause before attempt n + 1 is a random part of min(`cap`, `base` · 2ⁿ) ("full jitter"). A `Retry-After` of the service wins
/// when it is longer; one of more than 60 s ends the call with the error instead, which then tells the pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    base: Duration,
    cap: Duration,
}

impl Default for RetryPolicy {
    /// Three attempts, 0.5 s at first, 20 s at most.
    fn default() -> Self {
        Self { attempts: 3, base: Duration::from_millis(500), cap: Duration::from_secs(20) }
    }
}

impl RetryPolicy {
    /// One attempt and no more.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// How many times the request may be sent in all; at least 1.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// The most that the first pause can be.
    #[must_use]
    pub fn base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The most that any pause can be which the service did not ask for.
    #[must_use]
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    pub(crate) fn allows(&self, attempts_made: u32) -> bool {
        attempts_made < self.attempts
    }

    /// The pause after so many attempts; `chance` is a random number in 0..1.
    pub(crate) fn pause(&self, attempts_made: u32, cause: &Cause, chance: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(attempts_made.saturating_sub(1));
        let base = self.base.max(cause.least);
        let most = base.saturating_mul(doubled).min(self.cap.max(cause.least));
        let jittered = most.mul_f64(chance.clamp(0.0, 1.0)).max(cause.least);
        match cause.asked {
            // Everybody who was told to come back in five seconds should not come back at once.
            Some(asked) => jittered.max(asked + asked.mul_f64(0.25 * chance)),
            None => jittered,
        }
    }
}

/// One pause before another attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetryEvent {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// How long the client waits now.
    pub pause: Duration,
    /// Why: `503 service_unavailable`.
    pub cause: String,
}

pub(crate) type RetryListener = Arc<dyn Fn(&RetryEvent) + Send + Sync>;

/// Why a request is sent again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub(crate) what: String,
    /// The pause that the service asked for.
    asked: Option<Duration>,
    /// The pause below which asking again is pointless.
    least: Duration,
    timeout: bool,
}

impl Cause {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), asked: None, least: Duration::ZERO, timeout: false }
    }

    /// What a retry takes from the budget.
    fn cost(&self) -> i64 {
        if self.timeout { 10 } else { 5 }
    }
}

/// Judges a request that got no whole answer: `Some` when it can be sent again.
pub(crate) fn after_transport_error(error: &TransportError, idempotency: Idempotency) -> Option<Cause> {
    match error.kind {
        TransportErrorKind::Tls | TransportErrorKind::TooLarge | TransportErrorKind::Body => return None,
        _ => {}
    }
    if error.delivery == RequestDelivery::Unknown && idempotency == Idempotency::NotIdempotent {
        return None;
    }
    let mut cause = Cause::new(error.to_string());
    cause.timeout = error.kind == TransportErrorKind::Timeout;
    Some(cause)
}

/// Judges an answer that says no: `Some` when the request can be sent again.
pub(crate) fn after_refusal(error: &ApiError, idempotency: Idempotency) -> Option<Cause> {
    let asked = error.retry_after();
    if asked.is_some_and(|asked| asked > LONGEST_ASKED_PAUSE) {
        return None;
    }
    let mut cause = Cause::new(format!("{} {}", error.status.as_u16(), error.name).trim_end());
    cause.asked = asked;
    match error.status {
        StatusCode::TOO_MANY_REQUESTS if error.name.ends_with("quota_exceeded") => None,
        StatusCode::TOO_MANY_REQUESTS => {
            cause.least = Duration::from_secs(1).min(asked.unwrap_or(Duration::from_secs(1)));
            Some(cause)
        }
        StatusCode::CONFLICT if error.name == "concurrent_idempotent_requests" => {
            cause.least = Duration::from_secs(1);
            Some(cause)
        }
        StatusCode::CONFLICT if error.name == "resource_locked" && idempotency == Idempotency::Idempotent => {
            Some(cause)
        }
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::MISDIRECTED_REQUEST
        | StatusCode::TOO_EARLY
        | StatusCode::INTERNAL_SERVER_ERROR
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT
            if idempotency == Idempotency::Idempotent =>
        {
            Some(cause)
        }
        _ => None,
    }
}

/// A budget that all calls of a client share, so that an outage is not answered with three times the traffic.
#[derive(Debug)]
pub(crate) struct Budget(AtomicI64);

impl Budget {
    const FULL: i64 = 50;

    pub(crate) fn full() -> Self {
        Self(AtomicI64::new(Self::FULL))
    }

    /// Takes what one retry costs, if it is there.
    pub(crate) fn take(&self, cause: &Cause) -> bool {
        let spend = |left| if left >= cause.cost() { Some(left - cause.cost()) } else { None };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok()
    }

    pub(crate) fn succeeded(&self) {
        if self.0.load(Ordering::Relaxed) < Self::FULL {
            let _ = self
                .0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some((left + 1).min(Self::FULL)));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::error::{Tried, retry_after};

    fn refusal(status: u16, name: &str, headers: &[(&'static str, &str)]) -> ApiError {
        let body = serde_json::json!({"statusCode": status, "name": name, "message": "no"}).to_string();
        let mut answer = http::Response::new(Bytes::from(body));
        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in headers {
            answer.headers_mut().append(*name, value.parse().unwrap());
        }
        ApiError::from_answer(answer, &Tried::once())
    }

    #[test]
    fn the_decision_table_holds() {
        let lost = |reached, kind| TransportError::new(reached, kind);
        for kind in [TransportErrorKind::Connect, TransportErrorKind::Timeout, TransportErrorKind::Closed] {
            assert!(
                after_transport_error(&lost(RequestDelivery::NotSent, kind), Idempotency::NotIdempotent)
                    .is_some()
            );
            assert!(
                after_transport_error(&lost(RequestDelivery::Unknown, kind), Idempotency::Idempotent)
                    .is_some()
            );
            assert!(
                after_transport_error(&lost(RequestDelivery::Unknown, kind), Idempotency::NotIdempotent)
                    .is_none()
            );
        }
        let tls = lost(RequestDelivery::NotSent, TransportErrorKind::Tls);
        assert!(after_transport_error(&tls, Idempotency::Idempotent).is_none());

        for (status, name, safe, other) in [
            (408, "", true, false),
            (421, "", true, false),
            (425, "", true, false),
            (500, "application_error", true, false),
            (501, "", false, false),
            (502, "", true, false),
            (503, "service_unavailable", true, false),
            (504, "", true, false),
            (429, "rate_limit_exceeded", true, true),
            (429, "daily_quota_exceeded", false, false),
            (429, "monthly_quota_exceeded", false, false),
            (409, "concurrent_idempotent_requests", true, true),
            (409, "invalid_idempotent_request", false, false),
            (409, "resource_locked", true, false),
            (400, "validation_error", false, false),
            (401, "missing_api_key", false, false),
            (404, "not_found", false, false),
            (422, "validation_error", false, false),
            (307, "", false, false),
        ] {
            let error = refusal(status, name, &[]);
            assert_eq!(after_refusal(&error, Idempotency::Idempotent).is_some(), safe, "{status} {name}");
            assert_eq!(after_refusal(&error, Idempotency::NotIdempotent).is_some(), other, "{status} {name}");
        }
    }

    #[test]
    fn retry_after_is_read_in_every_form_and_never_panics() {
        // LIM-16
        let at = |text: &str| retry_after(&refusal(429, "", &[("retry-after", text)]).headers);
        assert_eq!(at("0"), Some(Duration::ZERO));
        assert_eq!(at("5"), Some(Duration::from_secs(5)));
        assert_eq!(at("99999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        for garbage in ["1.5", "-1", "abc", "", "Thu, 99 Foo 2026"] {
            assert_eq!(at(garbage), None, "{garbage:?}");
        }
        let dated = |date: &str, after: &str| {
            retry_after(&refusal(429, "", &[("date", date), ("retry-after", after)]).headers)
        };
        let date = "Sat, 21 Nov 2015 04:46:00 GMT";
        assert_eq!(dated(date, "Sat, 21 Nov 2015 04:46:07 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(dated(date, "Sat, 21 Nov 2015 04:45:00 GMT"), Some(Duration::ZERO));
        let two = refusal(429, "", &[("retry-after", "3"), ("retry-after", "9")]);
        assert_eq!(retry_after(&two.headers), Some(Duration::from_secs(3)));
        let long = refusal(429, "rate_limit_exceeded", &[("retry-after", "61")]);
        assert!(
            after_refusal(&long, Idempotency::Idempotent).is_none(),
            "more than a minute is the caller's to wait"
        );
    }

    #[test]
    fn pauses_lie_between_nothing_and_the_doubling_cap() {
        let policy = RetryPolicy::default();
        let plain = Cause::new("x");
        for (attempts, most) in [(1, 500), (2, 1_000), (3, 2_000), (6, 16_000), (7, 20_000), (99, 20_000)] {
            assert_eq!(policy.pause(attempts, &plain, 0.0), Duration::ZERO);
            assert_eq!(policy.pause(attempts, &plain, 0.5), Duration::from_millis(most / 2));
            assert_eq!(policy.pause(attempts, &plain, 1.0), Duration::from_millis(most));
        }
        let asked = Cause { asked: Some(Duration::from_secs(4)), ..Cause::new("x") };
        assert_eq!(policy.pause(1, &asked, 0.0), Duration::from_secs(4));
        assert_eq!(policy.pause(1, &asked, 1.0), Duration::from_secs(5));
        let huge = RetryPolicy::default().base(Duration::MAX).cap(Duration::MAX);
        assert_eq!(huge.pause(50, &plain, 0.0), Duration::ZERO);
    }

    #[test]
    fn the_budget_runs_dry_and_fills_again() {
        let budget = Budget::full();
        let cause = Cause::new("x");
        assert_eq!((0..20).filter(|_| budget.take(&cause)).count(), 10);
        for _ in 0..5 {
            budget.succeeded();
        }
        assert!(budget.take(&cause));
        assert!(!budget.take(&cause));
    }
}
