//! Who is asking: the credential that every call carries, and how a login gets and keeps one.
//!
//! | file | idea |
//! |---|---|
//! | `record` | what is kept of a login |
//! | `store` | where it is kept: the contract that every store keeps, and a store in memory |
//! | `oauth` | the authorization code flow with PKCE: where the browser goes, what it brings back, the exchange for tokens |
//! | `loopback` | where the browser comes back to on this machine |
//! | `exchange` | what the token endpoint can do with a refresh token, as far as a client can know |
//! | `error` | what can go wrong with a login, and what to do |

mod error;
mod exchange;
mod loopback;
mod oauth;
mod record;
mod store;

pub use error::{AuthError, CallbackError, OAuthError, OAuthErrorCode};
pub use loopback::Loopback;
pub use oauth::{
    Authorization, AuthorizationCode, AuthorizationServer, Authorizing, NewOAuthClient, OAuthClient, Scope,
};
pub use record::{EndReason, Ended, RefreshPending, TokenRecord};
pub use store::{LockedStore, MemoryStore, StoreError, TokenStore};

use std::fmt;

use http::HeaderValue;

use crate::types::{AccessToken, ApiKey};

/// The credential of a client, ready to be put on a request.
#[derive(Clone)]
pub(crate) struct Credentials {
    header: HeaderValue,
}

impl Credentials {
    #[expect(clippy::needless_pass_by_value, reason = "the secret's own memory is cleared here")]
    pub(crate) fn api_key(key: ApiKey) -> Self {
        Self { header: key.header() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the secret's own memory is cleared here")]
    pub(crate) fn access_token(token: AccessToken) -> Self {
        Self { header: token.header() }
    }

    /// The value of `Authorization`, marked sensitive.
    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials([redacted])")
    }
}
