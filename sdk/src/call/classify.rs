//! The outcome of a failed attempt: the single table that classifies results.
//!
//! | what happened | result | transient |
//! |---|---|---|
//! | no connection, timeout while connecting | not sent | yes |
//! | TLS not trusted, a malformed proxy setting, a proxy that refuses the connection, a file that can't be read | not sent | no |
//! | connection lost or timeout before the response head | unknown | yes |
//! | 2xx with an unreadable body that clearly comes from the API: JSON with an ID, or truncated JSON | accepted | if the response can be fetched again |
//! | 2xx with another unreadable body: a page, no body, other JSON | unknown | the same |
//! | 429, except for an exhausted quota; 421; 425; 409 `resource_locked` | rejected | yes |
//! | 409 `concurrent_idempotent_requests`: the same send is in flight | unknown | yes |
//! | 409 with an unknown name or none, in response to a request with an idempotency key: the same request may be in flight | unknown | yes |
//! | 409 `invalid_idempotent_request`: an earlier request, with another body, had this key; the call doesn't state its outcome | rejected | no |
//! | 408 and 5xx, except as below | unknown | yes |
//! | 501, 505, 511 | rejected | no |
//! | 303, 1xx, and values that aren't HTTP statuses | unknown | no |
//! | all other statuses | rejected | no |
//!
//! Error names count only in a 4xx other than 408 ([`ApiError::kind`]): the content that a proxy or a failing service puts into a 5xx says nothing
//! about the request.
//!
//! A read never has an unknown outcome: instead, its result is "not sent" (without a response) or "rejected" (with a response).

use crate::{
    error::{ApiError, ApiErrorKind, DecodeCause, DecodeError, is_json},
    transport::{RequestDelivery, TransportError, TransportErrorKind},
};

use super::{
    decode::{Author, author},
    state::AttemptResult,
};

/// Classifies an attempt without a response.
pub(crate) fn transport_error(error: &TransportError, read_only: bool) -> AttemptResult {
    let transient = error.kind().is_transient();
    match error.delivery() {
        RequestDelivery::Unknown if !read_only => AttemptResult::Unknown { transient },
        _ => AttemptResult::NotSent { transient },
    }
}

/// Classifies an attempt that ended in an error response.
pub(crate) fn error_response(error: &ApiError, keyed: bool, read_only: bool) -> AttemptResult {
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
        (_, ApiErrorKind::Conflict) if error.name == "resource_locked" => rejected(true),
        // `conflict`: the draft has been sent.
        (_, ApiErrorKind::Conflict) if keyed && error.name != "conflict" => unknown(true),
        (..=199 | 303 | 600.., _) => unknown(false),
        _ => rejected(false),
    }
}

