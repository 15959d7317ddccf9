//! The operations on OAuth grants.

use super::record::{OAuthGrant, RevokedOAuthGrant};
use crate::{call::Call, client::List, types::OAuthGrantId};

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
