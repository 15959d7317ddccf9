//! Events of a session, and requests to its delegate.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    auth::scope::Scope,
    error::{AuthError, chain},
};

/// A noteworthy event of a refresh; the call continues. Delivered after the new tokens have been saved, except for
/// [`Waiting`](Self::Waiting).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Only this process holds the new tokens ([`AuthError::NotSaved`]). The login is lost if the process ends before the store works again.
    NotSaved(Arc<AuthError>),
    /// The response to a refresh was lost or unusable.
    ResponseLost {
        /// The reason.
        reason: String,
    },
    /// The service changed the scope.
    ScopeChanged {
        /// The previous scope.
        before: String,
        /// The new scope.
        now: String,
    },
    /// The refresh waits before it sends a request, for up to [`max_wait`](super::SessionBuilder::max_wait).
    Waiting {
        /// The reason.
        reason: String,
        /// How long it waits.
        pause: Duration,
    },
    /// The token response deviates from the specification; the tokens were saved.
    Deviation(String),
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSaved(error) => f.write_str(&chain(error)),
            Self::ResponseLost { reason } => {
                write!(f, "the response to a token refresh was lost: {reason}")
            }
            Self::ScopeChanged { before, now } => {
                write!(f, "the scope of the login changed from `{before}` to `{now}`")
            }
            Self::Waiting { reason, pause } => {
                write!(
                    f,
                    "{reason}; waiting {:.0} s before another token refresh",
                    pause.as_secs_f64().ceil()
                )
            }
            Self::Deviation(what) => write!(f, "the token response deviates from the specification: {what}"),
        }
    }
}

/// A request to refresh the login with [`Session::refresh`](super::Session::refresh), in this or another process: see
/// [`SessionBuilder::refresh_with`](super::SessionBuilder::refresh_with).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefreshRequest {
    /// The generation of the record to refresh.
    pub generation: u64,
    /// Whether the service rejected the record's access token, which then has to be replaced although it hasn't expired.
    pub rejected: bool,
    /// The scopes to request, separated by spaces; `None` for the grant's scopes. The refresh then takes place even if the access token is
    /// still valid.
    pub scope: Option<String>,
}

impl RefreshRequest {
    /// Creates a request for an access token with these scopes, which the grant must include (RFC 6749, section 6).
    ///
    /// They apply to this access token only; the next refresh requests the scopes of the grant again.
    ///
    /// ```
    /// # async fn example(session: &idempost::auth::Session) -> idempost::Result<()> {
    /// use idempost::auth::{RefreshRequest, Scope};
    ///
    /// session.refresh(RefreshRequest::with_scope([Scope::EmailsSend])).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_scope(scopes: impl IntoIterator<Item = impl Into<Scope>>) -> Self {
        let scopes: Vec<Scope> = scopes.into_iter().map(Into::into).collect();
        let scope = scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ");
        Self { scope: Some(scope), ..Self::default() }
    }
}

/// What a logout did to the grant.
#[derive(Debug)]
#[non_exhaustive]
pub enum Revocation {
    /// The service revoked the grant.
    Revoked,
    /// There was no grant: the store held no login, or the grant had already ended.
    NoGrant,
    /// The service has no revocation endpoint, couldn't be reached, or rejected the request; or the record is unreadable. The grant stays valid until
    /// it expires. The record is marked as ended, so that its tokens aren't used but another logout can revoke it;
    /// [`Session::discard`](super::Session::discard) removes it.
    NotRevoked(AuthError),
}
