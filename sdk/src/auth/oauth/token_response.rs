//! The classification of token responses: was the refresh token or code in the request used up?
//!
//! The possible harm decides: a complete refresh token in a successful response is kept even if anything else in it is invalid, since the old one has
//! been used up. An OAuth error, a 429, or another server's client error (except 401) leaves the old one valid. Everything else leaves the outcome
//! unknown.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use url::Url;

use super::http::HttpResponse;
use crate::{
    auth::token_endpoint::{RefreshOutcome, Tokens},
    error::{AuthError, OAuthError, OAuthErrorCode, chain, printable, retry_after},
    transport::{RequestDelivery, TransportError},
    types::{AccessToken, RefreshToken},
};

/// The lifetime of an access token if the response doesn't state one.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);
/// The longest plausible lifetime, in seconds.
const MAX_LIFETIME: u64 = 366 * 24 * 60 * 60;

/// Classifies the response to one request to the token endpoint at `url`. `sent` is the refresh token in the request; a response that merely repeats
/// it hasn't replaced it.
pub(crate) fn classify(
    response: Result<HttpResponse, TransportError>,
    url: &Url,
    sent: Option<&RefreshToken>,
) -> RefreshOutcome {
    let response = match response {
        Ok(response) => response,
        Err(error) if error.delivery() == RequestDelivery::NotSent => return RefreshOutcome::NotSent(error),
        Err(error) => return unknown_outcome(chain(&error)),
    };
    let status = response.status;
    if status.is_success() {
        return parse_success(&response, sent);
    }
    let pause = retry_after(&response.headers);
    let throttled = RefreshOutcome::Throttled { status: status.as_u16(), retry_after: pause };
    let error = oauth_error(&response);
    match status {
        StatusCode::TOO_MANY_REQUESTS => return throttled,
        StatusCode::SERVICE_UNAVAILABLE if error.is_some() => return throttled,
        // A proxy that lost the response to an executed request responds like this too, even with a `Retry-After`.
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::UNAUTHORIZED if error.is_none() => {
            return unknown_outcome(format!("status {status} without an OAuth error, as from a proxy"));
        }
        _ if !status.is_client_error() || status == StatusCode::REQUEST_TIMEOUT => {
            return unknown_outcome(format!("status {status}"));
        }
        _ => {}
    }
    // The route or method doesn't exist: regardless of the body, the request didn't reach a token endpoint.
    let no_route =
        matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE);
    match (error, &response.body.missing) {
        (Some(error), _) if !no_route || error.code == OAuthErrorCode::InvalidGrant => {
            rejected(error, status)
        }
        // The missing part may contain the error code.
        (None, Some(missing)) if !no_route => unknown_outcome(format!("status {status}, {}", chain(missing))),
        _ => RefreshOutcome::NotOAuthEndpoint { status: status.as_u16(), path: url.path().to_owned() },
    }
}

/// Returns the outcome of an OAuth error with a status that doesn't contradict it.
fn rejected(error: OAuthError, status: StatusCode) -> RefreshOutcome {
    match error.code {
        OAuthErrorCode::InvalidGrant => RefreshOutcome::InvalidGrant(error),
        // A server error reported with another status: the server may have acted before it failed.
        OAuthErrorCode::ServerError | OAuthErrorCode::TemporarilyUnavailable => {
            unknown_outcome(format!("status {status}, {error}"))
        }
        _ => RefreshOutcome::Rejected(error),
    }
}

/// Returns the OAuth error in a response (RFC 6749, 5.2).
pub(crate) fn oauth_error(response: &HttpResponse) -> Option<OAuthError> {
    let body: Value = serde_json::from_slice(&response.body.bytes).ok()?;
    let code = body.get("error")?.as_str()?;
    let description = body.get("error_description").and_then(Value::as_str).map(|text| printable(text, 200));
    Some(OAuthError {
        code: OAuthErrorCode::from(printable(code, 100)),
        description,
        status: Some(response.status),
    })
}

