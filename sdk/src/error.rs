//! What can go wrong, what each error means for the thing that was asked for, and what to do.
//!
//! The question that matters after an error is [`Error::outcome`]: was it done? The second is [`Error::is_retryable`].

mod api;
mod auth;
mod decode;
mod error_body;
mod headers;
mod store;
mod summary;
mod text;
mod transport;

pub use api::{ApiError, ApiErrorKind};
pub use auth::{AuthError, CallbackError, EndReason, Ended, OAuthError, OAuthErrorCode};
pub use decode::{DecodeCause, DecodeError};
pub(crate) use headers::request_id;
#[cfg(feature = "oauth")]
pub(crate) use headers::retry_after;
pub use store::StoreError;
pub(crate) use summary::CallSummary;
pub use summary::Outcome;
pub(crate) use text::{chain, printable};
pub use transport::{FileError, TransportFailure};

use std::{sync::Arc, time::Duration};

use http::StatusCode;

use crate::{
    problem::{Problem, Problems, SettingsError},
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
/// | [`Write`](Self::Write) | it was a read | make room for the download |
/// | [`Auth`](Self::Auth) | no, nothing was sent | by [`AuthError`](crate::auth::AuthError): log in, or try again later |
/// | [`RateLimit`](Self::RateLimit) | no, nothing was sent | allow more time, or send less |
/// | [`Unreachable`](Self::Unreachable) | no, nothing reached the service, or it was only a read | try again later |
/// | [`Api`](Self::Api) | no, the service refused; a 5xx leaves it open | by [`ApiError::kind`] |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown) | perhaps | repeat with the key that it carries: that can't do it twice |
/// | [`Decode`](Self::Decode) | yes, the response could not be read | repeat with the key, or look the thing up |
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
    /// A download can't be written; the service has nothing to do with it.
    #[error("the download can't be written")]
    Write(#[source] std::io::Error),
    /// The client's own rate limit leaves no turn before the call's deadline; nothing was sent.
    #[error(transparent)]
    RateLimit(RateLimitError),
    /// Nothing reached the service; or, for a read, no complete response arrived.
    #[error("no answer from the service; nothing was done")]
    Unreachable(#[source] Box<TransportFailure>),
    /// The service answered with an error.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The request left and no complete response arrived: the service may have acted.
    #[error("the outcome is unknown: the request left and no complete response arrived")]
    OutcomeUnknown(#[source] Box<TransportFailure>),
    /// The service accepted, but its response could not be read.
    #[error("the service accepted (status {}), but its response could not be read", .0.status.as_u16())]
    Decode(#[source] Box<DecodeError>),
    /// A list contradicts itself.
    #[error(transparent)]
    Paging(#[from] PagingError),
    /// The time for waiting was over before the thing was settled.
    #[error(transparent)]
    WaitTimeout(Box<WaitTimeout>),
}

impl Error {
    /// Whether the thing that was asked for was done, over all attempts.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Invalid(_)
            | Self::Settings(_)
            | Self::File(_)
            | Self::Write(_)
            | Self::RateLimit(_)
            | Self::Unreachable(_) => Outcome::NotSent,
            Self::Auth(error) => error.outcome(),
            Self::Api(error) => error.outcome,
            Self::OutcomeUnknown(_) => Outcome::Unknown,
            Self::Decode(_) | Self::Paging(_) => Outcome::Accepted,
            Self::WaitTimeout(wait) => wait.outcome(),
        }
    }

    /// Whether the same call can succeed later without a change, and can't act twice if it carries the same
    /// [`idempotency_key`](Self::idempotency_key). The client's own retries follow the same rule.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable(failure) | Self::OutcomeUnknown(failure) => failure.retryable,
            Self::Auth(error) => error.is_retryable(),
            Self::Decode(error) => error.retryable,
            Self::Api(error) => error.retryable,
            Self::RateLimit(_) | Self::WaitTimeout(_) => true,
            Self::Invalid(_) | Self::Settings(_) | Self::File(_) | Self::Write(_) | Self::Paging(_) => false,
        }
    }

    /// The pause that the service asked for, or until the client's rate limit has a turn.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(error) => error.retry_after(),
            Self::Auth(error) => error.retry_after(),
            Self::RateLimit(error) => Some(error.available_in),
            _ => None,
        }
    }

    /// The key under which the call can be repeated within 24 hours without acting twice.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        match self {
            Self::Api(error) => error.idempotency_key.as_ref(),
            Self::Unreachable(failure) | Self::OutcomeUnknown(failure) => failure.idempotency_key.as_ref(),
            Self::Decode(error) => error.idempotency_key.as_ref(),
            _ => None,
        }
    }

    /// The error response, if the service sent one.
    pub fn response(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            Self::Auth(error) => error.response(),
            _ => None,
        }
    }

    /// The status of the response, if there was one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Decode(error) => Some(error.status),
            _ => self.response().map(|error| error.status),
        }
    }

    /// The service's name for this request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Decode(error) => error.request_id(),
            _ => self.response().and_then(ApiError::request_id),
        }
    }

    /// How many requests were sent, or tried to.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Unreachable(failure) | Self::OutcomeUnknown(failure) => failure.attempts,
            Self::Decode(error) => error.attempts,
            _ => self.response().map_or(0, |error| error.attempts),
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
    match problems.len() + problems.omitted() {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    }
}

/// The client's own rate limit has no turn for a call in time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the client's rate limit{} leaves no turn before the deadline (next in {} s); nothing was sent",
    .per_second.map(|pace| format!(" of {pace}/s")).unwrap_or_default(), .available_in.as_secs_f64().ceil()
)]
#[non_exhaustive]
pub struct RateLimitError {
    /// Requests a second that the client allows itself now.
    pub per_second: Option<f64>,
    /// When a call made now would have its turn.
    pub available_in: Duration,
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
#[derive(Debug, thiserror::Error)]
#[error("not settled after {} s{}", .waited.as_secs(), .state.as_ref().map(|state| format!(": it is {}", printable(state, 80))).unwrap_or_default())]
#[non_exhaustive]
pub struct WaitTimeout {
    /// The last state that the service reported, in its own word.
    pub state: Option<String>,
    /// How long the wait took.
    pub waited: Duration,
    /// How many polls were made.
    pub polls: u32,
    /// How many of them the service answered.
    pub answered: u32,
    /// The error of the last poll, if that one failed.
    #[source]
    pub last_error: Option<Box<Error>>,
}

impl WaitTimeout {
    /// What is waited for was accepted if the service answered once; else nothing is known of it.
    fn outcome(&self) -> Outcome {
        if self.answered > 0 { Outcome::Accepted } else { Outcome::Unknown }
    }
}
