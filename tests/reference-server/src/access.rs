//! Access to the sandbox's own routes, and the account of a request.
//!
//! Without a password, every program on this machine may use all of them, and a key only names an account. With a password, a credential needs
//! full access to its account, and requests that affect all accounts need the password.

pub mod account;
pub mod password;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Request, header};
use url::form_urlencoded;

use crate::model::credential::{Credential, Scope};
use crate::state::{State, keys};
use crate::wire::Problem;

/// The API key or account ID in the query: frames, downloads and event streams can't send a header.
pub fn query_key(request: &Request<Bytes>) -> Option<String> {
    let query = request.uri().query().unwrap_or_default();
    let key = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "key");
    key.map(|(_, token)| token.into_owned())
}

/// The name of the account whose credential or ID the header contains.
pub fn name(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    let account = bearer(request.headers()).and_then(|token| account::find_by_id(state, token));
    match account {
        Some(tenant) => Ok(tenant?.name.clone()),
        None => require_full_access(state, state.credential(request.headers())?),
    }
}

/// The name of the account selected by a key or ID in the query, or by a credential or ID in the header.
pub fn name_or_query(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    match query_key(request) {
        Some(token) => name_of_key(state, &token),
        None => name(state, request),
    }
}

fn name_of_key(state: &State, token: &str) -> Result<String, Problem> {
    if let Some(tenant) = account::find_by_id(state, token) {
        return Ok(tenant?.name.clone());
    }
    let credential = keys::find_credential(token, &state.tenants.api_key_index);
    require_full_access(state, credential.ok_or_else(Problem::invalid_api_key)?)
}

/// The account of a credential. If the sandbox has a password, the credential needs full access.
pub fn require_full_access(state: &State, credential: Credential<'_>) -> Result<String, Problem> {
    if state.settings.password.is_some() {
        credential.check(Scope::Full)?;
    }
    Ok(credential.tenant.into_owned())
}

/// The account named by a request, if any: as in [`name_or_query`], or by Basic authentication with a key as user or password, which clients of other
/// mail tools support.
pub fn name_or_basic(state: &State, request: &Request<Bytes>) -> Option<Result<String, Problem>> {
    if query_key(request).is_some() || bearer(request.headers()).is_some() {
        return Some(name_or_query(state, request));
    }
    let (user, password) = basic(request.headers())?;
    let find = |key: &[u8]| {
        let key = std::str::from_utf8(key).ok()?;
        let credential = keys::find_credential(key, &state.tenants.api_key_index)?;
        Some(require_full_access(state, credential))
    };
    find(&user).or_else(|| find(&password))
}

/// Like [`name_or_basic`]; a request without a credential, or with only the password, selects the default account.
pub fn name_or_default(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    name_or_basic(state, request).unwrap_or_else(|| Ok(state.default_account()))
}

/// Checks that a request names an account that it may use. `anonymous` is the setting of its [table](crate::route::Table).
pub fn check(state: &State, request: &Request<Bytes>, anonymous: bool) -> Result<(), Problem> {
    if anonymous && let Some(named) = name_or_basic(state, request) {
        return named.map(drop);
    }
    let named = name_or_query(state, request);
    named.or_else(|problem| name(state, request).map_err(|_| problem)).map(drop)
}

/// What follows a scheme in the header `Authorization`.
pub fn authorization<'a>(headers: &'a HeaderMap, scheme: &str) -> Option<&'a str> {
    let (given, credentials) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then(|| credentials.trim())
}

/// The token of the header `Authorization`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    authorization(headers, "bearer")
}

/// The user and password of Basic authentication.
fn basic(headers: &HeaderMap) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut user = STANDARD.decode(authorization(headers, "basic")?).ok()?;
    let colon = user.iter().position(|byte| *byte == b':')?;
    let password = user.split_off(colon + 1);
    user.pop();
    Some((user, password))
}
