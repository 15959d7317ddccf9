//! Authentication: credentials, the OAuth authorization code flow, and sessions that refresh access tokens.
//!
//! Without the feature `oauth`, a client authenticates with an API key or a fixed access token; the rest of this module needs the feature.
//!
//! | type | purpose |
//! |---|---|
//! | `AuthorizationServer` | finds the server; registration, the authorization code flow with PKCE, the device flow, the token exchange |
//! | `AuthorizationRequest`, `RedirectListener` | the URL for the browser, and a loopback server that receives the redirect |
//! | `Session` | a login in use: refreshed on demand, and robust against lost responses and crashes |
//! | `TokenStore`, `FileStore`, `MemoryStore` | the contract of token stores, and stores in a file and in memory |
//! | [`Scope`] | the scopes of an access token |
//! | [`AuthError`] | what failed, and whether the login has ended |

mod credentials;
mod fingerprint;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "oauth")]
mod record;
#[cfg(feature = "redirect-listener")]
mod redirect_listener;
mod scope;
#[cfg(feature = "oauth")]
mod session;
#[cfg(feature = "oauth")]
mod store;
#[cfg(feature = "oauth")]
mod token_endpoint;

pub(crate) use credentials::{Credentials, Rejected, Token};
#[cfg(feature = "redirect-listener")]
pub use redirect_listener::RedirectListener;
#[cfg(all(feature = "blocking", feature = "oauth"))]
pub(crate) use session::used_sessions;
#[cfg(all(feature = "oauth", not(target_family = "wasm")))]
pub use store::{FileStore, files};
#[cfg(feature = "oauth")]
pub use {
    oauth::{
        AuthorizationCode, AuthorizationRequest, AuthorizationRequestBuilder, AuthorizationServer,
        DeviceAuthorization, DeviceAuthorizationBuilder, Discovery, NewOAuthClient, OAuthClient,
    },
    record::{RefreshPending, TokenRecord},
    session::{RefreshRequest, Revocation, Session, SessionBuilder, SessionEvent},
    store::{LockedStore, MemoryStore, TokenStore},
};

pub use scope::Scope;

pub use crate::error::{AuthError, CallbackError, EndReason, Ended, OAuthError, OAuthErrorCode, StoreError};
