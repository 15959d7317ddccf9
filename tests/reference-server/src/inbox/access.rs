//! Who may use the sandbox's own routes, and the account of a request.
//!
//! Without a password everyone on this machine may use all of them, and a key only names an account. With one, a credential needs full access to
//! its account, and what concerns all accounts needs the password itself.

use bytes::Bytes;
use http::Request;
use url::form_urlencoded;

use crate::inbox::account;
use crate::model::credential::{Credential, Scope};
use crate::state::{State, keys};
use crate::wire::problem::Problem;

/// What a route of a sandbox with a password requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing: its response contains no account's data.
    Public,
    /// Nothing: its URL is its own authorization, so it works from other origins too. A link in an email, or to a login.
    Link,
    /// A credential with full access to an account, which is the only one that the route concerns.
    Account,
    /// The password, since the route concerns all accounts.
    Password,
}

/// The API key or account ID in the query: frames, downloads and event streams can't send a header.
pub(crate) fn query_key(request: &Request<Bytes>) -> Option<String> {
    let query = request.uri().query().unwrap_or_default();
    let key = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "key");
    key.map(|(_, token)| token.into_owned())
}

/// The name of the account whose credential or ID the header contains.
pub(super) fn name(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    let account = account::bearer(request.headers()).and_then(|token| account::named(state, token));
    match account {
        Some(tenant) => Ok(tenant?.name.clone()),
        None => full(state, state.credential(request.headers())?),
    }
}

/// The name of the account whose key or ID the query contains, or whose credential or ID the header does.
pub(super) fn name_or_query(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    match query_key(request) {
        Some(token) => name_of_key(state, &token),
        None => name(state, request),
    }
}

fn name_of_key(state: &State, token: &str) -> Result<String, Problem> {
    if let Some(tenant) = account::named(state, token) {
        return Ok(tenant?.name.clone());
    }
    let credential = keys::credential(token, &state.tenants.api_key_index);
    full(state, credential.ok_or_else(Problem::invalid_api_key)?)
}

/// The account of a credential, which needs full access if the sandbox has a password.
pub(super) fn full(state: &State, credential: Credential<'_>) -> Result<String, Problem> {
    if state.settings.password.is_some() {
        credential.check(Scope::Full)?;
    }
    Ok(credential.tenant.into_owned())
}
