//! What can go wrong with a login, and what to do.

use std::time::{Duration, SystemTime};

use http::StatusCode;

use serde::{Deserialize, Serialize};

use super::{api::ApiError, store::StoreError, summary::Outcome};
use crate::{
    transport::{TransportError, TransportErrorKind},
    types::wall_clock::instant,
};

open_enum! {
    /// The name of an error of the authorization or the token endpoint (`SPEC.md`, Errors; RFC 6749, 4.1.2.1 and 5.2).
    OAuthErrorCode {
        /// The person said no.
        AccessDenied = "access_denied",
        /// The client is unknown or disabled.
        InvalidClient = "invalid_client",
        /// The code or refresh token is not (or no longer) good.
        InvalidGrant = "invalid_grant",
        /// A parameter is missing or malformed.
        InvalidRequest = "invalid_request",
        /// A scope is unknown, or more than the client or the grant may have.
        InvalidScope = "invalid_scope",
        /// The service failed.
        ServerError = "server_error",
        /// The service is too busy.
        TemporarilyUnavailable = "temporarily_unavailable",
        /// The client may not use this grant type.
        UnauthorizedClient = "unauthorized_client",
        /// The token endpoint has no such grant type.
        UnsupportedGrantType = "unsupported_grant_type",
        /// The authorization endpoint has no such response type.
        UnsupportedResponseType = "unsupported_response_type",
    }
}

/// An error that the authorization or the token endpoint sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", .code.as_str(), .description.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
#[non_exhaustive]
pub struct OAuthError {
    /// Its name.
    pub code: OAuthErrorCode,
    /// What the service says of it: at most 200 characters, on one line.
    pub description: Option<String>,
    /// The status of the answer; `None` for an error that came by a redirect.
    pub status: Option<StatusCode>,
}

