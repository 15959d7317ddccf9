//! OAuth grants as the service returns them.

use crate::{
    auth::Scope,
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
