//! API keys: their tenants and permissions.
//!
//! Every key that starts with `sb_` or `re_` is accepted and has its own tenant, so parallel tests are isolated. A key that ends in
//! `_sending` has sending access only; its tenant is the one named without that suffix. Keys created by `POST /api-keys` start with
//! [`CREATED_PREFIX`]: they belong to the tenant that created them and are rejected once deleted. If the service has a password, other keys
//! must contain it.

use std::collections::HashMap;
use std::sync::RwLock;

use http::{HeaderMap, header};
use secrecy::{ExposeSecret as _, SecretString};

use crate::clock::Clock;
use crate::digest::is_secret;
use crate::lock::{read as look, write};
use crate::model::credential::{Credential, Permission};
use crate::model::oauth::{CODE_PREFIX, REFRESH_TOKEN_PREFIX, jwt};
use crate::state::oauth::OAuthStore;
use crate::wire::Problem;

/// The prefix of keys that `POST /api-keys` creates. Without it a deleted key would name its own tenant.
pub const CREATED_PREFIX: &str = "sb_key_";
/// The suggested key, whose tenant the page shows by default.
pub const DEFAULT_KEY: &str = "sb_local";

/// Reads the header `Authorization: Bearer <API_KEY>`, which may also contain an access token (`docs/specification.md`, Authentication 2).
pub fn read<'a>(
    headers: &'a HeaderMap,
    index: &ApiKeyIndex,
    logins: &OAuthStore,
    clock: &Clock,
) -> Result<Credential<'a>, Problem> {
    let value = headers.get(header::AUTHORIZATION).ok_or_else(Problem::missing_api_key)?;
    let value = value.to_str().map_err(|_| Problem::invalid_api_key())?;
    let (scheme, key) = value.split_once(' ').unwrap_or((value, ""));
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(Problem::missing_api_key());
    }
    if jwt::looks_like_jwt(key) {
        let (claims, tenant) = logins.verify(key, clock).ok_or_else(Problem::invalid_access_token)?;
        return Ok(Credential::of_token(&claims, tenant));
    }
    if is_of_a_login(key) {
        return Err(Problem::invalid_access_token());
    }
    find_credential(key, index).ok_or_else(Problem::invalid_api_key)
}

/// Resolves an API key; `None` if it is invalid or deleted.
pub fn find_credential<'a>(key: &'a str, index: &ApiKeyIndex) -> Option<Credential<'a>> {
    if key.starts_with(CREATED_PREFIX) {
        return index.find(key);
    }
    // No issued key is longer than 256 bytes, and the key is stored as the tenant's name.
    let name = key.strip_prefix("sb_").or_else(|| key.strip_prefix("re_"))?;
    if key.len() > 256 || is_of_a_login(key) || !index.accepts(name) {
        return None;
    }
    Some(match key.strip_suffix("_sending") {
        Some(tenant) => Credential {
            tenant: tenant.into(),
            permission: Permission::SendOnly,
            created_key: None,
            token: false,
        },
        None => Credential {
            tenant: key.into(),
            permission: Permission::FullAccess,
            created_key: None,
            token: false,
        },
    })
}

/// Whether a client sent a refresh token or an authorization code as its credential.
fn is_of_a_login(key: &str) -> bool {
    [REFRESH_TOKEN_PREFIX, CODE_PREFIX].iter().any(|prefix| key.starts_with(prefix))
}

/// The created keys of all tenants, and the password that all other keys must contain.
#[derive(Debug)]
pub struct ApiKeyIndex {
    created: RwLock<HashMap<String, Credential<'static>>>,
    password: Option<SecretString>,
}

impl ApiKeyIndex {
    pub fn new(password: Option<SecretString>) -> Self {
        Self { created: RwLock::default(), password }
    }

    /// Whether a key with this name, its part after the prefix, is valid: with a password, it is the password, optionally followed by `_` and
    /// more.
    fn accepts(&self, name: &str) -> bool {
        let Some(password) = self.password.as_ref().map(SecretString::expose_secret) else { return true };
        name.as_bytes().split_at_checked(password.len()).is_some_and(|(start, rest)| {
            is_secret(password.as_bytes(), start) && matches!(rest.first(), None | Some(b'_'))
        })
    }

    pub fn add(&self, token: &str, credential: Credential<'static>) {
        write(&self.created).insert(token.to_owned(), credential);
    }

    fn find(&self, token: &str) -> Option<Credential<'static>> {
        look(&self.created).get(token).cloned()
    }

    /// Removes one key.
    pub fn remove(&self, token: &str) {
        write(&self.created).remove(token);
    }

    pub fn clear(&self) {
        write(&self.created).clear();
    }
}
