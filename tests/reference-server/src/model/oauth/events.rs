//! Events of the token endpoint, for tests.

use jiff::Timestamp;

/// The tokens of a grant, as issued.
#[derive(Clone, Debug)]
pub struct IssuedTokens {
    /// The ID of the grant.
    pub grant_id: String,
    /// An access token, valid for 900 seconds of the service's clock.
    pub access_token: String,
    /// The current refresh token.
    pub refresh_token: String,
    /// The scopes, separated by spaces.
    pub scope: String,
}

/// An event of the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// The time, by the service's clock.
    pub at: Timestamp,
    /// The ID of the grant.
    pub grant_id: String,
    /// The kind of event.
    pub kind: TokenEventKind,
}

/// The kind of a token endpoint event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenEventKind {
    /// The grant was created, with refresh token generation 1.
    Issued,
    /// The previous refresh token was exchanged for this one.
    Rotated {
        /// The current generation.
        generation: u64,
    },
    /// A replaced refresh token was presented, which revoked the grant.
    Reused {
        /// The generation of the presented token.
        shown: u64,
        /// The current generation.
        current: u64,
    },
    /// The grant's code was presented again, which revoked the grant.
    CodeReused,
    /// The current refresh token of a revoked or expired grant was presented.
    Late,
}
