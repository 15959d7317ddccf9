//! The outcome of a failed attempt: the one table that classifies results.
//!
//! | what happened | result | transient |
//! |---|---|---|
//! | no connection, timeout while connecting | not sent | yes |
//! | TLS not trusted, a malformed proxy setting, a file that can't be read | not sent | no |
//! | connection lost or timeout before the response head | unknown | yes |
//! | 2xx with an unreadable or incomplete body | accepted | if the response can be fetched again |
//! | 429, except for an exhausted quota; 421; 425; 409 `resource_locked` | rejected | yes |
//! | 409 `concurrent_idempotent_requests`: the same send is in flight | unknown | yes |
//! | 408 and 5xx, except as below | unknown | yes |
//! | 501, 505, 511 | rejected | no |
//! | 303, 1xx, and values that are no HTTP status | unknown | no |
//! | all other statuses | rejected | no |
//!
//! A read never has an unknown outcome: where the table says so, its result is not sent (no response) or rejected (a response).

use crate::{
    error::{ApiError, ApiErrorKind},
    transport::{RequestDelivery, TransportError, TransportErrorKind},
};

use super::state::AttemptResult;

/// Classifies an attempt without a response.
pub(crate) fn transport_error(error: &TransportError, read_only: bool) -> AttemptResult {
    let transient = !matches!(
        error.kind(),
        TransportErrorKind::Tls
            | TransportErrorKind::TooLarge
            | TransportErrorKind::Body
            | TransportErrorKind::Settings
    );
    match error.delivery() {
        RequestDelivery::Unknown if !read_only => AttemptResult::Unknown { transient },
        _ => AttemptResult::NotSent { transient },
    }
}

/// Classifies an attempt that ended in an error response.
pub(crate) fn error_response(error: &ApiError, read_only: bool) -> AttemptResult {
    let rejected = |transient| AttemptResult::Rejected { transient };
    let unknown = |transient| {
        if read_only { AttemptResult::Rejected { transient } } else { AttemptResult::Unknown { transient } }
    };
    match (error.status.as_u16(), error.kind()) {
        (_, ApiErrorKind::IdempotencyConflict) if error.name == "concurrent_idempotent_requests" => {
            unknown(true)
        }
        (_, ApiErrorKind::RateLimited) | (421 | 425, _) => rejected(true),
        (501 | 505 | 511, _) => rejected(false),
        (_, ApiErrorKind::Server) => unknown(true),
        _ if error.name == "resource_locked" => rejected(true),
        (..=199 | 303 | 600.., _) => unknown(false),
        _ => rejected(false),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const REJECTED: AttemptResult = AttemptResult::Rejected { transient: false };
    const REJECTED_FOR_NOW: AttemptResult = AttemptResult::Rejected { transient: true };
    const UNKNOWN: AttemptResult = AttemptResult::Unknown { transient: false };
    const UNKNOWN_FOR_NOW: AttemptResult = AttemptResult::Unknown { transient: true };
    const NOT_SENT: AttemptResult = AttemptResult::NotSent { transient: false };
    const NOT_SENT_FOR_NOW: AttemptResult = AttemptResult::NotSent { transient: true };

    #[test]
    fn every_error_response_has_one_result() {
        // B-14
        for (status, name, write, read) in [
            (101, "", UNKNOWN, REJECTED),
            (303, "", UNKNOWN, REJECTED),
            (307, "", REJECTED, REJECTED),
            (400, "validation_error", REJECTED, REJECTED),
            (401, "missing_api_key", REJECTED, REJECTED),
            (404, "not_found", REJECTED, REJECTED),
            (408, "", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (409, "concurrent_idempotent_requests", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (409, "invalid_idempotent_request", REJECTED, REJECTED),
            (409, "resource_locked", REJECTED_FOR_NOW, REJECTED_FOR_NOW),
            (409, "", REJECTED, REJECTED),
            (421, "", REJECTED_FOR_NOW, REJECTED_FOR_NOW),
            (422, "validation_error", REJECTED, REJECTED),
            (425, "", REJECTED_FOR_NOW, REJECTED_FOR_NOW),
            (429, "rate_limit_exceeded", REJECTED_FOR_NOW, REJECTED_FOR_NOW),
            (429, "", REJECTED_FOR_NOW, REJECTED_FOR_NOW),
            (429, "daily_quota_exceeded", REJECTED, REJECTED),
            (429, "monthly_quota_exceeded", REJECTED, REJECTED),
            (500, "application_error", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (500, "validation_error", REJECTED, REJECTED),
            (501, "", REJECTED, REJECTED),
            (502, "", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (503, "service_unavailable", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (504, "", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (505, "", REJECTED, REJECTED),
            (511, "", REJECTED, REJECTED),
            (524, "", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
            (600, "", UNKNOWN, REJECTED),
            (400, "application_error", UNKNOWN_FOR_NOW, REJECTED_FOR_NOW),
        ] {
            let body = serde_json::json!({ "name": name, "message": "" }).to_string();
            let (mut head, ()) = http::Response::new(()).into_parts();
            head.status = http::StatusCode::from_u16(status).unwrap();
            let error = ApiError::from_response(head, Bytes::from(body));
            assert_eq!(error_response(&error, false), write, "{status} {name}");
            assert_eq!(error_response(&error, true), read, "{status} {name}, read");
        }
    }

    #[test]
    fn every_transport_error_has_one_result() {
        use RequestDelivery::{NotSent, Unknown};
        for (delivery, kind, write, read) in [
            (NotSent, TransportErrorKind::Connect, NOT_SENT_FOR_NOW, NOT_SENT_FOR_NOW),
            (NotSent, TransportErrorKind::Timeout, NOT_SENT_FOR_NOW, NOT_SENT_FOR_NOW),
            (NotSent, TransportErrorKind::Tls, NOT_SENT, NOT_SENT),
            (NotSent, TransportErrorKind::Body, NOT_SENT, NOT_SENT),
            (NotSent, TransportErrorKind::Settings, NOT_SENT, NOT_SENT),
            (Unknown, TransportErrorKind::Closed, UNKNOWN_FOR_NOW, NOT_SENT_FOR_NOW),
            (Unknown, TransportErrorKind::Timeout, UNKNOWN_FOR_NOW, NOT_SENT_FOR_NOW),
            (Unknown, TransportErrorKind::Other, UNKNOWN_FOR_NOW, NOT_SENT_FOR_NOW),
            (Unknown, TransportErrorKind::TooLarge, UNKNOWN, NOT_SENT),
        ] {
            let error = TransportError::new(delivery, kind);
            assert_eq!(transport_error(&error, false), write, "{delivery:?} {kind:?}");
            assert_eq!(transport_error(&error, true), read, "{delivery:?} {kind:?}, read");
        }
    }
}
