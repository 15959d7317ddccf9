//! Errors of OAuth and of sessions.

use std::time::{Duration, SystemTime};

use http::StatusCode;

use serde::{Deserialize, Serialize};

use super::{api::ApiError, store::StoreError, summary::Outcome};
use crate::{transport::TransportError, types::wall_clock::instant};

open_enum! {
    /// An error code of the authorization or the token endpoint (`docs/specification.md`, Errors; RFC 6749, 4.1.2.1 and 5.2).
    OAuthErrorCode {
        /// The user declined.
        AccessDenied = "access_denied",
        /// The user hasn't decided yet (RFC 8628, 3.5).
        AuthorizationPending = "authorization_pending",
        /// The device code has expired (RFC 8628, 3.5).
        ExpiredToken = "expired_token",
        /// The client is unknown or disabled.
        InvalidClient = "invalid_client",
        /// The code or refresh token is invalid or expired.
        InvalidGrant = "invalid_grant",
        /// A parameter is missing or malformed.
        InvalidRequest = "invalid_request",
        /// A scope is unknown, or exceeds the client's or the grant's scopes.
        InvalidScope = "invalid_scope",
        /// The service failed.
        ServerError = "server_error",
        /// The client polls too often (RFC 8628, 3.5).
        SlowDown = "slow_down",
        /// The service is overloaded.
        TemporarilyUnavailable = "temporarily_unavailable",
        /// The client may not use this grant type.
        UnauthorizedClient = "unauthorized_client",
        /// The token endpoint doesn't support the grant type.
        UnsupportedGrantType = "unsupported_grant_type",
        /// The authorization endpoint doesn't support the response type.
        UnsupportedResponseType = "unsupported_response_type",
    }
}

/// An error response of the authorization or the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", .code.as_str(), .description.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
#[non_exhaustive]
pub struct OAuthError {
    /// The error code.
    pub code: OAuthErrorCode,
    /// The service's description: at most 200 characters, on one line.
    pub description: Option<String>,
    /// The status of the response; `None` for an error in a redirect.
    pub status: Option<StatusCode>,
}

impl OAuthError {
    /// Creates an error that another process received, for use by a session's delegate.
    pub fn new(code: impl Into<OAuthErrorCode>, description: Option<String>) -> Self {
        Self { code: code.into(), description, status: None }
    }
}

