//! What an answer of the token endpoint says of the token or code that it was shown.
//!
//! Judged by harm: a refresh token in a success is kept whatever else is wrong, since the old one is spent; a refusal that the service
//! names before any work leaves the old one good; everything else leaves open what happened.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::Value;

use crate::{
    auth::token_endpoint::{RefreshOutcome, Tokens},
    error::printable,
    error::retry_after,
    error::{OAuthError, OAuthErrorCode},
    transport::{RequestDelivery, TransportError},
    types::{AccessToken, RefreshToken},
};

/// What an access token is trusted with whose answer doesn't say how long it lives.
const UNSAID: Duration = Duration::from_mins(1);
/// No access token lives longer; a number above is a mistake.
const LONGEST: u64 = 366 * 24 * 60 * 60;

/// Judges what came of one request to the token endpoint. `shown` is the refresh token in it; an answer with the same one replaces nothing.
pub(crate) fn judge(
    answer: Result<Response<Bytes>, TransportError>,
    shown: Option<&RefreshToken>,
) -> RefreshOutcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if error.delivery() == RequestDelivery::NotSent => return RefreshOutcome::NotSent(error),
        Err(error) => return unknown(error.to_string(), None),
    };
    let status = answer.status();
    if status.is_success() {
        return success(answer.body(), shown);
    }
    let pause = retry_after(answer.headers());
    if status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::SERVICE_UNAVAILABLE && pause.is_some())
    {
        return RefreshOutcome::Throttled { status: status.as_u16(), retry_after: pause };
    }
    match refusal(&answer) {
        Some(error) if status.is_client_error() => match error.code {
            OAuthErrorCode::InvalidGrant => RefreshOutcome::InvalidGrant(error),
            // A failure under another status: the work may have been done before it.
            OAuthErrorCode::ServerError | OAuthErrorCode::TemporarilyUnavailable => {
                unknown(format!("status {status}, {error}"), None)
            }
            _ => RefreshOutcome::Refused(error),
        },
        _ => unknown(format!("status {status}"), None),
    }
}

/// The error that an answer names (RFC 6749, 5.2).
pub(crate) fn refusal(answer: &Response<Bytes>) -> Option<OAuthError> {
    let body: Value = serde_json::from_slice(answer.body()).ok()?;
    let code = body.get("error")?.as_str()?;
    let description = body.get("error_description").and_then(Value::as_str).map(|text| printable(text, 200));
    Some(OAuthError {
        code: OAuthErrorCode::from(printable(code, 100)),
        description,
        status: Some(answer.status()),
    })
}

fn success(body: &[u8], shown: Option<&RefreshToken>) -> RefreshOutcome {
    let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(body) else {
        return match salvage(body).filter(|token| !same(token, shown)) {
            Some(refresh_token) => RefreshOutcome::Tokens(Tokens {
                refresh_token,
                access_token: None,
                expires_in: UNSAID,
                scope: None,
                oddities: vec!["the answer could not be read beyond its refresh token".to_owned()],
            }),
            None => unknown("the answer could not be read".to_owned(), None),
        };
    };
    let mut oddities = Vec::new();
    let expires_in = lifetime(fields.get("expires_in"), &mut oddities);
    let access_token = bearer(&fields, &mut oddities);
    let refresh_token = fields.get("refresh_token").and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(refresh_token) = refresh_token.map(|text| RefreshToken::from(text.to_owned())) else {
        return unknown(
            "the answer has no refresh token".to_owned(),
            access_token.map(|token| (token, expires_in)),
        );
    };
    if same(&refresh_token, shown) {
        let reason = "the answer has the same refresh token again".to_owned();
        return unknown(reason, access_token.map(|token| (token, expires_in)));
    }
    let scope = fields.get("scope").and_then(Value::as_str).map(|scope| printable(scope, 1_000));
    RefreshOutcome::Tokens(Tokens { refresh_token, access_token, expires_in, scope, oddities })
}

fn unknown(reason: String, access_token: Option<(AccessToken, Duration)>) -> RefreshOutcome {
    RefreshOutcome::Unknown { reason, access_token }
}

