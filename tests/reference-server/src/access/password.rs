//! Whether a request contains the password of a sandbox that other machines can reach.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use secrecy::ExposeSecret as _;

use crate::access::query_key;
use crate::digest::is_secret;
use crate::state::State;
use crate::wire::Problem;

/// The reason for rejecting a request that affects all accounts.
pub const ALL_ACCOUNTS: &str = "This request affects all accounts of a sandbox with a password: send the password by HTTP Basic \
    authentication, or as `Authorization: Bearer sb_PASSWORD`.";

/// The response to a request that affects all accounts and lacks a required password.
pub fn reject_without_password(state: &State, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let password = state.settings.password.as_ref()?.expose_secret();
    (!is_given(password, request)).then(|| unauthorized_response(ALL_ACCOUNTS))
}

/// 401, with the challenge that makes browsers ask for the password.
pub fn unauthorized_response(message: &str) -> Response<Bytes> {
    let mut response = Problem::new(StatusCode::UNAUTHORIZED, "password_required", message).into_response();
    let challenge = HeaderValue::from_static("Basic realm=\"idempost sandbox\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// Whether the request contains the password: in `Authorization: Basic`, or as an API key without an account's name.
pub fn is_given(password: &str, request: &Request<Bytes>) -> bool {
    let equals = |given: &[u8]| is_secret(password.as_bytes(), given);
    let is_key = |key: &str| {
        let rest = key.strip_prefix("sb_").or_else(|| key.strip_prefix("re_"));
        rest.is_some_and(|rest| equals(rest.as_bytes()))
    };
    let in_header = || {
        let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, credentials) = value.split_once(' ')?;
        let credentials = credentials.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(is_key(credentials));
        }
        let decoded = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(credentials))?.ok()?;
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        Some(equals(&decoded[colon + 1..]))
    };
    in_header().unwrap_or(false) || query_key(request).is_some_and(|key| is_key(&key))
}
