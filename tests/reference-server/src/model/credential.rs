//! What a credential may do, and of whom.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::oauth::jwt::Claims;
use crate::store::size::no_heap;
use crate::wire::problem::Problem;

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

impl Credential<'static> {
    /// That of an access token.
    pub(crate) fn of_token(claims: &Claims, tenant: String) -> Self {
        let full = claims.scope.split(' ').any(|scope| scope == "full_access");
        let permission = if full { Permission::FullAccess } else { Permission::SendOnly };
        Self { tenant: tenant.into(), permission, made: None, token: true }
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
