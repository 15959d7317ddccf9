//! What can go wrong, what each error means for the thing that was asked for, and what to do.
//!
//! The question that matters after an error is [`Error::outcome`]: was it done? The second is [`Error::is_retryable`].

use std::{error::Error as StdError, fmt, io, path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use crate::{
    check::Problems,
    keys::IdempotencyKey,
    retry::{self, Replay},
    transport::{Reached, TransportError, TransportErrorKind},
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Bytes of an unreadable answer that are kept to look at.
const SAMPLE: usize = 512;

/// Everything that a call can fail with.
///
/// | variant | was it done? | what to do |
/// |---|---|---|
/// | [`Invalid`](Self::Invalid) | no, nothing was sent | correct the input; every problem is listed |
/// | [`Settings`](Self::Settings) | no, nothing was sent | correct the client's settings |
/// | [`File`](Self::File) | no | make the file readable and unchanging |
/// | [`Unreachable`](Self::Unreachable) | no, nothing reached the service, or it was only a read | try again later |
/// | [`Api`](Self::Api) | no, the service refused; a 5xx leaves it open | by [`ApiError::kind`] |
/// | [`OutcomeUnknown`](Self::OutcomeUnknown) | perhaps | repeat with the key that it carries: that can't do it twice |
/// | [`Unreadable`](Self::Unreadable) | yes, the answer could not be read | repeat with the key, or look the thing up |
/// | [`Paging`](Self::Paging) | reading only | report it: the service contradicts itself |
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
    /// Nothing reached the service; or, for an operation that only reads, no whole answer came back.
    #[error("no answer from the service; nothing was done")]
    Unreachable(#[source] Box<Lost>),
    /// The service answered with an error.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The request left and no whole answer came back: the service may have acted.
    #[error("the outcome is unknown: the request left and no whole answer came back")]
    OutcomeUnknown(#[source] Box<Lost>),
    /// The service accepted, but its answer could not be read.
    #[error("the service accepted (status {}), but its answer could not be read", .0.status.as_u16())]
    Unreadable(#[source] Box<Unreadable>),
    /// A list contradicts itself.
    #[error(transparent)]
    Paging(#[from] PagingError),
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
            Self::Invalid(_) | Self::Settings(_) | Self::File(_) | Self::Unreachable(_) => Outcome::NotSent,
            Self::Api(error) if error.may_have_acted() => Outcome::Unknown,
            Self::Api(_) => Outcome::Rejected,
            Self::OutcomeUnknown(_) => Outcome::Unknown,
            Self::Unreadable(_) | Self::Paging(_) => Outcome::Accepted,
        }
    }

    /// Whether the same call can succeed later without a change, and without doing the thing twice when the
    /// [`idempotency_key`](Self::idempotency_key) is given again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable(lost) => lost.source.kind() != TransportErrorKind::Tls,
            Self::OutcomeUnknown(lost) => lost.replay == Replay::Safe,
            Self::Unreadable(unreadable) => unreadable.idempotency_key.is_some(),
            Self::Api(error) => match error.kind() {
                ApiErrorKind::RateLimited => true,
                ApiErrorKind::Server => error.replay == Replay::Safe,
                _ => error.name == "concurrent_idempotent_requests",
            },
            _ => false,
        }
    }

    /// The pause that the service asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Api(error) = self { error.retry_after() } else { None }
    }

    /// The key with which the call can be repeated without doing the thing twice, within 24 hours.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        match self {
            Self::Api(error) => error.idempotency_key.as_ref(),
            Self::Unreachable(lost) | Self::OutcomeUnknown(lost) => lost.idempotency_key.as_ref(),
            Self::Unreadable(unreadable) => unreadable.idempotency_key.as_ref(),
            _ => None,
        }
    }

    /// The status of the answer, if one came.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Api(error) => Some(error.status),
            Self::Unreadable(unreadable) => Some(unreadable.status),
            _ => None,
        }
    }

    /// The service's name for this request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Api(error) => error.request_id(),
            Self::Unreadable(unreadable) => request_id(&unreadable.headers),
            _ => None,
        }
    }

    /// How many times the request was sent, or tried to.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::Api(error) => error.attempts,
            Self::Unreachable(lost) | Self::OutcomeUnknown(lost) => lost.attempts,
            Self::Unreadable(unreadable) => unreadable.attempts,
            _ => 0,
        }
    }

    pub(crate) fn invalid(problem: crate::check::Problem) -> Self {
        Self::Invalid(problem.into())
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

/// A setting of the client that is missing or wrong. A secret is named but never repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {rule}{}", .found.as_ref().map(|found| format!(" (found {found})")).unwrap_or_default())]
#[non_exhaustive]
pub struct SettingsError {
    /// Which: `base_url`, `api_key`, `timeout`, or the environment variable that it came from.
    pub setting: String,
    /// The rule: `must be an absolute http or https address`.
    pub rule: String,
    /// What was found instead, unless it is secret.
    pub found: Option<String>,
}

impl SettingsError {
    pub(crate) fn new(setting: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { setting: setting.into(), rule: rule.into(), found: None }
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }
}

/// A file that can't be attached.
#[derive(Debug, thiserror::Error)]
#[error("{}", if .path.as_os_str().is_empty() { "it broke off while it was sent".into() } else { .path.display().to_string() })]
#[non_exhaustive]
pub struct FileError {
    /// The file; empty when it broke off while it was sent, and `source` then names it.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

impl FileError {
    fn in_flight(lost: Lost) -> Self {
        let source = lost.source.source.unwrap_or_else(|| "the file could not be read".into());
        let source = match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        };
        Self { path: PathBuf::new(), source }
    }
}

/// A request that got no whole answer, at its last attempt.
#[derive(Debug, thiserror::Error)]
#[error("`{operation}` gave up after {}", attempts_text(*.attempts))]
#[non_exhaustive]
pub struct Lost {
    /// Which operation: `emails.send`.
    pub operation: &'static str,
    /// How many times it was tried.
    pub attempts: u32,
    /// The key that all attempts carried.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether the call can be repeated without harm (with that key, if there is one).
    pub replay: Replay,
    /// What happened at the last one.
    pub source: TransportError,
}

fn attempts_text(attempts: u32) -> String {
    if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") }
}

/// A successful answer that is not what the specification promises.
#[derive(Debug, thiserror::Error)]
#[error("{} is not what the specification promises", if .path.is_empty() || .path == "." { "the body" } else { .path.as_str() })]
#[non_exhaustive]
pub struct Unreadable {
    /// The status of the answer.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// The field that could not be read: `data[3].id`.
    pub path: String,
    /// The start of the body, at most 512 bytes; control characters are shown as escapes.
    pub sample: String,
    /// How many times the request was sent.
    pub attempts: u32,
    /// The key that all attempts carried.
    pub idempotency_key: Option<IdempotencyKey>,
    /// What the decoder says.
    pub source: serde_json::Error,
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

/// The service's answer when it says no, with all that arrived.
#[derive(Clone, thiserror::Error)]
#[error("{}", self.line())]
#[non_exhaustive]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// The error's name, `validation_error` and the like; empty when the answer had none.
    pub name: String,
    /// The service's sentence; empty when the answer had none.
    pub message: String,
    /// All headers of the answer.
    pub headers: HeaderMap,
    /// The body, whatever it was.
    pub body: Bytes,
    /// How many times the request was sent.
    pub attempts: u32,
    /// The key that all attempts carried.
    pub idempotency_key: Option<IdempotencyKey>,
    replay: Replay,
    /// An attempt before this one ended with an unknown outcome.
    earlier_unknown: bool,
}

/// What a call had tried when it ended.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) operation: &'static str,
    pub(crate) attempts: u32,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) replay: Replay,
    /// The operation changes nothing at the service.
    pub(crate) reads: bool,
    /// An attempt ended with an unknown outcome.
    pub(crate) unknown: bool,
}

