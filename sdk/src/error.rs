//! What can go wrong, what each error means for the thing that was asked for, and what to do.
//!
//! The question that matters after an error is [`Error::outcome`]: was it done? The second is [`Error::is_retryable`].

mod api;
mod auth;
mod headers;
mod idempotency;
mod lost;
mod store;
mod text;

pub use api::{ApiError, ApiErrorKind};
pub use auth::{AuthError, CallbackError, EndReason, Ended, OAuthError, OAuthErrorCode};
use headers::request_id;
#[cfg(feature = "oauth")]
pub(crate) use headers::retry_after;
pub use idempotency::Idempotency;
pub(crate) use lost::Tried;
pub use lost::{DecodeError, FileError, TransportFailure};
pub use store::StoreError;
pub(crate) use text::{chain, printable};

use std::{sync::Arc, time::Duration};

use http::StatusCode;

use crate::{
    problem::{Problem, Problems, SettingsError},
    transport::TransportErrorKind,
    types::IdempotencyKey,
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that a call can fail with.
///
/// | variant | was it done? | what to do |
/// |---|---|---|
/// | [`Invalid`](Self::Invalid) | no, nothing was sent | correct the input; every problem is listed |
/// | [`Settings`](Self::Settings) | no, nothing was sent | correct the client's settings |
/// | [`File`](Self::File) | no | make the file readable and unchanging |
/// | [`Auth`](Self::Auth) | no, nothing was sent | by [`AuthError`](crate::auth::AuthError): log in, or try again later |
/// | [`Unreachable`](Self::Unreachable) | no, nothing reached the service, or it was only a read | try again later |
/// | [`Api`](Self::Api) | no, the service refused; a 5xx leaves it open | by [`ApiError::kind`] |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown) | perhaps | repeat with the key that it carries: that can't do it twice |
/// | [`Decode`](Self::Decode) | yes, the answer could not be read | repeat with the key, or look the thing up |
/// | [`Paging`](Self::Paging) | reading only | report it: the service contradicts itself |
/// | [`WaitTimeout`](Self::WaitTimeout) | yes, and it goes on | wait again |
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input breaks rules of the specification; nothing was sent.
    #[error("{}; nothing was sent", count(.0))]
    Invalid(#[source] Problems),
    /// A setting of the client is missing or wrong; nothing was sent.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An attachment's file can't be read; nothing was sent.
    #[error("an attachment can't be read")]
    File(#[source] FileError),
    /// The login can't be used: the call was not sent, or the service refused its access token. All calls that waited for the same renewal get the
    /// same error.
    #[error("the login can't be used; nothing was done")]
    Auth(#[source] Arc<AuthError>),
    /// Nothing reached the service; or, for an operation that only reads, no whole answer came back.
    #[error("no answer from the service; nothing was done")]
    Unreachable(#[source] Box<TransportFailure>),
    /// The service answered with an error.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The request left and no whole answer came back: the service may have acted.
    #[error("the outcome is unknown: the request left and no whole answer came back")]
    OutcomeUnknown(#[source] Box<TransportFailure>),
    /// The service accepted, but its answer could not be read.
    #[error("the service accepted (status {}), but its answer could not be read", .0.status.as_u16())]
    Decode(#[source] Box<DecodeError>),
    /// A list contradicts itself.
    #[error(transparent)]
    Paging(#[from] PagingError),
    /// The time for waiting was over before the thing was settled.
    #[error(transparent)]
    WaitTimeout(Box<WaitTimeout>),
}

/// Whether the thing that was asked for was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing reached the service.
    NotSent,
    /// The service said no.
    Rejected,
    /// It may have been done.
    Unknown,
    /// It was done.
    Accepted,
}

impl Error {
    /// Whether the thing that was asked for was done.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Auth(error) if matches!(**error, AuthError::TokenRejected { .. }) => Outcome::Rejected,
            Self::Invalid(_) | Self::Settings(_) | Self::File(_) | Self::Auth(_) | Self::Unreachable(_) => {
                Outcome::NotSent
            }
            Self::Api(error) if error.may_have_acted() => Outcome::Unknown,
            Self::Api(_) => Outcome::Rejected,
            Self::OutcomeUnknown(_) => Outcome::Unknown,
            Self::Decode(_) | Self::Paging(_) | Self::WaitTimeout(_) => Outcome::Accepted,
        }
    }

    /// Whether the same call can succeed later without a change, and without doing the thing twice when the
    /// [`idempotency_key`](Self::idempotency_key) is given again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable(lost) => lost.transport.kind() != TransportErrorKind::Tls,
            Self::Auth(error) => error.is_retryable(),
            Self::OutcomeUnknown(lost) => lost.idempotency == Idempotency::Idempotent,
            Self::Decode(unreadable) => unreadable.idempotency_key.is_some(),
            Self::Api(error) => match error.kind() {
                ApiErrorKind::RateLimited => true,
                ApiErrorKind::Server => error.idempotency == Idempotency::Idempotent,
                _ => error.name == "concurrent_idempotent_requests",
            },
            Self::WaitTimeout(_) => true,
            _ => false,
        }
    }

    /// The pause that the service asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(error) => error.retry_after(),
            Self::Auth(error) => error.retry_after(),
            _ => None,
        }
    }

    /// The key with which the call can be repeated without doing the thing twice, within 24 hours.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        match self {
            Self::Api(error) => error.idempotency_key.as_ref(),
            Self::Unreachable(lost) | Self::OutcomeUnknown(lost) => lost.idempotency_key.as_ref(),
            Self::Decode(unreadable) => unreadable.idempotency_key.as_ref(),
            _ => None,
        }
    }

    /// The status of the answer, if one came.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Api(error) => Some(error.status),
            Self::Decode(unreadable) => Some(unreadable.status),
            Self::Auth(error) => error.response().map(|response| response.status),
            _ => None,
        }
    }

    /// The service's name for this request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Api(error) => error.request_id(),
            Self::Decode(unreadable) => request_id(&unreadable.headers),
            Self::Auth(error) => error.response().and_then(ApiError::request_id),
            _ => None,
        }
    }

    /// How many times the request was sent, or tried to.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Api(error) => error.attempts,
            Self::Unreachable(lost) | Self::OutcomeUnknown(lost) => lost.attempts,
            Self::Decode(unreadable) => unreadable.attempts,
            _ => 0,
        }
    }

    pub(crate) fn invalid(problem: Problem) -> Self {
        Self::Invalid(problem.into())
    }
}

impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        Self::Auth(Arc::new(error))
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::invalid(problem)
    }
}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems)
    }
}

fn count(problems: &Problems) -> String {
    match problems.len() {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    }
}

/// A list whose pages contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingError {
    /// A page says that more follows but holds nothing to ask on from.
    #[error("the service says that more items follow, but sent an empty page")]
    EmptyPage,
    /// A page ends where the page before it ended, so walking on would never end.
    #[error("the service sent a page that ends at the same item as the one before: {0}")]
    Repeated(String),
    /// An item has no id to ask on from.
    #[error("the service sent an item without an id, so the next page can't be asked for")]
    NoId,
}

/// What a [`Wait`](crate::Wait) knows when its time is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not settled after {} s{}", .waited.as_secs(), .state.as_ref().map(|state| format!(": it is {}", printable(state, 80))).unwrap_or_default())]
#[non_exhaustive]
pub struct WaitTimeout {
    /// The last state that the service told, in its own word.
    pub state: Option<String>,
    /// How long it was waited.
    pub waited: Duration,
    /// How often it was looked at.
    pub looks: u32,
}
