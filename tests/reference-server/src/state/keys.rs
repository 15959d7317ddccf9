//! API keys: whose they are and what they may do.
//!
//! Every key that starts with `sb_` or `re_` is accepted and is a tenant of its own, so tests that run side by side
//! never meet. A key that ends in `_sending` may only send; its tenant is the one named without that ending. Keys made by `POST /api-keys`
//! start with [`MADE`]: they belong to the tenant that made them, and are refused when it has deleted them.

use std::collections::HashMap;
use std::sync::RwLock;

use http::{HeaderMap, header};
use jiff::Timestamp;

use crate::lock::{read as look, write};
use crate::model::credential::{Credential, Permission};
use crate::model::oauth::jwt;
use crate::state::oauth::OAuthStore;
use crate::wire::problem::Problem;

/// How keys start that `POST /api-keys` makes. Without a mark of their own a deleted one would be a tenant of its own again.
pub(crate) const MADE: &str = "sb_key_";
/// The tenant that the page shows when none is named: the key that the sandbox suggests.
pub(crate) const USUAL_KEY: &str = "sb_local";

/// Reads the header `Authorization: Bearer <API_KEY>`; in place of a key there may be an access token (`SPEC.md`, Authentication 2).
pub(crate) fn read<'a>(
    headers: &'a HeaderMap,
    book: &ApiKeyIndex,
    logins: &OAuthStore,
    now: Timestamp,
) -> Result<Credential<'a>, Problem> {
    let value = headers.get(header::AUTHORIZATION).ok_or_else(Problem::missing_api_key)?;
    let value = value.to_str().map_err(|_| Problem::invalid_api_key())?;
    let (scheme, key) = value.split_once(' ').unwrap_or((value, ""));
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(Problem::missing_api_key());
    }
    if jwt::looks_like_one(key) {
        let (claims, tenant) = logins.verify(key, now).ok_or_else(Problem::invalid_access_token)?;
        return Ok(Credential::of_token(&claims, tenant));
    }
    credential(key, book).ok_or_else(Problem::invalid_api_key)
}

/// What a key is; none if it is no key, or one that was deleted.
pub(crate) fn credential<'a>(key: &'a str, book: &ApiKeyIndex) -> Option<Credential<'a>> {
    if key.starts_with(MADE) {
        return book.find(key);
    }
    // Longer than any key that was ever handed out; the key is kept as the tenant's name.
    if key.len() > 256 || !(key.starts_with("sb_") || key.starts_with("re_")) {
        return None;
    }
    Some(match key.strip_suffix("_sending") {
        Some(tenant) => {
            Credential { tenant: tenant.into(), permission: Permission::SendOnly, made: None, token: false }
        }
        None => {
            Credential { tenant: key.into(), permission: Permission::FullAccess, made: None, token: false }
        }
    })
}

/// The keys that were made, of all tenants.
#[derive(Debug, Default)]
pub(crate) struct ApiKeyIndex(RwLock<HashMap<String, Credential<'static>>>);

impl ApiKeyIndex {
    pub(crate) fn add(&self, token: &str, credential: Credential<'static>) {
        write(&self.0).insert(token.to_owned(), credential);
    }

    fn find(&self, token: &str) -> Option<Credential<'static>> {
        look(&self.0).get(token).cloned()
    }

    /// Forgets one key.
    pub(crate) fn remove(&self, token: &str) {
        write(&self.0).remove(token);
    }

    pub(crate) fn clear(&self) {
        write(&self.0).clear();
    }
}
