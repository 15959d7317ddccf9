//! What the token endpoint can do with a refresh token, as far as a client can know.

use std::time::Duration;

use crate::error::{AuthError, OAuthError};
use crate::{
    transport::{BoxFuture, TransportError},
    types::{AccessToken, RefreshToken},
};

use super::record::TokenRecord;

/// The way to the token endpoint: shows it a refresh token, once.
///
/// An implementation sends at most one request over a fresh connection, follows no redirect, repeats nothing, takes at most 30 s and reads
/// at most 64 KiB.
pub(crate) trait TokenEndpoint: Send + Sync {
    fn refresh<'a>(&'a self, record: &'a TokenRecord) -> BoxFuture<'a, RefreshOutcome>;

    /// Revokes the grant behind the record.
    fn revoke<'a>(&'a self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), AuthError>>;
}

/// What came of it. What matters first is whether the refresh token was spent.
#[derive(Debug)]
pub(crate) enum RefreshOutcome {
    /// 200 with a refresh token: the old one is spent, whatever else is wrong with the answer.
    Tokens(Tokens),
    /// Nothing reached the service (name, connection, TLS, proxy): not spent.
    NotSent(TransportError),
    /// 429, or 503 with a pause: rejected before any work, not spent.
    Throttled { status: u16, retry_after: Option<Duration> },
    /// A client error without an OAuth error: something else responded, not spent.
    NotOAuthEndpoint { status: u16, path: String },
    /// An error that doesn't concern the token (`invalid_request`, `invalid_client`, `unauthorized_client`, `invalid_scope`, other names): not spent.
    Refused(OAuthError),
    /// `invalid_grant`: this refresh token is no longer good.
    InvalidGrant(OAuthError),
    /// The request left and nothing tells whether the token was spent: no answer, half an answer, 5xx, a redirect, an answer without a refresh
    /// token.
    Unknown { reason: String, access_token: Option<(AccessToken, Duration)> },
}

/// What a token answer held, as far as it made sense (`SPEC.md`, POST /oauth/token).
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub(crate) refresh_token: RefreshToken,
    /// `None`: missing, or not to be used (another `token_type`, unreadable).
    pub(crate) access_token: Option<AccessToken>,
    /// As the answer says, if that makes sense; else 60 s.
    pub(crate) expires_in: Duration,
    /// `None`: the same as before (RFC 6749, 5.1).
    pub(crate) scope: Option<String>,
    /// What was wrong with the rest of the answer, for a warning.
    pub(crate) oddities: Vec<String>,
}