/// Returns the error for a rejection by an endpoint other than the token endpoint.
pub(super) fn rejection(response: &HttpResponse, url: &Url) -> AuthError {
    let error = oauth_error(response).filter(|_| response.status != StatusCode::TOO_MANY_REQUESTS);
    error.map_or_else(|| response.unexpected(url), AuthError::Rejected)
}

fn parse_success(response: &HttpResponse, sent: Option<&RefreshToken>) -> RefreshOutcome {
    let HttpResponse { body, served_at, .. } = response;
    let served_at = *served_at;
    let incomplete = body.missing.as_ref().map(|error| format!(": {}", chain(error))).unwrap_or_default();
    let body = &body.bytes;
    let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(body) else {
        return match salvage_refresh_token(body).filter(|token| !is_same_token(token, sent)) {
            Some(refresh_token) => RefreshOutcome::Tokens(Tokens {
                refresh_token: Some(refresh_token),
                access_token: None,
                expires_in: DEFAULT_LIFETIME,
                served_at,
                scope: None,
                deviations: vec![format!("only its refresh token could be read{incomplete}")],
            }),
            None => unknown_outcome(format!("the response couldn't be read{incomplete}")),
        };
    };
    let mut deviations = Vec::new();
    let expires_in = read_lifetime(fields.get("expires_in"), &mut deviations);
    let access_token = read_bearer(&fields, &mut deviations);
    let refresh_token = fields.get("refresh_token").and_then(Value::as_str).filter(|text| !text.is_empty());
    let refresh_token = refresh_token.map(|text| RefreshToken::from(text.to_owned()));
    let is_new = refresh_token.as_ref().is_some_and(|token| !is_same_token(token, sent));
    // Some servers reject a code with a 200. A refresh may have used up its token all the same.
    let is_error = sent.is_none() && refresh_token.is_none() && access_token.is_none();
    if let Some(error) = oauth_error(response).filter(|_| is_error) {
        return rejected(error, response.status);
    }
    let scope = fields.get("scope").and_then(Value::as_str).map(|scope| printable(scope, 1_000));
    let is_kept = sent.is_some() && !is_new;
    if is_kept && access_token.is_none() {
        return unknown_outcome(format!("the response has no new token: {}", deviations.join(", ")));
    }
    let tokens = Tokens { refresh_token, access_token, expires_in, served_at, scope, deviations };
    if is_kept { RefreshOutcome::Kept(tokens) } else { RefreshOutcome::Tokens(tokens) }
}

fn unknown_outcome(reason: String) -> RefreshOutcome {
    RefreshOutcome::Unknown { reason }
}

fn is_same_token(token: &RefreshToken, sent: Option<&RefreshToken>) -> bool {
    sent.is_some_and(|sent| sent.expose() == token.expose())
}

fn read_bearer(fields: &serde_json::Map<String, Value>, deviations: &mut Vec<String>) -> Option<AccessToken> {
    match fields.get("token_type").and_then(Value::as_str) {
        Some(kind) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(kind) => {
            deviations.push(format!("`token_type` is {} instead of Bearer", printable(kind, 40)));
            return None;
        }
        None => deviations.push("`token_type` is missing".to_owned()),
    }
    let token = fields.get("access_token").and_then(Value::as_str);
    let token = token.and_then(|token| AccessToken::new(token).ok());
    if token.is_none() {
        deviations.push("`access_token` is missing or malformed".to_owned());
    }
    token
}

