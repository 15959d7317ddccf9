//! What has to change before a failed call can succeed.

use http::StatusCode;

use super::{ApiError, ApiErrorKind, Error, Outcome};

/// What has to change before a failed call can succeed with the same message and the same idempotency key; see [`Error::recovery`].
///
/// A queue should drop a message at [`Never`](Self::Never), reschedule it at [`Wait`](Self::Wait), and stop and notify an operator at
/// [`Act`](Self::Act), since its other messages would fail too. Treat values added in later versions like [`Act`](Self::Act).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recovery {
    /// Nothing helps: the message is invalid or was accepted, or it may have been executed and another attempt could execute it again.
    Never,
    /// Only time is needed: the service, the network, a rate limit or a quota recovers on its own.
    Wait,
    /// An operator has to change the account, its domain, the credential or the settings. This includes rejections that don't come from the API, such
    /// as a 404 with an HTML page, and a send whose route or template isn't found: the base URL may be wrong.
    Act,
}

impl Error {
    /// Returns what has to change before the same call can succeed.
    ///
    /// Unlike [`is_retryable`](Self::is_retryable), which says whether to repeat the call now, this distinguishes a quota that will be reset or a
    /// domain that can be verified from an invalid message.
    pub fn recovery(&self) -> Recovery {
        let may_act_twice =
            self.outcome() == Outcome::Unknown && self.idempotency_key().is_none() && !self.is_retryable();
        if self.outcome() == Outcome::Accepted || may_act_twice {
            return Recovery::Never;
        }
        match self {
            Self::Api(error) => from_response(error),
            _ if self.is_retryable() => Recovery::Wait,
            Self::Auth(_) | Self::Unreachable(_) | Self::Settings(_) => Recovery::Act,
            _ => Recovery::Never,
        }
    }
}

#[expect(clippy::match_same_arms, reason = "each group of responses states why")]
fn from_response(error: &ApiError) -> Recovery {
    let is_send = error.idempotency_key().is_some();
    match (error.kind(), error.status) {
        (ApiErrorKind::Authentication | ApiErrorKind::Permission | ApiErrorKind::Redirect, _) => {
            Recovery::Act
        }
        // Responses from a proxy or a network's login page.
        (_, StatusCode::PROXY_AUTHENTICATION_REQUIRED | StatusCode::NETWORK_AUTHENTICATION_REQUIRED) => {
            Recovery::Act
        }
        // In response to a send, the domain isn't verified; in response to another operation, the record's state forbids it.
        (ApiErrorKind::Validation, StatusCode::FORBIDDEN) if !is_send => Recovery::Never,
        (_, StatusCode::FORBIDDEN) => Recovery::Act,
        (ApiErrorKind::RateLimited | ApiErrorKind::QuotaExceeded, _) => Recovery::Wait,
        _ if error.call.retryable => Recovery::Wait,
        // Whether this comes from the service or a proxy, a smaller message may be accepted.
        (_, StatusCode::PAYLOAD_TOO_LARGE) => Recovery::Never,
        _ if error.is_html() => Recovery::Act,
        (_, StatusCode::NOT_IMPLEMENTED) => Recovery::Act,
        // Not a response to this request (1xx), or not an HTTP status: the sender of the response isn't the API.
        (ApiErrorKind::Other, status) if !status.is_client_error() => Recovery::Act,
        // All sends use the same route, so the base URL is wrong or a template is missing.
        (_, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) if is_send => Recovery::Act,
        _ => Recovery::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::IdempotencyKey;

    fn response(status: u16, name: &str, retryable: bool) -> Recovery {
        response_to(Some("k"), status, name, retryable)
    }

    fn response_to(key: Option<&str>, status: u16, name: &str, retryable: bool) -> Recovery {
        let body = format!(r#"{{"statusCode":{status},"name":"{name}","message":"why"}}"#);
        response_of(key, status, body, retryable)
    }

    fn response_of(key: Option<&str>, status: u16, body: String, retryable: bool) -> Recovery {
        let mut error = ApiError::example(status, &[], body);
        error.call.idempotency_key = key.map(|key| IdempotencyKey::new(key).unwrap());
        error.call.retryable = retryable;
        Error::Api(Box::new(error)).recovery()
    }

    #[test]
    fn each_error_response_has_one_of_three_answers() {
        for (status, name, retryable, recovery) in [
            (422, "validation_error", false, Recovery::Never),
            (400, "invalid_parameter", false, Recovery::Never),
            (403, "validation_error", false, Recovery::Act),
            (401, "missing_api_key", false, Recovery::Act),
            (401, "restricted_api_key", false, Recovery::Act),
            (403, "invalid_api_key", false, Recovery::Act),
            (302, "", false, Recovery::Act),
            (407, "", false, Recovery::Act),
            (511, "", false, Recovery::Act),
            (501, "", false, Recovery::Act),
            (405, "method_not_allowed", false, Recovery::Act),
            (413, "", false, Recovery::Never),
            (409, "concurrent_idempotent_requests", true, Recovery::Wait),
            (409, "invalid_idempotent_request", false, Recovery::Never),
            (429, "rate_limit_exceeded", true, Recovery::Wait),
            (429, "daily_quota_exceeded", false, Recovery::Wait),
            (429, "monthly_quota_exceeded", false, Recovery::Wait),
            (503, "service_unavailable", true, Recovery::Wait),
            (404, "not_found", false, Recovery::Act),
        ] {
            assert_eq!(response(status, name, retryable), recovery, "{status} {name}");
        }
        assert_eq!(response_to(None, 403, "validation_error", false), Recovery::Never);
        assert_eq!(response_to(None, 403, "invalid_permission", false), Recovery::Act);
        assert_eq!(response_to(None, 404, "not_found", false), Recovery::Never);
    }

    #[test]
    fn a_page_calls_an_operator_unless_time_or_a_smaller_message_helps() {
        for key in [None, Some("k")] {
            for status in [400, 404, 405, 409, 410, 422, 501] {
                let recovery = response_of(key, status, "<html>Not the API</html>".into(), false);
                assert_eq!(recovery, Recovery::Act, "{status} {key:?}");
            }
            assert_eq!(response_of(key, 503, "<html>".into(), true), Recovery::Wait);
            assert_eq!(response_of(key, 413, "<html>".into(), false), Recovery::Never);
        }
    }
}
