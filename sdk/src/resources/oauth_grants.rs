//! OAuth grants: whom access was given to.
//!
//! The specification is silent on these operations; this is the shape that the public service has.

use http::Method;
use serde::{Deserialize, Serialize};

use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    types::{OAuthGrantId, Timestamp},
};

/// That somebody let a program in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthGrant {
    /// The grant's id.
    pub id: OAuthGrantId,
    /// What the program is known as.
    #[serde(default)]
    pub client_id: Option<String>,
    /// What it may do.
    #[serde(default)]
    pub scopes: Vec<crate::auth::Scope>,
    /// What the program said that it wants to use, if it said so.
    #[serde(default)]
    pub resource: Option<String>,
    /// When access was given.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was taken back; none while it is good.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// Why it was taken back.
    #[serde(default)]
    pub revoked_reason: Option<String>,
    /// The program, as people see it.
    #[serde(default)]
    pub client: Option<GrantedClient>,
}

/// A program as people see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GrantedClient {
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// A picture of it.
    #[serde(default)]
    pub logo_uri: Option<String>,
}

/// A grant that was taken back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RevokedOAuthGrant {
    /// The grant's id.
    pub id: OAuthGrantId,
    /// When it was taken back.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
    /// Why: `revoked_from_api`.
    #[serde(default)]
    pub revoked_reason: Option<String>,
}

impl Item for OAuthGrant {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The operations on OAuth grants: [`Client::oauth_grants`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// for grant in client.oauth_grants().list().await?.data {
///     if grant.revoked_at.is_none() {
///         client.oauth_grants().revoke(&grant.id).await?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OAuthGrants<'a> {
    client: &'a Client,
}

impl Client {
    /// Whom access was given to.
    pub fn oauth_grants(&self) -> OAuthGrants<'_> {
        OAuthGrants { client: self }
    }
}

impl OAuthGrants<'_> {
    /// The grants, newest first, revoked ones too: `GET /oauth/grants`, all of them unless a limit is given.
    pub fn list(&self) -> List<OAuthGrant> {
        List::new(self.client, Operation::get("oauth_grants.list", "/oauth/grants"))
    }

    /// Takes access back; all tokens of the grant are refused from then on: `DELETE /oauth/grants/{oauth_grant_id}`.
    pub fn revoke(&self, id: impl Into<OAuthGrantId>) -> Call<RevokedOAuthGrant> {
        let id = id.into();
        let operation =
            Operation::on("oauth_grants.revoke", Method::DELETE, "/oauth/grants/", id.as_str(), "");
        Call::new(&self.client.core, operation)
    }
}
