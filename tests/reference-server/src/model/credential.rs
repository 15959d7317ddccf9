//! Credentials: their tenants and permissions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::oauth::jwt::Claims;
use crate::wire::Problem;

/// The permission of a credential (`docs/specification.md`, Authentication).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Permission {
    /// `full_access`: all routes.
    FullAccess,
    /// `emails:send`: only the routes that send.
    SendOnly,
}

/// A valid credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential<'a> {
    pub tenant: Cow<'a, str>,
    pub permission: Permission,
    /// The key's record, if `POST /api-keys` created it.
    pub created_key: Option<CreatedKey>,
    /// Whether it is an access token.
    pub token: bool,
}

/// The relevant part of a created key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedKey {
    pub id: Uuid,
    /// The only domain it may send from.
    pub domain: Option<Uuid>,
}

/// The scope that a route requires (`docs/specification.md`, Authentication, Scopes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Requires `emails:send`.
    Send,
    /// Requires an API key with any permission, or an access token with `full_access`.
    AnyKey,
    /// Requires `full_access`.
    Full,
}

impl Credential<'static> {
    /// The credential of an access token.
    pub fn of_token(claims: &Claims, tenant: String) -> Self {
        let full = claims.scope.split(' ').any(|scope| scope == "full_access");
        let permission = if full { Permission::FullAccess } else { Permission::SendOnly };
        Self { tenant: tenant.into(), permission, created_key: None, token: true }
    }
}

impl Credential<'_> {
    /// Rejects a send-only credential on a route that requires full access.
    pub fn check(&self, scope: Scope) -> Result<(), Problem> {
        match (self.permission, scope) {
            (Permission::SendOnly, Scope::Full | Scope::AnyKey) if self.token => {
                Err(Problem::invalid_permission())
            }
            (Permission::SendOnly, Scope::Full) => Err(Problem::restricted_api_key()),
            _ => Ok(()),
        }
    }
}
