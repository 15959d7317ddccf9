//! Error responses.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::{
    error_body,
    headers::{is_html, request_id, retry_after},
    summary::{CallSummary, Outcome, call_accessors},
    text::{BUDGET_EXHAUSTED, printable},
};

/// An error response with its status, headers and body.
#[derive(Clone, thiserror::Error)]
#[error("{}", self.summary_line())]
#[non_exhaustive]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// The error's name, such as `validation_error`; empty if the body has none.
    pub name: String,
    /// The error's message; empty if the body has none. For a body in another format (problem+json, text, HTML), its title or first line.
    pub message: String,
    /// All response headers.
    pub headers: HeaderMap,
    /// The body as received, at most 1 MiB.
    pub body: Bytes,
    /// Whether it answers a download, whose server isn't the API.
    pub(crate) is_download: bool,
    pub(crate) call: CallSummary,
}

call_accessors!(ApiError);

/// The meaning of an [`ApiError`].
///
/// For a 4xx, the error's name determines the kind first and the status second, since the service uses 400 and 422 interchangeably. For any other
/// status, and for 408, only the status counts: a 5xx is [`Server`](Self::Server) even if its body names a client error, since a proxy or a failing
/// service may have written it after the request was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// The request is invalid.
    Validation,
    /// The credential is missing or invalid.
    Authentication,
    /// The credential lacks a permission.
    Permission,
    /// The record does not exist.
    NotFound,
    /// Another change is in progress, or the record's state doesn't allow this one.
    Conflict,
    /// The idempotency key was used with another body, or its first request is still in flight.
    IdempotencyConflict,
    /// The rate limit was exceeded.
    RateLimited,
    /// The daily or monthly quota is exhausted, or a received email was stored beyond it.
    QuotaExceeded,
    /// The service failed.
    Server,
    /// The response is a redirect, which the client never follows.
    Redirect,
    /// Any other error.
    Other,
}

impl ApiError {
    /// Reads an error response, ignoring unreadable parts of the body.
    pub(crate) fn from_response(head: http::response::Parts, body: Bytes) -> Self {
        let (name, message) = error_body::read(&body);
        Self {
            status: head.status,
            name,
            message,
            headers: head.headers,
            body,
            is_download: false,
            call: CallSummary::of_request(Outcome::Rejected),
        }
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> ApiErrorKind {
        if !self.status.is_client_error() || self.status == StatusCode::REQUEST_TIMEOUT {
            return self.kind_by_status();
        }
        match self.name.as_str() {
            "validation_error"
            | "missing_required_field"
            | "missing_required_parameter"
            | "invalid_parameter"
            | "invalid_attachment"
            | "invalid_idempotency_key"
            | "invalid_from_address"
            | "invalid_region" => ApiErrorKind::Validation,
            "missing_api_key" | "invalid_api_key" | "suspended_api_key" => ApiErrorKind::Authentication,
            "restricted_api_key" | "invalid_permission" | "invalid_access" => ApiErrorKind::Permission,
            "not_found" => ApiErrorKind::NotFound,
            "invalid_idempotent_request" | "concurrent_idempotent_requests" => {
                ApiErrorKind::IdempotencyConflict
            }
            "resource_locked" => ApiErrorKind::Conflict,
            "rate_limit_exceeded" => ApiErrorKind::RateLimited,
            "daily_quota_exceeded" | "monthly_quota_exceeded" | "email_above_quota" => {
                ApiErrorKind::QuotaExceeded
            }
            "application_error" | "internal_server_error" | "service_unavailable" => ApiErrorKind::Server,
            _ => self.kind_by_status(),
        }
    }

    fn kind_by_status(&self) -> ApiErrorKind {
        match self.status.as_u16() {
            400 | 413 | 415 | 422 => ApiErrorKind::Validation,
            401 => ApiErrorKind::Authentication,
            403 => ApiErrorKind::Permission,
            404 | 410 => ApiErrorKind::NotFound,
            409 => ApiErrorKind::Conflict,
            429 => ApiErrorKind::RateLimited,
            300..=399 => ApiErrorKind::Redirect,
            408 | 425 | 500..=599 => ApiErrorKind::Server,
            _ => ApiErrorKind::Other,
        }
    }

    /// Returns whether the body is an HTML page, which the API never returns: a proxy or another service responded, or the base URL is wrong.
    pub fn is_html(&self) -> bool {
        is_html(&self.headers) || error_body::is_markup(&self.body)
    }

    /// Returns the delay that the service requested: `Retry-After` in seconds or as a date.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers)
    }

