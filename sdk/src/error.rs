//! Errors: what failed, its outcome for the operation, and what to do about it.
//!
//! The first question after an error is [`Error::outcome`]: was the operation executed? The second is [`Error::recovery`]: what has to change before
//! it can succeed?

mod api;
mod auth;
mod decode;
mod error_body;
mod headers;
mod recovery;
mod store;
mod summary;
mod text;
mod transport;

pub use api::{ApiError, ApiErrorKind};
pub use auth::{AuthError, CallbackError, EndReason, Ended, OAuthError, OAuthErrorCode};
pub use decode::{DecodeCause, DecodeError};
#[cfg(feature = "oauth")]
pub(crate) use error_body::is_markup;
#[cfg(feature = "oauth")]
pub(crate) use headers::{date, retry_after};
pub(crate) use headers::{is_json, request_id};
pub use recovery::Recovery;
pub use store::StoreError;
pub(crate) use summary::CallSummary;
pub use summary::Outcome;
use text::with_causes;
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

/// An error returned by a call.
///
/// | variant | was the operation executed? | what to do |
/// |---|---|---|
/// | [`Invalid`](Self::Invalid) | no, nothing was sent | correct the input; every problem is listed |
/// | [`Settings`](Self::Settings) | no, nothing was sent | correct the client's settings |
/// | [`File`](Self::File) | no | make the file readable, and don't change it while it is being sent |
/// | [`Write`](Self::Write) | it was a read | fix the writer, which failed |
/// | [`Auth`](Self::Auth) | no, nothing was sent | depends on [`AuthError`]: log in, or retry later |
/// | [`RateLimit`](Self::RateLimit) | no, nothing was sent | allow a longer timeout, or send at a lower rate |
/// | [`Unreachable`](Self::Unreachable) | no, nothing reached the service, or it was only a read | retry later |
/// | [`Api`](Self::Api) | no, the service rejected it; unknown after a 408, a 5xx or, for a send, a 409 with an unknown name | depends on [`ApiError::kind`] |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown) | unknown | retry with the idempotency key in the error, which can't send twice |
/// | [`Decode`](Self::Decode) | yes, but the response couldn't be read; unknown if it isn't the API's | take the ID from [`DecodeError::id`], retry with the idempotency key, or get the record |
/// | [`Paging`](Self::Paging) | it was a read | report it: the service's pages are inconsistent |
/// | [`WaitTimeout`](Self::WaitTimeout) | yes, and it is still in progress | wait again |
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input breaks rules of the specification; nothing was sent.
    #[error("{}{}", first(.0), NOTHING_SENT)]
    Invalid(Problems),
    /// A setting of the client is missing or invalid; nothing was sent.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The file of an attachment or an import can't be read; nothing was sent.
    #[error("a file can't be read")]
    File(#[source] FileError),
    /// The session has no usable access token: the call was not sent, or the service rejected its token. All calls that waited for the same refresh
    /// fail with the same error.
    #[error("authentication failed")]
    Auth(#[source] Arc<AuthError>),
    /// The writer of a download failed.
    #[error("the download can't be written")]
    Write(#[source] std::io::Error),
    /// The client's own rate limiter has no slot before the call's deadline; nothing was sent.
    #[error(transparent)]
    RateLimit(RateLimitError),
    /// Nothing reached the service; or, for a read, no complete response arrived.
    #[error("{}{}", .0.headline(), NOTHING_DONE)]
    Unreachable(#[source] Box<TransportFailure>),
    /// The service returned an error response.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The request was sent and no complete response arrived: the service may have acted.
    #[error("the outcome is unknown: the request was sent, but no complete response arrived{}", .0.host_suffix())]
    OutcomeUnknown(#[source] Box<TransportFailure>),
    /// A 2xx whose body couldn't be read. If the body clearly comes from the API, the service accepted the request; otherwise, a proxy or another
    /// service may have responded. See [`DecodeError`].
    #[error("{}", .0.headline())]
    Decode(#[source] Box<DecodeError>),
    /// The pages of a list are inconsistent.
    #[error(transparent)]
    Paging(#[from] PagingError),
    /// The record did not reach a terminal state in time.
    #[error(transparent)]
    WaitTimeout(Box<WaitTimeout>),
}

const NOTHING_SENT: &str = "; nothing was sent";
const NOTHING_DONE: &str = "; nothing was done";

impl Error {
    /// Returns what failed and why, with all causes, on one line. Unlike the text of the error, it doesn't say that nothing was sent or done: it is for
    /// programs that state the [`outcome`](Self::outcome) of several calls together.
    pub fn reason(&self) -> String {
        let text = self.to_string();
        let reason = [NOTHING_SENT, NOTHING_DONE].iter().find_map(|outcome| text.strip_suffix(outcome));
        with_causes(reason.unwrap_or(&text).to_owned(), self)
    }

    /// Returns whether the operation was executed, considering all attempts.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Invalid(_)
            | Self::Settings(_)
            | Self::File(_)
            | Self::Write(_)
            | Self::RateLimit(_)
            | Self::Unreachable(_) => Outcome::NotSent,
            Self::Auth(error) => error.outcome(),
            Self::Api(error) => error.call.outcome,
            Self::OutcomeUnknown(_) => Outcome::Unknown,
            Self::Decode(error) => error.call.outcome,
            Self::Paging(_) => Outcome::Accepted,
            Self::WaitTimeout(wait) => wait.outcome(),
        }
    }

    /// Returns whether the same call may succeed later and, with the same [`idempotency_key`](Self::idempotency_key), can't act twice. The client's
    /// own retries follow the same rule.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Auth(error) => error.is_retryable(),
            Self::RateLimit(_) | Self::WaitTimeout(_) => true,
            _ => self.call().is_some_and(|call| call.retryable),
        }
    }

    /// Returns whether the call wasn't retried because the client's [retry budget](crate::call::RetryPolicy::budget) was exhausted.
    pub fn retry_budget_exhausted(&self) -> bool {
        self.call().is_some_and(|call| call.budget_exhausted)
    }

    fn call(&self) -> Option<&CallSummary> {
        match self {
            Self::Unreachable(failure) | Self::OutcomeUnknown(failure) => Some(&failure.call),
            Self::Api(error) => Some(&error.call),
            Self::Decode(error) => Some(&error.call),
            _ => None,
        }
    }

    pub(crate) fn call_mut(&mut self) -> Option<&mut CallSummary> {
        match self {
            Self::Unreachable(failure) | Self::OutcomeUnknown(failure) => Some(&mut failure.call),
            Self::Api(error) => Some(&mut error.call),
            Self::Decode(error) => Some(&mut error.call),
            _ => None,
        }
    }

    /// Updates the data about the call.
    #[must_use]
    pub(crate) fn with_call(mut self, call: CallSummary) -> Self {
        if let Some(summary) = self.call_mut() {
            *summary = call;
        }
        self
    }

    /// Returns the delay that the service requested, or the time until the client's rate limiter has a slot.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(error) => error.retry_after(),
            Self::Auth(error) => error.retry_after(),
            Self::RateLimit(error) => Some(error.available_in),
            _ => None,
        }
    }

    /// Returns the idempotency key with which the call can be retried within 24 hours without acting twice.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.call()?.idempotency_key.as_ref()
    }

    /// Returns the error response, if the service sent one.
    pub fn response(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            Self::Auth(error) => error.response(),
            _ => None,
        }
    }

    /// Returns the status of the response, if there was one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Decode(error) => Some(error.status),
            _ => self.response().map(|error| error.status),
        }
    }

    /// Returns the request ID, to include when you contact the service's support.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Decode(error) => error.request_id(),
            _ => self.response().and_then(ApiError::request_id),
        }
    }

    /// Returns the number of attempts.
    pub fn attempts(&self) -> u32 {
        self.call().or(self.response().map(|error| &error.call)).map_or(0, |call| call.attempts)
    }
}

