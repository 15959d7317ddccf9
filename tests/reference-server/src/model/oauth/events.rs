//! What tests are told of the token endpoint: the tokens of a grant, and what became of it.

use jiff::Timestamp;

/// The tokens of a grant, as they were handed out.
#[derive(Clone, Debug)]
pub struct IssuedTokens {
    /// The grant.
    pub grant_id: String,
    /// An access token, for 900 seconds of the service's clock.
    pub access_token: String,
    /// The refresh token that is good now.
    pub refresh_token: String,
    /// Scopes with a space between.
    pub scope: String,
}

/// One thing that the token endpoint did, for tests that have to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// When, on the service's clock.
    pub at: Timestamp,
    /// To which grant.
    pub grant_id: String,
    /// What.
    pub kind: TokenEventKind,
}

/// What the token endpoint can do to a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenEventKind {
    /// It made it, and handed out refresh token 1.
    Issued,
    /// It took the refresh token before this one and handed out this one.
    Rotated {
        /// Which one is good now.
        generation: u64,
    },
    /// It was shown a refresh token that had been replaced, and revoked the grant.
    Reused {
        /// Which one was shown.
        shown: u64,
        /// Which one was good.
        current: u64,
    },
    /// It was shown the code that the grant came from once more, and revoked the grant.
    CodeReused,
    /// It was shown the good refresh token of a grant that is revoked, or that is too old.
    Late,
}
