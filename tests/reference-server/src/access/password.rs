//! Whether a request contains the password of a sandbox that other machines can reach.

use bytes::Bytes;
use http::Request;
use secrecy::ExposeSecret as _;

use crate::access::{basic, bearer, query_key};
use crate::digest::is_secret;
use crate::state::State;
use crate::wire::Problem;

/// The reason for rejecting a request that affects all accounts.
pub const ALL_ACCOUNTS: &str = "This request affects all accounts of a sandbox with a password: send the password by HTTP Basic \
    authentication, or as `Authorization: Bearer sb_PASSWORD`.";

/// Rejects a request that affects all accounts and lacks a required password.
pub fn require(state: &State, request: &Request<Bytes>) -> Result<(), Problem> {
    let password = state.settings.password.as_ref();
    let is_met = password.is_none_or(|password| is_given(password.expose_secret(), request));
    if is_met { Ok(()) } else { Err(Problem::password_required(ALL_ACCOUNTS)) }
}

/// Whether the request contains the password: in `Authorization: Basic`, or as an API key without an account's name.
pub fn is_given(password: &str, request: &Request<Bytes>) -> bool {
    let equals = |given: &[u8]| is_secret(password.as_bytes(), given);
    let is_key = |key: &str| {
        let rest = key.strip_prefix("sb_").or_else(|| key.strip_prefix("re_"));
        rest.is_some_and(|rest| equals(rest.as_bytes()))
    };
    bearer(request.headers()).is_some_and(is_key)
        || basic(request.headers()).is_some_and(|(_, password)| equals(&password))
        || query_key(request).is_some_and(|key| is_key(&key))
}
