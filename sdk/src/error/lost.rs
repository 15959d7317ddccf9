//! Requests without a whole answer, answers without a meaning, files that can't be read.

use std::{error::Error as StdError, fmt, io, path::PathBuf};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::{Error, idempotency::Idempotency, text::printable};
use crate::{
    transport::{RequestDelivery, TransportError, TransportErrorKind},
    types::IdempotencyKey,
};

/// Bytes of an unreadable answer that are kept to look at.
const SAMPLE: usize = 512;

/// A request that got no whole answer, at its last attempt.
#[derive(Debug)]
#[non_exhaustive]
pub struct TransportFailure {
    /// Which operation: `emails.send`.
    pub operation: &'static str,
    /// How many times it was tried.
    pub attempts: u32,
    /// The key that all attempts carried.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Whether the call can be repeated without harm (with that key, if there is one).
    pub idempotency: Idempotency,
    /// What happened at the last one.
    pub transport: TransportError,
}

/// What happened, and how often it was tried. What is underneath is the source.
impl fmt::Display for TransportFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.transport, attempts_text(self.attempts))
    }
}

impl StdError for TransportFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.transport.source()
    }
}

fn attempts_text(attempts: u32) -> String {
    if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") }
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
    fn in_flight(lost: TransportFailure) -> Self {
        let source = lost.transport.source.unwrap_or_else(|| "the file could not be read".into());
        let source = match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        };
        Self { path: PathBuf::new(), source }
    }
}

/// A successful answer that is not what the specification promises.
#[derive(Debug, thiserror::Error)]
#[error("{} is not what the specification promises", if .path.is_empty() || .path == "." { "the body" } else { .path.as_str() })]
#[non_exhaustive]
pub struct DecodeError {
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

impl DecodeError {
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

/// What a call had tried when it ended.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) operation: &'static str,
    pub(crate) attempts: u32,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) idempotency: Idempotency,
    /// The operation changes nothing at the service.
    pub(crate) reads: bool,
    /// An attempt ended with an unknown outcome.
    pub(crate) unknown: bool,
}

impl Tried {
    /// The error for a request that got no whole answer.
    pub(crate) fn lost(&self, source: TransportError) -> Error {
        let unknown = self.unknown || source.delivery == RequestDelivery::Unknown;
        let file = source.kind == TransportErrorKind::Body;
        let lost = Box::new(TransportFailure {
            operation: self.operation,
            attempts: self.attempts,
            idempotency_key: self.key.clone(),
            idempotency: self.idempotency,
            transport: source,
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Tried {
        pub(crate) fn once() -> Self {
            let (operation, idempotency) = ("test", Idempotency::Idempotent);
            Self { operation, attempts: 1, key: None, idempotency, reads: false, unknown: false }
        }
    }
}
