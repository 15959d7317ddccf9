//! The password of a sandbox that other machines can reach ([`Settings::password`](crate::Settings::password)).
//!
//! Operations of the service check it as part of the key ([`ApiKeyIndex`](crate::state::keys::ApiKeyIndex)). The other routes need none otherwise:
//! their tables declare which of them need a credential with full access to an account, and which the password itself ([`Access`]). It is given by HTTP Basic authentication (RFC 7617, with any user name), which
//! browsers ask for, or as the API key that has nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use secrecy::ExposeSecret as _;
use subtle::ConstantTimeEq as _;

use crate::access;
use crate::route::{Access, Area, Found};
use crate::state::State;
use crate::wire::problem::Problem;

/// Rejects a request that needs the password, or a credential, and doesn't have it.
pub(super) fn refusal(state: &State, request: &Request<Bytes>, found: &Found) -> Option<Response<Bytes>> {
    let password = state.settings.password.as_ref()?.expose_secret();
    let needs_password = match (found.access(), found.table.area) {
        (Access::Health | Access::Open | Access::Link, _) | (Access::Key(_), Area::Service | Area::OAuth) => {
            return None;
        }
        (Access::Key(_), Area::Own) => false,
        (Access::Password, _) => true,
    };
    if is_given(password, request) {
        return None;
    }
    if needs_password {
        return Some(required(
            "This route concerns all accounts of a sandbox with a password: send it by HTTP Basic authentication, or as `Authorization: Bearer sb_PASSWORD`.",
        ));
    }
    let problem = access::check(state, request, found.table.anonymous).err()?;
    if ["restricted_api_key", "invalid_permission"].contains(&problem.name) {
        return Some(problem.into_response());
    }
    Some(required(
        "This sandbox has a password: send it by HTTP Basic authentication, or a valid API key as `Authorization: Bearer <API_KEY>`.",
    ))
}

/// 401, with the challenge upon which browsers ask for the password.
fn required(message: &str) -> Response<Bytes> {
    let mut response = Problem::new(StatusCode::UNAUTHORIZED, "password_required", message).into_response();
    let challenge = HeaderValue::from_static("Basic realm=\"idempost sandbox\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// Whether the request contains the password: in `Authorization: Basic`, or as an API key without an account's name.
fn is_given(password: &str, request: &Request<Bytes>) -> bool {
    let equals = |given: &[u8]| bool::from(given.ct_eq(password.as_bytes()));
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
    in_header().unwrap_or(false) || access::query_key(request).is_some_and(|key| is_key(&key))
}