conversions! {
    Error {
        AuthError: error => Self::Auth(Arc::new(error)),
        Problem: problem => Self::Invalid(problem.into()),
        Problems: problems => Self::Invalid(problems),
    }
}

/// Returns the first problem, and how many more there are.
fn first(problems: &Problems) -> String {
    let first = problems.first().map(ToString::to_string).unwrap_or_default();
    match problems.len() + problems.omitted() {
        0 | 1 => first,
        2 => format!("{first}, and 1 more problem"),
        n => format!("{first}, and {} more problems", n - 1),
    }
}

/// The client's own rate limiter has no slot for a call before its deadline.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the client's rate limit{} has no slot before the deadline (next in {} s){}",
    .per_second.map(|pace| format!(" of {pace}/s")).unwrap_or_default(), .available_in.as_secs_f64().ceil(), NOTHING_SENT
)]
#[non_exhaustive]
pub struct RateLimitError {
    /// The client's current rate, in requests per second; `None` while the service's limit is unknown.
    pub per_second: Option<f64>,
    /// The time until a call made now would be sent.
    pub available_in: Duration,
}

/// An inconsistency between the pages of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PagingError {
    /// A page reports that more items follow but is itself empty, so there is no cursor to continue from.
    #[error("the service reported more items, but returned an empty page")]
    EmptyPage,
    /// A page ends with the same item as an earlier page, so the list would never end.
    #[error("the service returned a page that ends with the same item as an earlier one: {0}")]
    Repeated(String),
    /// An item has no ID to continue from.
    #[error("the service returned an item without an ID, so the next page can't be requested")]
    NoId,
}

/// The state of a [`Wait`](crate::Wait) at its timeout.
#[derive(Debug, thiserror::Error)]
#[error("timed out after {} s waiting for a terminal state{}", .waited.as_secs(), .state.as_ref().map(|state| format!("; the last status is {}", printable(state, 80))).unwrap_or_default())]
#[non_exhaustive]
pub struct WaitTimeout {
    /// The last status that the service reported, in its own spelling.
    pub state: Option<String>,
    /// The duration of the wait.
    pub waited: Duration,
    /// The number of polls.
    pub polls: u32,
    /// The number of successful polls.
    pub successful_polls: u32,
    /// The error of the last poll, if it failed.
    #[source]
    pub last_error: Option<Box<Error>>,
}

impl WaitTimeout {
    /// The operation was accepted if any poll succeeded; otherwise its outcome is unknown.
    fn outcome(&self) -> Outcome {
        if self.successful_polls > 0 { Outcome::Accepted } else { Outcome::Unknown }
    }
}