/// An error of the OAuth flow or of a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The service rejected the request. The tokens are unchanged.
    #[error(transparent)]
    Rejected(#[from] OAuthError),
    /// The store holds no login.
    #[error("not logged in")]
    LoggedOut,
    /// The grant has ended; log in again.
    #[error("{}", describe_ended(.0))]
    Ended(Ended),
    /// The login is bound to another origin. Nothing was sent.
    #[error("the login is for {stored}, not {requested}")]
    OriginMismatch {
        /// The origin to which the tokens are bound.
        stored: String,
        /// The origin of the client's base URL.
        requested: String,
    },
    /// Another process is refreshing the tokens and didn't finish in time.
    #[error("another process is refreshing the tokens: {0}")]
    Busy(#[source] StoreError),
    /// The call timed out during a token refresh. The refresh continues in the background.
    #[error("timed out waiting for the token refresh, which continues in the background")]
    RefreshTimeout,
    /// The response to a refresh was lost, and it is too early to retry.
    #[error("the response to a token refresh was lost; try again in {} s", .retry_after.as_secs())]
    OutcomeUnknown {
        /// The time until a retry is safe.
        retry_after: Duration,
    },
    /// The authorization server could not be reached. The tokens are unchanged.
    #[error("the authorization server couldn't be reached")]
    Unreachable(#[source] TransportError),
    /// The authorization server is overloaded (429, or 503 with an OAuth error). The tokens are unchanged.
    #[error("the authorization server is overloaded (status {status})")]
    Throttled {
        /// The status of its response.
        status: u16,
        /// The delay that the server requested.
        retry_after: Option<Duration>,
    },
    /// The response is neither the JSON that the endpoint returns nor an OAuth error: the server failed, or a proxy, a network's login page or another
    /// service responded.
    #[error("{}", describe_unexpected(url, *status, *is_html))]
    UnexpectedResponse {
        /// The URL of the request.
        url: String,
        /// The status of the response.
        status: u16,
        /// Whether the body is an HTML page.
        is_html: bool,
        /// The delay that the response requested.
        retry_after: Option<Duration>,
    },
    /// Something other than a token endpoint responded: a 4xx without an OAuth error, such as a 404 page. The tokens are unchanged.
    #[error("{path} returned {status} without an OAuth error; is the service's URL correct?")]
    NotOAuthEndpoint {
        /// The status of the response.
        status: u16,
        /// The path of the URL.
        path: String,
    },
    /// The delegate that refreshes for this session failed (`SessionBuilder::refresh_with`).
    #[error("{message}")]
    Delegate {
        /// Its error message.
        message: String,
        /// Whether a retry can succeed.
        retryable: bool,
    },
    /// The store failed before anything was sent.
    #[error(transparent)]
    Store(StoreError),
    /// Only this process holds the new tokens: the store failed after the service had replaced the old ones.
    #[error("the refreshed tokens couldn't be saved")]
    NotSaved(#[source] StoreError),
    /// The token endpoint issued no access token that this client can use; for example, its type is DPoP. Nothing was stored.
    #[error("the tokens can't be used: {reason}")]
    UnusableTokens {
        /// The reason.
        reason: String,
    },
    /// A request to the redirect URI is not the expected response. The wait for the redirect continues.
    #[error(transparent)]
    Callback(#[from] CallbackError),
    /// The redirect contains a different issuer than the authorization server's (RFC 9207). The authorization has failed; the code wasn't sent.
    #[error("the redirect has a different issuer: {issuer}")]
    IssuerMismatch {
        /// The issuer in the redirect.
        issuer: String,
    },
    /// No loopback port could be opened for the redirect.
    #[error("no port could be opened on 127.0.0.1 or [::1] for the browser's redirect")]
    ListenFailed(#[source] std::io::Error),
    /// The browser was not redirected in time.
    #[error("timed out after {} s waiting for the browser", .waited.as_secs())]
    RedirectTimeout {
        /// The duration of the wait.
        waited: Duration,
    },
    /// The response to the exchange of an authorization or device code was lost or is unusable. A code can be used only once, so a new authorization
    /// is required.
    #[error("the code was sent, but no usable response arrived: {reason}; log in again")]
    CodeLost {
        /// Why the response is unusable.
        reason: String,
    },
    /// The user didn't decide before the device code expired.
    #[error("the device code has expired")]
    DeviceCodeExpired,
    /// The server has no device authorization endpoint.
    #[error("the authorization server doesn't offer the device flow")]
    NoDeviceFlow,
    /// The server publishes no authorization server metadata.
    #[error("the server publishes no authorization server metadata")]
    NoMetadata,
    /// The authorization server's metadata is invalid or unsupported.
    #[error("the authorization server's metadata can't be used: {0}")]
    Metadata(String),
    /// The authorization server's metadata names an endpoint at another origin, which could receive this server's codes or tokens (RFC 9700, section
    /// 4.4).
    #[error(
        "the authorization server's metadata can't be used: `{endpoint}` is at {origin}, not at {issuer}"
    )]
    ForeignEndpoint {
        /// The name of the endpoint in the metadata.
        endpoint: &'static str,
        /// Its origin.
        origin: String,
        /// The origin of the issuer.
        issuer: String,
    },
    /// The server has no registration endpoint.
    #[error("the authorization server doesn't support client registration")]
    NoRegistration,
    /// The server has no revocation endpoint. The grant stays valid until it expires.
    #[error("the authorization server has no revocation endpoint; the grant stays valid until it expires")]
    NotRevocable,
    /// The token response contains no usable access token. The next call refreshes again.
    #[error("the token refresh returned no usable access token")]
    NoAccessToken,
    /// The API rejected a newly issued access token.
    #[error("the service rejected a new access token{}; is its URL correct?", describe_rejection(.response.as_deref()))]
    TokenRejected {
        /// The API's 401 response.
        response: Option<Box<ApiError>>,
    },
}

impl AuthError {
    /// Returns whether a retry can succeed without a new login.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Delegate { retryable, .. } => *retryable,
            Self::Busy(_)
            | Self::RefreshTimeout
            | Self::OutcomeUnknown { .. }
            | Self::Throttled { .. }
            | Self::NoAccessToken
            | Self::NotSaved(_) => true,
            Self::Unreachable(error) => error.kind().is_transient(),
            Self::UnexpectedResponse { status, .. } => matches!(status, 408 | 425 | 500 | 502..=504 | 520..),
            _ => false,
        }
    }

    /// Returns the outcome of the call: it wasn't sent, or the service rejected its access token.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::TokenRejected { .. } => Outcome::Rejected,
            _ => Outcome::NotSent,
        }
    }

    /// Returns the response that rejected the access token.
    pub fn response(&self) -> Option<&ApiError> {
        match self {
            Self::TokenRejected { response } => response.as_deref(),
            _ => None,
        }
    }

    /// Adds the API's 401 response to [`TokenRejected`](Self::TokenRejected); leaves other errors unchanged.
    #[must_use]
    pub(crate) fn with_response(self, response: ApiError) -> Self {
        match self {
            Self::TokenRejected { .. } => Self::TokenRejected { response: Some(Box::new(response)) },
            other => other,
        }
    }

    /// Returns the delay after which a retry makes sense, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::OutcomeUnknown { retry_after } => Some(*retry_after),
            Self::Throttled { retry_after, .. } | Self::UnexpectedResponse { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

/// The end of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ended {
    /// The reason.
    #[serde(rename = "why")]
    pub reason: EndReason,
    /// When it was detected.
    #[serde(with = "instant")]
    pub at: SystemTime,
}