fn same(token: &RefreshToken, shown: Option<&RefreshToken>) -> bool {
    shown.is_some_and(|shown| shown.expose() == token.expose())
}

fn bearer(fields: &serde_json::Map<String, Value>, oddities: &mut Vec<String>) -> Option<AccessToken> {
    match fields.get("token_type").and_then(Value::as_str) {
        Some(kind) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(kind) => {
            oddities.push(format!("`token_type` is not Bearer but {}", printable(kind, 40)));
            return None;
        }
        None => oddities.push("`token_type` is missing".to_owned()),
    }
    let token = fields.get("access_token").and_then(Value::as_str);
    let token = token.and_then(|token| AccessToken::new(token).ok());
    if token.is_none() {
        oddities.push("`access_token` is missing or malformed".to_owned());
    }
    token
}

fn lifetime(said: Option<&Value>, oddities: &mut Vec<String>) -> Duration {
    let seconds = match said {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    #[expect(clippy::cast_precision_loss, reason = "a year in seconds is exact")]
    let sensible = seconds.filter(|seconds| *seconds >= 1.0 && *seconds <= LONGEST as f64);
    sensible.map_or_else(
        || {
            oddities.push("`expires_in` is missing or makes no sense".to_owned());
            UNSAID
        },
        |seconds| Duration::from_secs_f64(seconds.floor()),
    )
}

/// A whole `"refresh_token": "…"` in an answer that is otherwise not JSON, or was cut off.
fn salvage(body: &[u8]) -> Option<RefreshToken> {
    const NAME: &[u8] = b"\"refresh_token\"";
    let at = body.windows(NAME.len()).position(|window| window == NAME)?;
    let rest = body[at + NAME.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    // The first value of what follows, if it is complete; what comes after it doesn't matter.
    let text = serde_json::Deserializer::from_slice(rest).into_iter::<String>().next()?.ok()?;
    (!text.is_empty() && rest.starts_with(b"\"")).then(|| RefreshToken::from(text))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::transport::TransportErrorKind;

    fn answer(status: u16, body: &str) -> RefreshOutcome {
        let mut answer = Response::new(Bytes::copy_from_slice(body.as_bytes()));
        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
        judge(Ok(answer), Some(&RefreshToken::from("old".to_owned())))
    }

    fn kept(body: &str) -> Tokens {
        match answer(200, body) {
            RefreshOutcome::Tokens(tokens) => tokens,
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn a_whole_answer_is_taken_as_it_is() {
        let tokens = kept(
            r#"{"access_token":"at","token_type":"Bearer","expires_in":900,"refresh_token":"rt","scope":"emails:send"}"#,
        );
        assert_eq!(tokens.refresh_token.expose(), "rt");
        assert_eq!(tokens.access_token.unwrap().expose(), "at");
        assert_eq!(tokens.expires_in, Duration::from_mins(15));
        assert_eq!(tokens.scope.as_deref(), Some("emails:send"));
        assert_eq!(tokens.oddities, Vec::<String>::new());
    }

    #[test]
    fn a_new_refresh_token_is_kept_whatever_else_is_wrong() {
        for (rest, lifetime, usable) in [
            (r#""token_type":"Bearer","expires_in":900"#, 60, false),
            (r#""access_token":"at","token_type":"bearer""#, 60, true),
            (r#""access_token":"at","token_type":"Bearer","expires_in":0"#, 60, true),
            (r#""access_token":"at","token_type":"Bearer","expires_in":-1"#, 60, true),
            (r#""access_token":"at","token_type":"Bearer","expires_in":"900""#, 900, true),
            (r#""access_token":"at","token_type":"Bearer","expires_in":1e30"#, 60, true),
            (r#""access_token":"at","token_type":"mac","expires_in":900"#, 900, false),
            (r#""access_token":"a t","token_type":"Bearer","expires_in":900"#, 900, false),
            (r#""access_token":17,"expires_in":900,"more":{"deep":[1]}"#, 900, false),
        ] {
            let tokens = kept(&format!(r#"{{"refresh_token":"rt",{rest}}}"#));
            assert_eq!(tokens.refresh_token.expose(), "rt");
            let expires = if usable { tokens.expires_in } else { Duration::from_secs(lifetime) };
            assert_eq!((expires.as_secs(), tokens.access_token.is_some()), (lifetime, usable), "{rest}");
        }
    }

    #[test]
    fn a_refresh_token_is_salvaged_from_an_answer_that_breaks_off_behind_it() {
        for body in [
            r#"{"access_token":"at","refresh_token":"r\u0074""#,
            r#"{"refresh_token" : "rt", "access_token": "a"#,
            r#"<html>{"refresh_token":"rt"}"#,
        ] {
            assert_eq!(kept(body).refresh_token.expose(), "rt", "{body}");
        }
        for body in [
            "",
            "null",
            "[]",
            r#"{"refresh_token":"r"#,
            r#"{"refresh_token":null"#,
            r#"{"refresh_token":"old"#,
        ] {
            assert!(matches!(answer(200, body), RefreshOutcome::Unknown { .. }), "{body}");
        }
    }

    #[test]
    fn a_success_without_a_new_refresh_token_leaves_open_what_happened() {
        for refresh in ["", r#""refresh_token":"","#, r#""refresh_token":"old","#] {
            let body = format!(r#"{{{refresh}"access_token":"at","token_type":"Bearer","expires_in":900}}"#);
            match answer(200, &body) {
                RefreshOutcome::Unknown { access_token: Some((token, lifetime)), .. } => {
                    assert_eq!((token.expose(), lifetime.as_secs()), ("at", 900));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn every_refusal_says_whether_the_token_is_still_good() {
        // TOK-33
        for (status, name) in [
            (400, "invalid_request"),
            (400, "invalid_scope"),
            (401, "invalid_client"),
            (400, "unauthorized_client"),
            (400, "unsupported_grant_type"),
            (400, "slow_down"),
        ] {
            match answer(status, &format!(r#"{{"error":"{name}","error_description":"why"}}"#)) {
                RefreshOutcome::Refused(error) => {
                    assert_eq!(error.code.as_str(), name);
                    assert_eq!(
                        (error.status.unwrap().as_u16(), error.description.as_deref()),
                        (status, Some("why"))
                    );
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(matches!(answer(400, r#"{"error":"invalid_grant"}"#), RefreshOutcome::InvalidGrant(_)));
        for (status, body) in [
            (400, ""),
            (400, "<html>"),
            (400, r#"{"error":"server_error"}"#),
            (500, r#"{"error":"invalid_grant"}"#),
            (502, ""),
            (503, ""),
            (504, ""),
            (307, ""),
        ] {
            assert!(matches!(answer(status, body), RefreshOutcome::Unknown { .. }), "{status} {body}");
        }
        assert!(matches!(answer(429, ""), RefreshOutcome::Throttled { status: 429, retry_after: None }));
        let mut busy = Response::new(Bytes::new());
        *busy.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        busy.headers_mut().insert("retry-after", HeaderValue::from_static("7"));
        match judge(Ok(busy), None) {
            RefreshOutcome::Throttled { status: 503, retry_after: Some(pause) } => {
                assert_eq!(pause.as_secs(), 7);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_that_never_left_has_spent_nothing() {
        let lost = |reached| judge(Err(TransportError::new(reached, TransportErrorKind::Connect)), None);
        assert!(matches!(lost(RequestDelivery::NotSent), RefreshOutcome::NotSent(_)));
        assert!(matches!(lost(RequestDelivery::Unknown), RefreshOutcome::Unknown { .. }));
    }

    #[test]
    fn what_a_server_says_of_an_error_can_not_steer_a_terminal() {
        let body = serde_json::json!({ "error": "invalid_grant", "error_description": "a\u{1b}]52;c;x\u{7}\u{202e}b" });
        let RefreshOutcome::InvalidGrant(error) = answer(400, &body.to_string()) else { panic!() };
        assert!(!error.to_string().contains(['\u{1b}', '\u{7}', '\u{202e}']), "{error}");
    }
}
