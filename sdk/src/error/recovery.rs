//! What has to happen before a failed call can succeed.

use http::StatusCode;

use super::{ApiError, ApiErrorKind, Error, Outcome};

/// What has to happen before a failed call can succeed, with the same message and the same idempotency key: [`Error::recovery`].
///
/// A queue drops a message at [`Never`](Self::Never), schedules it again at [`Wait`](Self::Wait), and stops and calls an operator at
/// [`Act`](Self::Act), since its other messages fail alike. (The specification is silent here.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recovery {
    /// Nothing: the message is invalid or was accepted, or it may have been executed and could be executed again.
    Never,
    /// Time alone: the service, the network, a rate limit or a quota recovers by itself.
    Wait,
    /// An operator has to change the account, its domain, the credential or the settings.
    Act,
}

impl Error {
    /// Returns what has to happen before the same call can succeed.
    ///
    /// Unlike [`is_retryable`](Self::is_retryable), which says whether to repeat the call now, it tells a quota that will be reset and a domain
    /// that can be verified from a message that is invalid.
    pub fn recovery(&self) -> Recovery {
        let may_act_twice =
            self.outcome() == Outcome::Unknown && self.idempotency_key().is_none() && !self.is_retryable();
        if self.outcome() == Outcome::Accepted || may_act_twice {
            return Recovery::Never;
        }
        match self {
            Self::Api(error) => of_response(error),
            _ if self.is_retryable() => Recovery::Wait,
            Self::Auth(_) | Self::Unreachable(_) | Self::Settings(_) => Recovery::Act,
            _ => Recovery::Never,
        }
    }
}

fn of_response(error: &ApiError) -> Recovery {
    match error.kind() {
        ApiErrorKind::Authentication | ApiErrorKind::Permission | ApiErrorKind::Redirect => Recovery::Act,
        // In response to a send, its domain isn't verified; to another operation, the record's state forbids it.
        ApiErrorKind::Validation if error.idempotency_key.is_none() => Recovery::Never,
        // The latter two are responses of a proxy and of a network's login page.
        _ if [
            StatusCode::FORBIDDEN,
            StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            StatusCode::NETWORK_AUTHENTICATION_REQUIRED,
        ]
        .contains(&error.status) =>
        {
            Recovery::Act
        }
        ApiErrorKind::RateLimited | ApiErrorKind::QuotaExceeded => Recovery::Wait,
        _ if error.retryable => Recovery::Wait,
        _ => Recovery::Never,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{error::CallSummary, types::IdempotencyKey};

    fn response(status: u16, name: &str, retryable: bool) -> Recovery {
        response_to(Some("k"), status, name, retryable)
    }

    fn response_to(key: Option<&str>, status: u16, name: &str, retryable: bool) -> Recovery {
        let mut response = http::Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        let body = Bytes::from(format!(r#"{{"statusCode":{status},"name":"{name}","message":"why"}}"#));
        let summary = CallSummary {
            operation: "emails.send",
            attempts: 1,
            idempotency_key: key.map(|key| IdempotencyKey::new(key).unwrap()),
            outcome: Outcome::Rejected,
            retryable,
        };
        let error = ApiError::from_response(response.into_parts().0, body).after(summary);
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
            (501, "", false, Recovery::Never),
            (409, "concurrent_idempotent_requests", true, Recovery::Wait),
            (409, "invalid_idempotent_request", false, Recovery::Never),
            (429, "rate_limit_exceeded", true, Recovery::Wait),
            (429, "daily_quota_exceeded", false, Recovery::Wait),
            (429, "monthly_quota_exceeded", false, Recovery::Wait),
            (503, "service_unavailable", true, Recovery::Wait),
            (404, "not_found", false, Recovery::Never),
        ] {
            assert_eq!(response(status, name, retryable), recovery, "{status} {name}");
        }
        assert_eq!(response_to(None, 403, "validation_error", false), Recovery::Never);
        assert_eq!(response_to(None, 403, "invalid_permission", false), Recovery::Act);
    }
}
