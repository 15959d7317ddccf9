//! Authentication: the credential that every call carries, and how a login gets and keeps one.
//!
//! Without the feature `oauth` a client authenticates with an API key or an access token that never changes; the rest of this module needs it.
//!
//! | file | holds |
//! |---|---|
//! | `credentials`, `scope` | the credential of a client; what an access token may do |
//! | `oauth` | the authorization code flow with PKCE, the token endpoint, registration and revocation |
//! | `redirect_listener` | a loopback server that receives the browser's redirect |
//! | `record`, `store` | a login as it is stored, and the contract of token stores |
//! | `token_endpoint` | the outcomes of a refresh, as far as a client can know |
//! | `session` | a login in use: refreshed when a call needs it, and never lost by a fault of the client |

mod credentials;
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
#[cfg(feature = "oauth")]
pub use {
    oauth::{
        AuthorizationCode, AuthorizationRequest, AuthorizationRequestBuilder, AuthorizationServer,
        NewOAuthClient, OAuthClient,
    },
    record::{RefreshPending, TokenRecord},
    session::{RefreshRequest, Revocation, Session, SessionBuilder, SessionEvent},
    store::{LockedStore, MemoryStore, TokenStore},
};

pub use scope::Scope;

pub use crate::error::{AuthError, CallbackError, EndReason, Ended, OAuthError, OAuthErrorCode, StoreError};
