//! The password of a sandbox that other machines can reach ([`Settings::password`](crate::Settings::password)).
//!
//! Routes with an API key check it as part of the key ([`ApiKeyIndex`](crate::state::keys::ApiKeyIndex)). The routes here need none otherwise: the
//! sandbox's own under `/_/`, and the start of a login. They accept the password by HTTP Basic authentication (RFC 7617, with any user name), which
//! browsers ask for, or any valid credential. Links in emails and files of the page stay open, and so does `/_/ready`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use secrecy::ExposeSecret as _;
use subtle::ConstantTimeEq as _;

use crate::state::State;
use crate::wire::problem::Problem;
use crate::{inbox, oauth};

/// Rejects a request that needs the password and doesn't have it.
pub(super) fn refusal(state: &State, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let password = state.settings.password.as_ref()?.expose_secret();
    let (method, path) = (request.method(), request.uri().path());
    let needs_it =
        oauth::authorize::is_at(path) || (inbox::is_control(path) && !inbox::is_public(method, path));
    if !needs_it || is_given(password, request.headers()) || inbox::has_credential(state, request) {
        return None;
    }
    let mut response = Problem::new(
        StatusCode::UNAUTHORIZED,
        "password_required",
        "This sandbox has a password: send it by HTTP Basic authentication, or a valid API key as `Authorization: Bearer <API_KEY>`.",
    )
    .into_response();
    let challenge = HeaderValue::from_static("Basic realm=\"idempost sandbox\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    Some(response)
}

/// Whether the header `Authorization: Basic` contains the password.
fn is_given(password: &str, headers: &HeaderMap) -> bool {
    let given = || {
        let (scheme, encoded) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        let decoded = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()))?.ok()?;
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        Some(decoded[colon + 1..].ct_eq(password.as_bytes()).into())
    };
    given().unwrap_or(false)
}
