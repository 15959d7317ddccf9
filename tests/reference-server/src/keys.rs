//! API keys: whose they are and what they may do.
//!
//! Every key that starts with `sb_` or `re_` is accepted and is a tenant of its own, so tests that run side by side
//! never meet. A key that ends in `_sending` may only send; its tenant is the one named without that ending.

use http::{HeaderMap, header};

use crate::problem::Problem;

/// What a credential may do (`SPEC.md`, Authentication).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// `full_access`: every route.
    FullAccess,
    /// `emails:send`: the routes that send, and no other.
    SendOnly,
}

/// A credential that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credential<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) permission: Permission,
}

/// What a route asks of a credential (`SPEC.md`, Authentication, Scopes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// `emails:send` is enough.
    Send,
    /// Needs `full_access`.
    Full,
}

/// Reads the header `Authorization: Bearer <API_KEY>`.
pub(crate) fn read(headers: &HeaderMap) -> Result<Credential<'_>, Problem> {
    let value = headers.get(header::AUTHORIZATION).ok_or_else(Problem::missing_api_key)?;
    let value = value.to_str().map_err(|_| Problem::invalid_api_key())?;
    let (scheme, key) = value.split_once(' ').unwrap_or((value, ""));
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(Problem::missing_api_key());
    }
    credential(key).ok_or_else(Problem::invalid_api_key)
}

pub(crate) fn credential(key: &str) -> Option<Credential<'_>> {
    // Longer than any key that was ever handed out; the key is kept as the tenant's name.
    if key.len() > 256 || !(key.starts_with("sb_") || key.starts_with("re_")) {
        return None;
    }
    Some(match key.strip_suffix("_sending") {
        Some(tenant) => Credential { tenant, permission: Permission::SendOnly },
        None => Credential { tenant: key, permission: Permission::FullAccess },
    })
}

impl Credential<'_> {
    /// Refuses a send-only key on a route that needs more.
    pub(crate) fn check(self, scope: Scope) -> Result<(), Problem> {
        match (self.permission, scope) {
            (Permission::SendOnly, Scope::Full) => Err(Problem::restricted_api_key()),
            _ => Ok(()),
        }
    }
}