/// Classifies a 2xx with an unreadable body. `keyed`: whether the operation has an idempotency key, with which the response can be fetched again.
pub(crate) fn classify_unreadable(
    error: &DecodeError,
    body: &[u8],
    keyed: bool,
    read_only: bool,
) -> AttemptResult {
    let is_json = is_json(&error.headers);
    let (is_api, complete_later) = match &error.source {
        DecodeCause::Incomplete(lost) => (is_json, lost.kind() != TransportErrorKind::TooLarge),
        DecodeCause::Json(cause) => {
            let author = author(body);
            let cut = is_json && cause.is_eof() && body.trim_ascii_start().starts_with(b"{");
            (cut || author == Author::Api || (read_only && author == Author::Likely), true)
        }
    };
    let transient = keyed && complete_later;
    match (is_api, read_only) {
        (true, _) => AttemptResult::Accepted { transient },
        (false, false) => AttemptResult::Unknown { transient },
        (false, true) => AttemptResult::Rejected { transient },
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

    fn api_error(status: u16, name: &str) -> ApiError {
        ApiError::example(status, &[], serde_json::json!({ "name": name, "message": "" }).to_string())
    }

    #[test]
    fn a_name_decides_only_within_a_4xx_whatever_the_status() {
        // ERR-07, B-09, B-14
        use ApiErrorKind::{
            Authentication, Conflict, IdempotencyConflict, NotFound, Other, Permission, QuotaExceeded,
            RateLimited, Redirect, Server, Validation,
        };
        let names = [
            ("", None, REJECTED),
            ("something_new", None, REJECTED),
            ("validation_error", Some(Validation), REJECTED),
            ("missing_required_field", Some(Validation), REJECTED),
            ("missing_required_parameter", Some(Validation), REJECTED),
            ("invalid_parameter", Some(Validation), REJECTED),
            ("invalid_attachment", Some(Validation), REJECTED),
            ("invalid_idempotency_key", Some(Validation), REJECTED),
            ("invalid_from_address", Some(Validation), REJECTED),
            ("invalid_region", Some(Validation), REJECTED),
            ("missing_api_key", Some(Authentication), REJECTED),
            ("invalid_api_key", Some(Authentication), REJECTED),
            ("suspended_api_key", Some(Authentication), REJECTED),
            ("restricted_api_key", Some(Permission), REJECTED),
            ("invalid_permission", Some(Permission), REJECTED),
            ("invalid_access", Some(Permission), REJECTED),
            ("not_found", Some(NotFound), REJECTED),
            ("invalid_idempotent_request", Some(IdempotencyConflict), REJECTED),
            ("concurrent_idempotent_requests", Some(IdempotencyConflict), UNKNOWN_FOR_NOW),
            ("resource_locked", Some(Conflict), REJECTED_FOR_NOW),
            ("rate_limit_exceeded", Some(RateLimited), REJECTED_FOR_NOW),
            ("daily_quota_exceeded", Some(QuotaExceeded), REJECTED),
            ("monthly_quota_exceeded", Some(QuotaExceeded), REJECTED),
            ("email_above_quota", Some(QuotaExceeded), REJECTED),
            ("application_error", Some(Server), UNKNOWN_FOR_NOW),
            ("internal_server_error", Some(Server), UNKNOWN_FOR_NOW),
            ("service_unavailable", Some(Server), UNKNOWN_FOR_NOW),
        ];
        for status in (100..=199).chain(300..=999) {
            for (name, kind, named) in names {
                let error = api_error(status, name);
                let (expected, result) = match (status, kind) {
                    (501 | 505 | 511, _) => (Some(Server), REJECTED),
                    (408 | 500..=599, _) => (Some(Server), UNKNOWN_FOR_NOW),
                    (303, _) => (Some(Redirect), UNKNOWN),
                    (300..=399, _) => (Some(Redirect), REJECTED),
                    (..=199 | 600.., _) => (None, UNKNOWN),
                    (421 | 425, kind) if named == REJECTED || kind == Some(Server) => {
                        (kind, REJECTED_FOR_NOW)
                    }
                    (429, None) => (Some(RateLimited), REJECTED_FOR_NOW),
                    (409, None) => (Some(Conflict), REJECTED),
                    (418, None) => (Some(Other), REJECTED),
                    (_, kind) => (kind, named),
                };
                assert_eq!(error_response(&error, false, false), result, "{status} {name}");
                let keyed = match (status, kind) {
                    (409, None) => UNKNOWN_FOR_NOW,
                    _ => result,
                };
                assert_eq!(error_response(&error, true, false), keyed, "{status} {name}, with a key");
                assert!(
                    expected.is_none_or(|kind| kind == error.kind()),
                    "{status} {name}: {:?}",
                    error.kind()
                );
                let read = match result {
                    AttemptResult::Unknown { transient } => AttemptResult::Rejected { transient },
                    result => result,
                };
                assert_eq!(error_response(&error, false, true), read, "{status} {name}, read");
            }
        }
    }

    /// A record that none of the bodies below contains completely.
    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only decoding it matters")]
    struct Record {
        id: String,
        missing: String,
    }

    fn unreadable_json(media_type: &str, body: &str) -> (DecodeError, Bytes) {
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.headers.insert(http::header::CONTENT_TYPE, media_type.parse().unwrap());
        let cause = serde_json::from_str::<Record>(body).unwrap_err();
        let error = DecodeError::new(head, body.as_bytes(), "", DecodeCause::Json(cause));
        (error, Bytes::from(body.to_owned()))
    }

    #[test]
    fn only_a_body_that_is_visibly_the_api_s_counts_as_accepted() {
        // B-05
        const ACCEPTED: AttemptResult = AttemptResult::Accepted { transient: false };
        let json = "application/json; charset=utf-8";
        for (media_type, body, write, read) in [
            (json, r#"{"id":"e1"} x"#, ACCEPTED, ACCEPTED),
            ("text/plain", r#"{"id":"e1"} x"#, ACCEPTED, ACCEPTED),
            (json, r#"{"data":[{},{"id":"e1"}]}"#, ACCEPTED, ACCEPTED),
            (json, r#"{"contact":"c1"}"#, ACCEPTED, ACCEPTED),
            (json, r#"{"id":"#, ACCEPTED, ACCEPTED),
            ("application/problem+json", "{", ACCEPTED, ACCEPTED),
            ("text/html", "{", UNKNOWN, REJECTED),
            (json, "", UNKNOWN, REJECTED),
            (json, "null", UNKNOWN, REJECTED),
            (json, "[", UNKNOWN, REJECTED),
            (json, "[]", UNKNOWN, REJECTED),
            (json, r#""e1""#, UNKNOWN, REJECTED),
            (json, "{}", UNKNOWN, REJECTED),
            (json, r#"{"status":"ok"}"#, UNKNOWN, REJECTED),
            (json, r#"{"id":null}"#, UNKNOWN, REJECTED),
            (json, r#"{"id":7}"#, UNKNOWN, ACCEPTED),
            (json, r#"{"data":[]}"#, UNKNOWN, ACCEPTED),
            (json, r#"{"object":"email"}"#, UNKNOWN, ACCEPTED),
            (json, "<html>", UNKNOWN, REJECTED),
            ("text/html", "<!DOCTYPE html><title>Sign in</title>", UNKNOWN, REJECTED),
        ] {
            let (error, bytes) = unreadable_json(media_type, body);
            assert_eq!(classify_unreadable(&error, &bytes, false, false), write, "{media_type} {body}");
            assert_eq!(classify_unreadable(&error, &bytes, false, true), read, "{media_type} {body}, read");
            let keyed = match write {
                UNKNOWN => UNKNOWN_FOR_NOW,
                _ => AttemptResult::Accepted { transient: true },
            };
            assert_eq!(
                classify_unreadable(&error, &bytes, true, false),
                keyed,
                "{media_type} {body}, with a key"
            );
        }
        for (media_type, kind, result) in [
            (json, TransportErrorKind::Closed, AttemptResult::Accepted { transient: true }),
            (json, TransportErrorKind::TooLarge, ACCEPTED),
            ("text/html", TransportErrorKind::Closed, UNKNOWN_FOR_NOW),
            ("text/html", TransportErrorKind::TooLarge, UNKNOWN),
        ] {
            let (mut error, _) = unreadable_json(media_type, "{");
            error.source = DecodeCause::Incomplete(TransportError::new(RequestDelivery::Unknown, kind));
            assert_eq!(classify_unreadable(&error, b"", true, false), result, "{media_type} {kind:?}");
        }
    }

    #[test]
    fn every_transport_error_has_one_result() {
        use RequestDelivery::{NotSent, Unknown};
        for (delivery, kind, write, read) in [
            (NotSent, TransportErrorKind::Connect, NOT_SENT_FOR_NOW, NOT_SENT_FOR_NOW),
            (NotSent, TransportErrorKind::Timeout, NOT_SENT_FOR_NOW, NOT_SENT_FOR_NOW),
            (NotSent, TransportErrorKind::Tls, NOT_SENT, NOT_SENT),
            (NotSent, TransportErrorKind::Proxy, NOT_SENT, NOT_SENT),
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