impl Tried {
    /// The error for a request that got no whole answer.
    pub(crate) fn lost(&self, source: TransportError) -> Error {
        let unknown = self.unknown || source.reached == Reached::Unknown;
        let file = source.kind == TransportErrorKind::Body;
        let lost = Box::new(Lost {
            operation: self.operation,
            attempts: self.attempts,
            idempotency_key: self.key.clone(),
            replay: self.replay,
            source,
        });
        if unknown && !self.reads {
            Error::OutcomeUnknown(lost)
        } else if file {
            Error::File(FileError::in_flight(*lost))
        } else {
            Error::Unreachable(lost)
        }
    }
}

/// What an [`ApiError`] means. Decided by its name first, by its status second: the service uses 400 and 422 alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// Something in the request is wrong.
    Validation,
    /// No credential, or one that is not accepted.
    Authentication,
    /// The credential may not do this.
    Permission,
    /// There is no such thing.
    NotFound,
    /// Another change is under way, or the thing's state forbids this one.
    Conflict,
    /// The idempotency key was used for another body, or its first request is still running.
    IdempotencyConflict,
    /// Too many requests in a short time.
    RateLimited,
    /// The quota of the day or the month is used up.
    QuotaExceeded,
    /// The service failed.
    Server,
    /// The answer points elsewhere. Redirects are never followed.
    Redirect,
    /// Anything else.
    Other,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorBody {
    #[serde(deserialize_with = "text_or_nothing")]
    name: String,
    #[serde(deserialize_with = "text_or_nothing")]
    error: String,
    #[serde(deserialize_with = "text_or_nothing")]
    message: String,
    #[serde(deserialize_with = "text_or_nothing")]
    error_description: String,
}

