//! What the token endpoint's responses reveal about a refresh token.

use std::time::{Duration, SystemTime};

use crate::{
    error::OAuthError,
    transport::TransportError,
    types::{AccessToken, RefreshToken},
};

/// The outcome of a refresh. The first question is whether the refresh token was used up.
#[derive(Debug)]
pub(crate) enum RefreshOutcome {
    /// 200 with a new refresh token: the old one is used up, whatever else is wrong with the response. In response to a code, also 200 without one.
    Tokens(Tokens),
    /// 200 with an access token and no new refresh token: the old one remains valid (RFC 6749, section 6).
    Kept(Tokens),
    /// Nothing reached the service (name resolution, connection, TLS, proxy): not used up.
    NotSent(TransportError),
    /// 429, or 503 with an OAuth error: rejected before any work, not used up.
    Throttled { status: u16, retry_after: Option<Duration> },
    /// A client error other than 401 without an OAuth error: another server responded, not used up.
    NotOAuthEndpoint { status: u16, path: String },
    /// An error not about the token (`invalid_request`, `invalid_client`, `unauthorized_client`, `invalid_scope`, other names): not used up.
    Rejected(OAuthError),
    /// `invalid_grant`: this refresh token is no longer valid.
    InvalidGrant(OAuthError),
    /// The request was sent, and it is unknown whether the token was used up: no response, an incomplete one, another 5xx, a 401 without an OAuth
    /// error, a redirect, or a success without any token.
    Unknown { reason: String },
}

/// The usable contents of a token response (`docs/specification.md`, POST /oauth/token).
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// `None` only in response to a code.
    pub(crate) refresh_token: Option<RefreshToken>,
    /// `None`: missing or unusable (another `token_type`, unreadable).
    pub(crate) access_token: Option<AccessToken>,
    /// The response's value if it is valid; otherwise 60 s.
    pub(crate) expires_in: Duration,
    /// When they were requested, according to the server's clock.
    pub(crate) served_at: Option<SystemTime>,
    /// `None`: unchanged (RFC 6749, 5.1).
    pub(crate) scope: Option<String>,
    /// Deviations in the rest of the response, reported as a warning.
    pub(crate) deviations: Vec<String>,
}
