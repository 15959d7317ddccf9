//! OAuth grants: applications authorized for this account.
//!
//! The specification doesn't define these operations; they follow Resend.

use crate::{
    auth::Scope,
    call::Call,
    client::List,
    types::{OAuthGrantId, Timestamp},
};

record! {
    /// An OAuth grant: the authorization of an application.
    pub struct OAuthGrant {
        /// The grant's ID.
        pub id: OAuthGrantId,
        /// The application's OAuth client ID.
        pub client_id: Option<String>,
        /// The granted scopes.
        pub scopes: Vec<Scope>,
        /// The resource that the application requested, if any.
        pub resource: Option<String>,
        /// When the user granted access.
        pub created_at: Option<Timestamp>,
        /// When the grant was revoked; `None` while it is valid.
        pub revoked_at: Option<Timestamp>,
        /// Why the grant was revoked.
        pub revoked_reason: Option<String>,
        /// The application's display data.
        pub client: Option<GrantedClient>,
    }
}

items!(OAuthGrant);

record! {
    /// The display data of an application.
    pub struct GrantedClient {
        /// The application's name.
        pub name: Option<String>,
        /// The URL of the application's logo.
        pub logo_uri: Option<String>,
    }
}

record! {
    /// A revoked grant.
    pub struct RevokedOAuthGrant {
        /// The grant's ID.
        pub id: OAuthGrantId,
        /// When the grant was revoked.
        pub revoked_at: Option<Timestamp>,
        /// Why the grant was revoked, such as `revoked_from_api`.
        pub revoked_reason: Option<String>,
    }
}

operations! {
    /// The operations on OAuth grants: [`Client::oauth_grants`](crate::Client::oauth_grants).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// for grant in client.oauth_grants().list().await?.data {
    ///     if grant.revoked_at.is_none() {
    ///         client.oauth_grants().revoke(&grant.id).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct OAuthGrants;

    /// Returns the operations on OAuth grants: applications authorized for this account.
    accessor oauth_grants;

    /// Lists grants, newest first, including revoked ones: `GET /oauth/grants`. Awaited without a page size, it returns all of them.
    fn list() -> List<OAuthGrant> = GET["/oauth/grants"];

    /// Revokes a grant and all its tokens: `DELETE /oauth/grants/{oauth_grant_id}`.
    fn revoke(id: OAuthGrantId) -> Call<RevokedOAuthGrant> = DELETE["/oauth/grants/" id];
}