fn read_lifetime(said: Option<&Value>, deviations: &mut Vec<String>) -> Duration {
    let seconds = match said {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    #[expect(clippy::cast_precision_loss, reason = "a year in seconds is exact")]
    let sensible = seconds.filter(|seconds| *seconds >= 1.0 && *seconds <= MAX_LIFETIME as f64);
    sensible.map_or_else(
        || {
            deviations.push("`expires_in` is missing or invalid".to_owned());
            DEFAULT_LIFETIME
        },
        |seconds| Duration::from_secs_f64(seconds.floor()),
    )
}

/// Returns a complete `"refresh_token": "…"` from a response that is incomplete or otherwise invalid JSON.
fn salvage_refresh_token(body: &[u8]) -> Option<RefreshToken> {
    const NAME: &[u8] = b"\"refresh_token\"";
    let at = body.windows(NAME.len()).position(|window| window == NAME)?;
    let rest = body[at + NAME.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    // The next JSON value, if it is complete.
    let text = serde_json::Deserializer::from_slice(rest).into_iter::<String>().next()?.ok()?;
    (!text.is_empty()).then(|| RefreshToken::from(text))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;
    use crate::transport::{Collected, TransportErrorKind};

    fn received(status: u16, body: &str, missing: Option<TransportErrorKind>) -> HttpResponse {
        let missing = missing.map(|kind| TransportError::new(RequestDelivery::Unknown, kind));
        HttpResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Collected { bytes: Bytes::copy_from_slice(body.as_bytes()), missing },
            served_at: None,
        }
    }

    fn outcome_of(response: Result<HttpResponse, TransportError>) -> RefreshOutcome {
        let url = Url::parse("https://api.example.com/oauth/token").unwrap();
        classify(response, &url, Some(&RefreshToken::from("old".to_owned())))
    }

    fn outcome_of_response(status: u16, body: &str) -> RefreshOutcome {
        outcome_of(Ok(received(status, body, None)))
    }

    fn kept(body: &str) -> Tokens {
        match outcome_of_response(200, body) {
            RefreshOutcome::Tokens(tokens) => tokens,
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn a_refresh_token_is_salvaged_from_a_response_truncated_after_it() {
        // D-12
        for body in [
            r#"{"access_token":"at","refresh_token":"r\u0074""#,
            r#"{"refresh_token" : "rt", "access_token": "a"#,
            r#"<html>{"refresh_token":"rt"}"#,
        ] {
            assert_eq!(kept(body).refresh_token.as_ref().unwrap().expose(), "rt", "{body}");
        }
        for body in [
            "",
            "null",
            "[]",
            r#"{"refresh_token":"r"#,
            r#"{"refresh_token":null"#,
            r#"{"refresh_token":"old"#,
        ] {
            assert!(matches!(outcome_of_response(200, body), RefreshOutcome::Unknown { .. }), "{body}");
        }
    }

    #[test]
    fn an_error_response_that_ends_early_leaves_the_outcome_unknown() {
        for kind in [TransportErrorKind::Closed, TransportErrorKind::Timeout, TransportErrorKind::TooLarge] {
            let cut = |status, body| outcome_of(Ok(received(status, body, Some(kind))));
            assert!(matches!(cut(400, r#"{"error":"invalid_gr"#), RefreshOutcome::Unknown { .. }));
            assert!(matches!(cut(401, ""), RefreshOutcome::Unknown { .. }));
            // The status is enough.
            assert!(matches!(cut(404, ""), RefreshOutcome::NotOAuthEndpoint { .. }));
            assert!(matches!(cut(429, ""), RefreshOutcome::Throttled { .. }));
            // So is a body that was complete before the connection broke.
            assert!(matches!(cut(400, r#"{"error":"invalid_grant"}"#), RefreshOutcome::InvalidGrant(_)));
            assert!(matches!(cut(404, r#"{"error":"invalid_grant"}"#), RefreshOutcome::InvalidGrant(_)));
        }
    }

    #[test]
    fn an_error_description_cannot_control_the_terminal() {
        let body = serde_json::json!({ "error": "invalid_grant", "error_description": "a\u{1b}]52;c;x\u{7}\u{202e}b" });
        let RefreshOutcome::InvalidGrant(error) = outcome_of_response(400, &body.to_string()) else {
            panic!()
        };
        assert!(!error.to_string().contains(['\u{1b}', '\u{7}', '\u{202e}']), "{error}");
    }
}