/// An error's body is read as far as it makes sense: a number where a text is expected is no reason to lose the rest.
fn text_or_nothing<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Lenient {
        Text(String),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Lenient::deserialize(deserializer)? {
        Lenient::Text(text) => text,
        Lenient::Other(_) => String::new(),
    })
}

impl ApiError {
    pub(crate) fn from_answer(answer: http::Response<Bytes>, tried: &Tried) -> Self {
        let (parts, body) = answer.into_parts();
        let read: ErrorBody = serde_json::from_slice(&body).unwrap_or_default();
        let either = |first: String, second| if first.is_empty() { second } else { first };
        Self {
            status: parts.status,
            name: either(read.name, read.error),
            message: either(read.message, read.error_description),
            headers: parts.headers,
            body,
            attempts: tried.attempts,
            idempotency_key: tried.key.clone(),
            replay: tried.replay,
            earlier_unknown: tried.unknown,
        }
    }

    /// What the error means.
    pub fn kind(&self) -> ApiErrorKind {
        match self.name.as_str() {
            "validation_error"
            | "missing_required_field"
            | "missing_required_parameter"
            | "invalid_parameter"
            | "invalid_attachment"
            | "invalid_idempotency_key"
            | "invalid_from_address"
            | "invalid_region" => ApiErrorKind::Validation,
            "missing_api_key" | "invalid_api_key" | "suspended_api_key" => ApiErrorKind::Authentication,
            "restricted_api_key" | "invalid_permission" | "invalid_access" => ApiErrorKind::Permission,
            "not_found" => ApiErrorKind::NotFound,
            "invalid_idempotent_request" | "concurrent_idempotent_requests" => {
                ApiErrorKind::IdempotencyConflict
            }
            "resource_locked" => ApiErrorKind::Conflict,
            "rate_limit_exceeded" => ApiErrorKind::RateLimited,
            "daily_quota_exceeded" | "monthly_quota_exceeded" => ApiErrorKind::QuotaExceeded,
            "application_error" | "internal_server_error" | "service_unavailable" => ApiErrorKind::Server,
            _ => self.kind_by_status(),
        }
    }

    fn kind_by_status(&self) -> ApiErrorKind {
        match self.status.as_u16() {
            400 | 413 | 415 | 422 => ApiErrorKind::Validation,
            401 => ApiErrorKind::Authentication,
            403 => ApiErrorKind::Permission,
            404 | 410 => ApiErrorKind::NotFound,
            409 => ApiErrorKind::Conflict,
            429 => ApiErrorKind::RateLimited,
            300..=399 => ApiErrorKind::Redirect,
            408 | 425 | 500..=599 => ApiErrorKind::Server,
            _ => ApiErrorKind::Other,
        }
    }

    /// The pause that the service asked for: `Retry-After` in seconds or as a date.
    pub fn retry_after(&self) -> Option<Duration> {
        retry::retry_after(&self.headers)
    }

    /// The service's name for this request.
    pub fn request_id(&self) -> Option<&str> {
        request_id(&self.headers)
    }

    /// Whether the service may have acted: it failed half-way, or an earlier attempt had an unknown outcome.
    fn may_have_acted(&self) -> bool {
        self.kind() == ApiErrorKind::Server || self.earlier_unknown
    }