/// Why a grant has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The service rejected the refresh token at its first use: it is older than 60 days, or the grant was revoked.
    Rejected,
    /// The response to an earlier refresh was lost, so the service treats the replaced token as stolen.
    #[serde(rename = "lost_answer")]
    ResponseLost {
        /// When that refresh began.
        #[serde(with = "instant")]
        since: SystemTime,
    },
    /// The access token is no longer valid, and the server issued no refresh token.
    NotRefreshable,
    /// A logout couldn't revoke the grant, so its tokens may still be valid. Another logout tries again.
    LoggedOut,
    /// A logout revoked the grant, but couldn't remove its record. Another logout tries again.
    Revoked,
}

/// The reason why a request to the redirect URI isn't the expected response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// It is for another URL.
    #[error("this isn't the redirect URI of this login")]
    Url,
    /// Its `state` is missing or doesn't match.
    #[error("its `state` doesn't match this login")]
    State,
    /// Its parameters are invalid.
    #[error("its parameters are invalid: {0}")]
    Parameters(&'static str),
}

fn describe_unexpected(url: &str, status: u16, is_html: bool) -> String {
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED.as_u16() {
        return format!("a proxy returned 407 for {url}: it requires a user and a password");
    }
    let found = if is_html { "an HTML page instead of" } else { "not" };
    format!("{url} returned {status}, {found} the expected JSON (a proxy, or a wrong base URL?)")
}

fn describe_rejection(response: Option<&ApiError>) -> String {
    response.map(|response| format!(": {response}")).unwrap_or_default()
}

fn describe_ended(ended: &Ended) -> String {
    let at = |time: SystemTime| {
        jiff::Timestamp::try_from(time).map_or_else(|_| "an unknown time".to_owned(), |at| format!("{at:.0}"))
    };
    match &ended.reason {
        EndReason::Rejected => {
            format!(
                "the login has ended: the service rejected its refresh token at {}; log in again",
                at(ended.at)
            )
        }
        EndReason::ResponseLost { since } => format!(
            "the login has ended: the response to a refresh was lost at {}, and the service treats the old token as stolen; log in again",
            at(*since)
        ),
        EndReason::NotRefreshable => {
            "the login has ended: its access token is no longer valid, and the server issued no refresh token; log in again"
                .to_owned()
        }
        EndReason::LoggedOut => format!(
            "the login has ended: it was logged out at {}, but its grant isn't revoked yet",
            at(ended.at)
        ),
        EndReason::Revoked => {
            format!("the login has ended: it was logged out and revoked at {}; log in again", at(ended.at))
        }
    }
}
