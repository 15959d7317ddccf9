//! API keys: whose they are and what they may do.
//!
//! Every key that starts with `sb_` or `re_` is accepted and is a tenant of its own, so tests that run side by side
//! never meet. A key that ends in `_sending` may only send; its tenant is the one named without that ending. Keys made by `POST /api-keys`
//! start with [`MADE`]: they belong to the tenant that made them, and are refused when it has deleted them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::RwLock;

use http::{HeaderMap, header};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::lock::{read as look, write};
use crate::oauth::book::Book;
use crate::oauth::jwt::{self, Claims};
use crate::problem::Problem;
use crate::store::size::no_heap;

/// How keys start that `POST /api-keys` makes. Without a mark of their own a deleted one would be a tenant of its own again.
pub(crate) const MADE: &str = "sb_key_";

/// What a credential may do (`SPEC.md`, Authentication).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Permission {
    /// `full_access`: every route.
    FullAccess,
    /// `emails:send`: the routes that send, and no other.
    SendOnly,
}

no_heap!(Permission);

/// A credential that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credential<'a> {
    pub(crate) tenant: Cow<'a, str>,
    pub(crate) permission: Permission,
    /// The key's record, if `POST /api-keys` made it.
    pub(crate) made: Option<Made>,
    /// Whether it is an access token.
    pub(crate) token: bool,
}

/// What the service knows of a key that it has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: Uuid,
    /// The only domain that it may send from.
    pub(crate) domain: Option<Uuid>,
}

/// What a route asks of a credential (`SPEC.md`, Authentication, Scopes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// `emails:send` is enough.
    Send,
    /// Needs `full_access`.
    Full,
}

/// Reads the header `Authorization: Bearer <API_KEY>`; in place of a key there may be an access token (`SPEC.md`, Authentication 2).
pub(crate) fn read<'a>(
    headers: &'a HeaderMap,
    book: &KeyBook,
    logins: &Book,
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

impl Credential<'static> {
    fn of_token(claims: &Claims, tenant: String) -> Self {
        let full = claims.scope.split(' ').any(|scope| scope == "full_access");
        let permission = if full { Permission::FullAccess } else { Permission::SendOnly };
        Self { tenant: tenant.into(), permission, made: None, token: true }
    }
}

pub(crate) fn credential<'a>(key: &'a str, book: &KeyBook) -> Option<Credential<'a>> {
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
pub(crate) struct KeyBook(RwLock<HashMap<String, Credential<'static>>>);

impl KeyBook {
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

    /// Forgets the keys of a tenant.
    pub(crate) fn forget(&self, tenant: &str) {
        write(&self.0).retain(|_, credential| credential.tenant != tenant);
    }

    pub(crate) fn clear(&self) {
        write(&self.0).clear();
    }
}

impl Credential<'_> {
    /// Refuses a send-only credential on a route that needs more.
    pub(crate) fn check(&self, scope: Scope) -> Result<(), Problem> {
        match (self.permission, scope) {
            (Permission::SendOnly, Scope::Full) if self.token => Err(Problem::invalid_permission()),
            (Permission::SendOnly, Scope::Full) => Err(Problem::restricted_api_key()),
            _ => Ok(()),
        }
    }
}
