//! Errors in the OAuth format: `{error, error_description}` (`docs/specification.md`, Errors).

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::wire::problem::json;

/// The maximum length of a description in characters: it repeats user input, and is sent in URLs.
const MAX_DESCRIPTION: usize = 300;

/// Replaces characters that a description can't have (RFC 6749, 4.1.2.1 and 5.2).
fn sanitize_char(character: char) -> char {
    match character {
        '"' => '\'',
        '\\' => '/',
        ' '..='~' => character,
        _ => '?',
    }
}

/// An error response of an OAuth endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthRejection {
    pub status: StatusCode,
    pub error: &'static str,
    pub description: String,
    /// Seconds until the request can succeed.
    pub retry_after: Option<u64>,
    /// Whether the client has to authenticate with HTTP Basic (RFC 6749, section 5.2).
    pub asks_basic: bool,
}

impl OAuthRejection {
    pub fn new(status: StatusCode, error: &'static str, description: impl Into<String>) -> Self {
        let description = description.into().chars().take(MAX_DESCRIPTION).map(sanitize_char).collect();
        Self { status, error, description, retry_after: None, asks_basic: false }
    }

    pub fn invalid_request(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", description)
    }

    pub fn invalid_scope(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_scope", description)
    }

    pub fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_grant", description)
    }

    /// The token endpoint responds with 401; the authorization endpoint, which has no client authentication, with 400.
    pub fn invalid_client(status: StatusCode) -> Self {
        Self::new(status, "invalid_client", "There is no such client, or it is disabled.")
    }

    pub fn unauthorized_client(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unauthorized_client", description)
    }

    pub fn unsupported_token_type(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unsupported_token_type", description)
    }

    pub fn unsupported_grant_type(description: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unsupported_grant_type", description)
    }

    pub fn server_error(description: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", description)
    }

    pub fn too_many(description: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", description)
    }

    pub fn into_response(self) -> Response<Bytes> {
        #[derive(Serialize)]
        struct Body<'a> {
            error: &'a str,
            error_description: &'a str,
        }
        let body = Body { error: self.error, error_description: &self.description };
        let mut response = set_no_store(json(self.status, &body));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.asks_basic {
            let challenge = HeaderValue::from_static("Basic realm=\"OAuth client\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Marks a response with tokens as not cacheable (RFC 6749, 5.1).
pub fn set_no_store(mut response: Response<Bytes>) -> Response<Bytes> {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    response
}
