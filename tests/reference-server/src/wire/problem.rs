//! Error responses: `{statusCode, name, message}`, and the error names of the service.
//!
//! The specification doesn't define errors outside OAuth; these are the ones that clients of this format know. `statusCode` is the only key
//! of the whole API that isn't snake_case.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;

/// The usual number of headers of a response.
pub const HEADERS: usize = 8;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub status: StatusCode,
    pub name: &'static str,
    pub message: String,
    /// Headers of the response, such as `retry-after`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub fn new(status: StatusCode, name: &'static str, message: impl Into<String>) -> Self {
        Self { status, name, message: message.into(), headers: Vec::new() }
    }

    /// Adds headers of the response.
    #[must_use]
    pub fn with_headers(mut self, headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        self.headers.extend(headers);
        self
    }

    /// 422: the request violates a rule.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "validation_error", message)
    }

    /// 403: the request is valid, but the state of the resource or the limits of the sandbox forbid it.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "validation_error", message)
    }

    /// 400: the request can't be parsed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "validation_error", message)
    }

    pub fn invalid_parameter(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_parameter", message)
    }

    pub fn missing_field(field: &str) -> Self {
        let message = format!("Missing `{field}` field.");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "missing_required_field", message)
    }

    /// 401: the sandbox has a password. The challenge makes browsers ask for it.
    pub fn password_required(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "password_required", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "validation_error",
            format!("The request body is larger than {limit} bytes."),
        )
    }

    /// 408: the client stopped sending the body.
    pub fn body_timeout(limit: Duration) -> Self {
        let message = format!("Nothing of the request body arrived for {} s.", limit.as_secs_f64());
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message)
    }

    /// 503: the connection limit is reached.
    pub fn too_many_connections(limit: usize) -> Self {
        let message =
            format!("There are already {limit} connections, which is the maximum. Try again later.");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", message)
            .with_headers([(header::RETRY_AFTER, HeaderValue::from(1))])
    }

    /// 500: an internal error.
    pub fn application(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "application_error", message)
    }

    pub fn into_response(self) -> Response<Bytes> {
        let challenge = match self.name {
            "invalid_access_token" => Some("Bearer error=\"invalid_token\""),
            "invalid_permission" => Some("Bearer error=\"insufficient_scope\", scope=\"full_access\""),
            "password_required" => Some("Basic realm=\"idempost sandbox\", charset=\"UTF-8\""),
            _ => None,
        };
        let mut response = json(
            self.status,
            &Body { status_code: self.status.as_u16(), name: self.name, message: &self.message },
        );
        response.headers_mut().extend(self.headers);
        if let Some(challenge) = challenge {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

/// Errors with a fixed message.
macro_rules! problems {
    ($($(#[$doc:meta])* $problem:ident $status:ident $name:literal $message:literal;)*) => {
        impl Problem {
            $($(#[$doc])* pub fn $problem() -> Self {
                Self::new(StatusCode::$status, $name, $message)
            })*
        }
    };
}

problems! {
    missing_api_key UNAUTHORIZED "missing_api_key" "Missing API key. Send it in the header `Authorization: Bearer <API_KEY>`.";
    invalid_api_key FORBIDDEN "invalid_api_key" "The API key is invalid.";
    restricted_api_key UNAUTHORIZED "restricted_api_key" "This API key may only send emails; this route needs full access.";
    /// 401: the specification doesn't define invalid access tokens; the name is this service's, the header is from RFC 6750.
    invalid_access_token UNAUTHORIZED "invalid_access_token" "The access token is invalid, expired or revoked.";
    invalid_permission FORBIDDEN "invalid_permission" "This access token may only send emails; this route needs the scope `full_access`.";
    /// Requests and responses in flight use up their memory.
    memory_in_use SERVICE_UNAVAILABLE "service_unavailable" "The requests and responses in flight use all memory available to them (3/16 of --max-memory). Try again later.";
    /// The sandbox stops while a request waits.
    shutting_down SERVICE_UNAVAILABLE "service_unavailable" "The sandbox is stopping.";
    rate_limited TOO_MANY_REQUESTS "rate_limit_exceeded" "Too many requests. Retry after the delay in the header `retry-after`.";
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "statusCode")]
    status_code: u16,
    name: &'a str,
    message: &'a str,
}

/// A response with these headers.
pub fn response_with<const N: usize>(
    body: impl Into<Bytes>,
    headers: [(HeaderName, &'static str); N],
) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    response.headers_mut().extend(headers.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// A redirect to a location that is a valid header value.
pub fn redirect(status: StatusCode, location: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response.headers_mut().extend(HeaderValue::try_from(location).map(|value| (header::LOCATION, value)));
    response
}

/// A response with a JSON body.
pub fn json(status: StatusCode, body: &impl Serialize) -> Response<Bytes> {
    json_bytes(status, serde_json::to_vec(body))
}

fn json_bytes(status: StatusCode, body: serde_json::Result<Vec<u8>>) -> Response<Bytes> {
    let body = body.unwrap_or_else(|error| {
        // Only a map with non-string keys could fail, and no response has one.
        format!("{{\"statusCode\":500,\"name\":\"application_error\",\"message\":\"{error}\"}}").into_bytes()
    });
    let mut headers = HeaderMap::with_capacity(HEADERS);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
