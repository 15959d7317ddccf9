//! Who is asking: the credential that every call carries, and how a login gets and keeps one.
//!
//! | file | idea |
//! |---|---|
//! | `record` | what is kept of a login |
//! | `store` | where it is kept: the contract that every store keeps, and a store in memory |
//! | `oauth` | the authorization code flow with PKCE: where the browser goes, what it brings back, the exchange for tokens |
//! | `loopback` | where the browser comes back to on this machine |
//! | `exchange` | what the token endpoint can do with a refresh token, as far as a client can know |
//! | `session` | a login in use: renewed when a call needs it, and never lost by a client's own fault |
//! | `error` | what can go wrong with a login, and what to do |

mod oauth;
mod record;
mod redirect_listener;
mod session;
mod store;
mod token_endpoint;

pub use oauth::{
    AuthorizationCode, AuthorizationRequest, AuthorizationRequestBuilder, AuthorizationServer,
    NewOAuthClient, OAuthClient, Scope,
};
pub use record::{RefreshPending, TokenRecord};
pub use redirect_listener::RedirectListener;
pub(crate) use session::Token;
pub use session::{RefreshRequest, Revocation, Session, SessionBuilder, SessionEvent};
pub use store::{LockedStore, MemoryStore, TokenStore};

use std::fmt;

use http::HeaderValue;
use url::Url;

pub use crate::error::{AuthError, CallbackError, EndReason, Ended, OAuthError, OAuthErrorCode, StoreError};
use crate::types::{AccessToken, ApiKey};

/// The credential of a client.
#[derive(Clone)]
pub(crate) enum Credentials {
    /// The same for every call.
    Fixed(HeaderValue),
    /// A login, and the origin that the client asks.
    Session(Session, String),
}

impl Credentials {
    #[expect(clippy::needless_pass_by_value, reason = "the secret's own memory is cleared here")]
    pub(crate) fn api_key(key: ApiKey) -> Self {
        Self::Fixed(key.header())
    }

    #[expect(clippy::needless_pass_by_value, reason = "the secret's own memory is cleared here")]
    pub(crate) fn access_token(token: AccessToken) -> Self {
        Self::Fixed(token.header())
    }

    pub(crate) fn session(session: Session) -> Self {
        Self::Session(session, String::new())
    }

    /// Binds a login to the origin that is asked.
    pub(crate) fn for_client_of(self, base_url: &Url) -> Self {
        match self {
            Self::Session(session, _) => Self::Session(session, crate::transport::endpoint::origin(base_url)),
            fixed @ Self::Fixed(_) => fixed,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials([redacted])")
    }
}
