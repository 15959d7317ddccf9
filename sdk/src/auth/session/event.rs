//! What a session tells, and what it is told.

use std::{fmt, sync::Arc};

use crate::{error::AuthError, error::chain};

/// Something about a renewal that a person may want to know, although the call goes on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The new tokens are held by this process alone ([`AuthError::NotSaved`]). With its end the login is lost, unless the store comes back before.
    NotSaved(Arc<AuthError>),
    /// The answer to a renewal was lost, or made no sense.
    AnswerLost {
        /// What was wrong with it.
        reason: String,
    },
    /// The scope is another one from now on.
    ScopeChanged {
        /// What it was.
        before: String,
        /// What it is.
        now: String,
    },
    /// Something in the answer is not as the specification says; the tokens were saved.
    Odd(String),
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSaved(error) => f.write_str(&chain(error)),
            Self::AnswerLost { reason } => {
                write!(f, "the answer to a renewal of the login was lost: {reason}")
            }
            Self::ScopeChanged { before, now } => {
                write!(f, "the login's scope is now `{now}`, it was `{before}`")
            }
            Self::Odd(what) => write!(f, "the token answer is odd: {what}"),
        }
    }
}

/// An order to renew, for another process: see [`SessionBuilder::renew_with`](super::SessionBuilder::renew_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshRequest {
    /// Which generation is at hand.
    pub generation: u64,
    /// Whether the service refused its access token, so that it is to be replaced whatever the clocks say.
    pub refused: bool,
}

/// What became of the grant of a login that was ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Revocation {
    /// The service revoked it.
    Revoked,
    /// There was none: nobody was logged in, or the grant was over before.
    Nothing,
    /// The service has no place for it, could not be reached, or refused: the grant stays until it expires. Here it is forgotten all the same.
    NotRevoked(AuthError),
}