    fn line(&self) -> String {
        let mut line = format!("the service answered {}", self.status.as_u16());
        for text in [&self.name, &self.message] {
            if !text.is_empty() {
                line.push_str(if line.ends_with(&self.name) && !self.name.is_empty() { ": " } else { " " });
                line.push_str(&printable(text, 300));
            }
        }
        if self.kind() == ApiErrorKind::Redirect {
            let to =
                self.headers.get(http::header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            let to = url::Url::parse(to).ok().and_then(|to| to.host_str().map(str::to_owned));
            line.push_str(", a redirect to ");
            line.push_str(&printable(to.as_deref().unwrap_or("another address"), 100));
            line.push_str(", which is not followed");
        }
        line
    }
}

/// `Debug` leaves the body out: it can repeat what was sent.
impl fmt::Debug for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiError")
            .field("status", &self.status.as_u16())
            .field("name", &self.name)
            .field("message", &self.message)
            .field("request_id", &self.request_id())
            .field("attempts", &self.attempts)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

fn request_id(headers: &HeaderMap) -> Option<&str> {
    let name = ["x-request-id", "request-id"].into_iter().find(|name| headers.contains_key(*name))?;
    headers.get(name)?.to_str().ok()
}

impl Unreadable {
    pub(crate) fn from_answer(
        answer: http::Response<Bytes>,
        error: serde_path_to_error::Error<serde_json::Error>,
        tried: &Tried,
    ) -> Self {
        let path = error.path().to_string();
        let (parts, body) = answer.into_parts();
        let sample = printable(&String::from_utf8_lossy(&body[..body.len().min(SAMPLE)]), SAMPLE);
        Self {
            status: parts.status,
            headers: parts.headers,
            path,
            sample,
            attempts: tried.attempts,
            idempotency_key: tried.key.clone(),
            source: error.into_inner(),
        }
    }
}

/// Text from elsewhere on one line: control and direction characters as escapes, cut at so many characters.
fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == most {
            shown.push('…');
            break;
        }
        let steers = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The error, its causes after it, in one line: for logs. `Display` alone leaves the causes to `source()`.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Tried {
        pub(crate) fn once() -> Self {
            let (operation, replay) = ("test", Replay::Safe);
            Self { operation, attempts: 1, key: None, replay, reads: false, unknown: false }
        }
    }

    fn answer(status: u16, body: &'static [u8]) -> ApiError {
        let mut answer = http::Response::new(Bytes::from_static(body));
        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
        ApiError::from_answer(answer, &Tried::once())
    }

    #[test]
    fn a_body_of_any_shape_makes_an_error_with_its_status() {
        // ERR-06
        for body in [
            b"".as_slice(),
            b"null",
            b"[]",
            b"\"x\"",
            b"<html>Bad gateway</html>",
            b"{\"name\":7}",
            b"{\"name\":null,\"message\":[1]}",
            b"\xff\xfe",
            b"{",
        ] {
            let error = answer(502, body);
            assert_eq!((error.status.as_u16(), error.name.as_str()), (502, ""), "{body:?}");
            assert_eq!(error.body, body);
            assert_eq!(error.to_string(), "the service answered 502");
        }
        let flat = answer(422, br#"{"statusCode":422,"name":"validation_error","message":"no `to`"}"#);
        assert_eq!(flat.to_string(), "the service answered 422 validation_error: no `to`");
        let oauth = answer(400, br#"{"error":"invalid_grant","error_description":"used"}"#);
        assert_eq!((oauth.name.as_str(), oauth.message.as_str()), ("invalid_grant", "used"));
    }

    #[test]
    fn the_name_decides_before_the_status() {
        // ERR-07
        for (status, name, kind) in [
            (400, "validation_error", ApiErrorKind::Validation),
            (422, "validation_error", ApiErrorKind::Validation),
            (403, "validation_error", ApiErrorKind::Validation),
            (422, "missing_required_field", ApiErrorKind::Validation),
            (401, "missing_api_key", ApiErrorKind::Authentication),
            (403, "invalid_api_key", ApiErrorKind::Authentication),
            (401, "restricted_api_key", ApiErrorKind::Permission),
            (403, "invalid_permission", ApiErrorKind::Permission),
            (404, "not_found", ApiErrorKind::NotFound),
            (409, "invalid_idempotent_request", ApiErrorKind::IdempotencyConflict),
            (409, "something_new", ApiErrorKind::Conflict),
            (429, "rate_limit_exceeded", ApiErrorKind::RateLimited),
            (429, "daily_quota_exceeded", ApiErrorKind::QuotaExceeded),
            (500, "application_error", ApiErrorKind::Server),
            (503, "", ApiErrorKind::Server),
            (308, "", ApiErrorKind::Redirect),
            (418, "teapot", ApiErrorKind::Other),
        ] {
            let body = serde_json::json!({"name": name, "message": ""}).to_string();
            let mut answer = http::Response::new(Bytes::from(body));
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            assert_eq!(ApiError::from_answer(answer, &Tried::once()).kind(), kind, "{status} {name}");
        }
    }

    #[test]
    fn text_of_the_service_cant_steer_a_terminal() {
        let error = answer(422, b"{\"name\":\"x\",\"message\":\"\\u001b]52;c;aGk=\\u0007 \\u202e\\u0085\"}");
        let line = error.to_string();
        assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}
