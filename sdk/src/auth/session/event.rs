//! Events of a session, and requests to it.

use std::{fmt, sync::Arc};

use crate::error::{AuthError, chain};

/// Something about a refresh that a person may want to know although the call goes on. Delivered after the refresh has been saved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Only this process holds the new tokens ([`AuthError::NotSaved`]). The login is lost when the process ends before the store works again.
    NotSaved(Arc<AuthError>),
    /// The response to a refresh was lost or unusable.
    ResponseLost {
        /// Why.
        reason: String,
    },
    /// The service changed the scope.
    ScopeChanged {
        /// The previous scope.
        before: String,
        /// The new scope.
        now: String,
    },
    /// The token response deviates from the specification; the tokens were saved.
    Deviation(String),
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSaved(error) => f.write_str(&chain(error)),
            Self::ResponseLost { reason } => {
                write!(f, "the response to a refresh of the login was lost: {reason}")
            }
            Self::ScopeChanged { before, now } => {
                write!(f, "the login's scope is now `{now}`, it was `{before}`")
            }
            Self::Deviation(what) => write!(f, "the token response deviates from the specification: {what}"),
        }
    }
}

/// A request to another process to refresh the login: see [`SessionBuilder::renew_with`](super::SessionBuilder::renew_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshRequest {
    /// The generation of the record that is to be refreshed.
    pub generation: u64,
    /// Whether the service rejected its access token, so that it has to be replaced although it hasn't expired.
    pub rejected: bool,
}

/// What a logout did with the grant.
#[derive(Debug)]
#[non_exhaustive]
pub enum Revocation {
    /// The service revoked it.
    Revoked,
    /// There was none: the store held no login, or the grant had ended before.
    Nothing,
    /// The service has no revocation endpoint, could not be reached, or refused: the grant stays valid until it expires. The record was removed
    /// all the same.
    NotRevoked(AuthError),
}