/// What a login can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The service refused. The tokens are as they were.
    #[error(transparent)]
    Refused(#[from] OAuthError),
    /// Nobody is logged in.
    #[error("nobody is logged in")]
    LoggedOut,
    /// The grant is over; only a new login helps.
    #[error("{}", ended(.0))]
    Ended(Ended),
    /// The login belongs to another service than the one that is to be asked. Nothing was sent.
    #[error("the login is for {stored}, not for {asked}; nothing was sent")]
    OtherOrigin {
        /// Whom the tokens are for.
        stored: String,
        /// Who was to be asked.
        asked: String,
    },
    /// Another process renews the login, and did not finish in time.
    #[error("the login is being renewed elsewhere: {0}")]
    Busy(#[source] StoreError),
    /// The answer to a refresh was lost, and it is too early to ask again.
    #[error("the answer to a renewal of the login was lost; it can be tried again in {} s", .retry_after.as_secs())]
    OutcomeUnknown {
        /// How long to wait.
        retry_after: Duration,
    },
    /// The token endpoint could not be reached. The tokens are as they were.
    #[error("the token endpoint could not be reached")]
    Unreachable(#[source] TransportError),
    /// The token endpoint is too busy. The tokens are as they were.
    #[error("the token endpoint is too busy (status {status})")]
    Throttled {
        /// The status of its answer.
        status: u16,
        /// The pause that it asks for.
        retry_after: Option<Duration>,
    },
    /// Whoever renews in place of this process failed ([`SessionBuilder::renew_with`](super::SessionBuilder::renew_with)).
    #[error("{message}")]
    Elsewhere {
        /// What it said.
        message: String,
        /// Whether the same can succeed later.
        retryable: bool,
    },
    /// The store failed before anything was sent.
    #[error(transparent)]
    Store(StoreError),
    /// The new tokens are held by this process alone: the store failed after the service had replaced the old ones.
    #[error("the renewed login could not be saved")]
    NotSaved(#[source] StoreError),
    /// What came to the redirect address is not the answer that is waited for. The login goes on.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// The answer names another authorization server than the one that was asked (RFC 9207). The login is over; nothing was sent.
    #[error("the answer comes from another authorization server: {named}")]
    MixUp {
        /// Whom it names.
        named: String,
    },
    /// This machine has no loopback address with a port for the browser to come back to.
    #[error("no port could be opened on 127.0.0.1 or [::1] for the browser to come back to")]
    NoLoopback(#[source] std::io::Error),
    /// The browser did not come back in time.
    #[error("nobody came back from the browser within {} s", .waited.as_secs())]
    NoCallback {
        /// How long it was waited for.
        waited: Duration,
    },
    /// The answer to the code was lost, or held no refresh token. A code is good for one use, so the login begins anew.
    #[error("the code was sent, and no usable answer came: {reason}; begin the login again")]
    CodeLost {
        /// What was wrong.
        reason: String,
    },
    /// The server says nothing of itself where it should.
    #[error("the server has no metadata of its authorization endpoints")]
    NoMetadata,
    /// What the server says of itself can't be used.
    #[error("the authorization server's metadata can't be used: {0}")]
    Metadata(String),
    /// The server registers no programs.
    #[error("the authorization server registers no programs")]
    NoRegistration,
    /// The server has no place to revoke a grant. It stays until it expires.
    #[error("the authorization server has no place to revoke a grant; it stays until it expires")]
    NotRevocable,
    /// The service renewed the login, but what it sent has no access token that could be used. The next call asks again.
    #[error("the service renewed the login without a usable access token")]
    NoAccessToken,
    /// The API refuses an access token that the token endpoint has just issued.
    #[error(
        "the service refuses an access token that it has just issued: is this its address, and is the clock right?"
    )]
    StillRefused {
        /// The response to the request that carried it.
        response: Option<Box<ApiError>>,
    },
}

impl AuthError {
    /// Whether the same can succeed later without a new login.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Elsewhere { retryable, .. } => *retryable,
            Self::Busy(_)
            | Self::OutcomeUnknown { .. }
            | Self::Throttled { .. }
            | Self::NoAccessToken
            | Self::NotSaved(_) => true,
            Self::Unreachable(error) => error.kind() != TransportErrorKind::Tls,
            _ => false,
        }
    }

    /// Whether the call was done: never, but a rejected access token means that the service refused it.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::StillRefused { .. } => Outcome::Rejected,
            _ => Outcome::NotSent,
        }
    }

    /// The response that rejected the access token.
    pub fn response(&self) -> Option<&ApiError> {
        match self {
            Self::StillRefused { response } => response.as_deref(),
            _ => None,
        }
    }

    /// The pause before it makes sense to try again, if somebody said one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::OutcomeUnknown { retry_after } => Some(*retry_after),
            Self::Throttled { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// How a grant came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ended {
    /// Why.
    pub why: EndReason,
    /// When it was found out.
    #[serde(with = "instant")]
    pub at: SystemTime,
}

/// Why a grant is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The service refused the refresh token the first time it was shown: it is older than 60 days, or the grant was revoked.
    Rejected,
    /// The answer to an earlier refresh was lost. The service then takes the token it had replaced for a stolen one.
    LostAnswer {
        /// When the refresh began whose answer was lost.
        #[serde(with = "instant")]
        since: SystemTime,
    },
}

/// Why something that came to the redirect address is not the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// It is another address.
    #[error("this is not the address that the browser was to come back to")]
    Address,
    /// Its `state` is missing or not the one of this login.
    #[error("its `state` is not the one of this login")]
    State,
    /// Its parameters can't be those of an answer.
    #[error("its parameters are not those of an answer: {0}")]
    Parameters(&'static str),
}

fn ended(ended: &Ended) -> String {
    let at = |time: SystemTime| {
        jiff::Timestamp::try_from(time).map_or_else(|_| "an unknown time".to_owned(), |at| format!("{at:.0}"))
    };
    match &ended.why {
        EndReason::Rejected => {
            format!(
                "the login has ended: the service refused its refresh token at {}; log in again",
                at(ended.at)
            )
        }
        EndReason::LostAnswer { since } => format!(
            "the login has ended: the answer to a renewal was lost at {}, and the service takes the old token for a stolen one; log in again",
            at(*since)
        ),
    }
}