    /// Returns the request ID.
    pub fn request_id(&self) -> Option<&str> {
        request_id(&self.headers)
    }

    fn summary_line(&self) -> String {
        let is_of_proxy = self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        let author = if is_of_proxy { "a proxy" } else { "the service" };
        let mut line = format!("{author} returned {}", self.status.as_u16());
        for (before, text) in [(" ", &self.name), (": ", &self.message)] {
            if !text.is_empty() {
                line.push_str(before);
                line.push_str(&printable(text, 300));
            }
        }
        if self.is_html() && !self.is_download {
            line.push_str(", an HTML page instead of the API's response (a proxy, or a wrong base URL?)");
        }
        if self.kind() == ApiErrorKind::Redirect {
            let to =
                self.headers.get(http::header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            let to = url::Url::parse(to).ok().and_then(|to| to.host_str().map(str::to_owned));
            line.push_str(", a redirect to ");
            line.push_str(&printable(to.as_deref().unwrap_or("another address"), 100));
            line.push_str(", which isn't followed");
        }
        if self.call.budget_exhausted {
            line.push_str(BUDGET_EXHAUSTED);
        }
        line
    }
}

partial_debug! {
    /// `Debug` omits the body, which may contain parts of the request.
    ApiError {
        status = [status.as_u16()], name, message, request_id = [request_id()], attempts = [attempts()], body_bytes = [body.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ApiError {
        pub(crate) fn example(status: u16, headers: &[(&'static str, &str)], body: impl Into<Bytes>) -> Self {
            let (mut head, ()) = http::Response::new(()).into_parts();
            head.status = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                head.headers.append(*name, value.parse().unwrap());
            }
            Self::from_response(head, body.into())
        }
    }

    fn api_error(status: u16, body: &'static [u8]) -> ApiError {
        ApiError::example(status, &[], body)
    }

    #[test]
    fn a_body_of_any_shape_becomes_an_error_with_its_status() {
        // ERR-06, B-07
        for body in [
            b"".as_slice(),
            b"null",
            b"[]",
            b"<html>Bad gateway</html>",
            b"{\"name\":7}",
            b"{\"name\":null,\"message\":[1]}",
            b"\xff\xfe",
            b"{",
        ] {
            let error = api_error(502, body);
            assert_eq!((error.status.as_u16(), error.name.as_str()), (502, ""), "{body:?}");
            assert_eq!(error.body, body);
            assert_eq!(error.is_html(), body.starts_with(b"<"));
            assert!(error.is_html() || error.to_string() == "the service returned 502", "{error}");
        }
        let page = api_error(404, b" <!DOCTYPE html><title>Not Found</title>");
        let line = "the service returned 404: Not Found, an HTML page instead of the API's response (a proxy, or a wrong base URL?)";
        assert_eq!(page.to_string(), line);
        let flat = api_error(422, br#"{"statusCode":422,"name":"validation_error","message":"no `to`"}"#);
        assert_eq!(flat.to_string(), "the service returned 422 validation_error: no `to`");
        assert_eq!(api_error(407, b"").to_string(), "a proxy returned 407");
        let oauth = api_error(400, br#"{"error":"invalid_grant","error_description":"used"}"#);
        assert_eq!((oauth.name.as_str(), oauth.message.as_str()), ("invalid_grant", "used"));
    }

    #[test]
    fn text_from_the_service_cannot_control_the_terminal() {
        // B-08
        let error =
            api_error(422, b"{\"name\":\"x\",\"message\":\"\\u001b]52;c;aGk=\\u0007 \\u202e\\u0085\"}");
        let line = error.to_string();
        assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
        let long = format!(r#"{{"name":"{}"}}"#, "n".repeat(10_000)).leak();
        let line = api_error(422, long.as_bytes()).to_string();
        assert!(line.len() < 1_000, "{} bytes", line.len());
    }
}
