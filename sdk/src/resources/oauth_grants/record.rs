//! OAuth grants as the service returns them.

use crate::{
    auth::Scope,
    types::{OAuthGrantId, Timestamp},
};

record! {
    /// An authorization of an application.
    pub struct OAuthGrant {
        /// The grant's ID.
        pub id: OAuthGrantId,
        /// The application's OAuth client ID.
        pub client_id: Option<String>,
        /// The granted scopes.
        pub scopes: Vec<Scope>,
        /// The resource that the application requested, if any.
        pub resource: Option<String>,
        /// When the grant was given.
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
        /// The address of its logo.
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
        /// Why: `revoked_from_api`.
        pub revoked_reason: Option<String>,
    }
}
