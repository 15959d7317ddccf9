//! Calls that ended without a complete response.

use std::{error::Error as StdError, fmt, io, path::PathBuf};

use super::{
    summary::{CallSummary, call_accessors},
    text::BUDGET_EXHAUSTED,
};
use crate::transport::{TransportError, TransportErrorKind};

/// A call that ended without a complete response.
#[derive(Debug)]
#[non_exhaustive]
pub struct TransportFailure {
    /// The failure of the last attempt.
    pub transport: TransportError,
    pub(super) call: CallSummary,
}

call_accessors!(TransportFailure);

impl TransportFailure {
    pub(crate) fn new(transport: TransportError, call: CallSummary) -> Self {
        Self { transport, call }
    }

    /// Returns the operation, such as `emails.send`.
    pub fn operation(&self) -> &'static str {
        self.call.operation
    }

    pub(super) fn headline(&self) -> String {
        let host = self.transport.host.as_deref().unwrap_or("the service");
        match self.transport.kind() {
            TransportErrorKind::TooLarge => "the service's response can't be read".to_owned(),
            TransportErrorKind::Connect | TransportErrorKind::Tls | TransportErrorKind::Proxy => {
                format!("{host} is unreachable")
            }
            _ if self.transport.in_body => format!("the response from {host} is incomplete"),
            _ => format!("no response from {host}"),
        }
    }

    /// Returns the host of a last attempt that got no connection, after earlier ones that did.
    pub(super) fn host_suffix(&self) -> String {
        let host = self.transport.host.as_ref().filter(|_| {
            matches!(
                self.transport.kind(),
                TransportErrorKind::Connect | TransportErrorKind::Tls | TransportErrorKind::Proxy
            )
        });
        host.map(|host| format!(" from {host}")).unwrap_or_default()
    }
}

/// The failure and the number of attempts. The error that contains this names the host; the cause is the source.
impl fmt::Display for TransportFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = self.attempts();
        let plural = if attempts == 1 { "" } else { "s" };
        write!(f, "{} ({attempts} attempt{plural})", self.transport.reason())?;
        f.write_str(if self.call.budget_exhausted { BUDGET_EXHAUSTED } else { "" })
    }
}

impl StdError for TransportFailure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.transport.source()
    }
}

/// A file that can't be attached.
#[derive(Debug, thiserror::Error)]
#[error("{}", if .path.as_os_str().is_empty() { "reading failed during the send".into() } else { .path.display().to_string() })]
#[non_exhaustive]
pub struct FileError {
    /// The file; empty if reading failed during the send, in which case `source` names it.
    pub path: PathBuf,
    /// The I/O error.
    pub source: io::Error,
}

impl FileError {
    /// Creates the error for a request body that couldn't be read to its end.
    pub(crate) fn in_flight(error: TransportError) -> Self {
        let source = error.source.unwrap_or_else(|| "the file couldn't be read".into());
        let source = match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        };
        Self { path: PathBuf::new(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::{Error, Outcome, chain},
        transport::RequestDelivery,
    };

    #[test]
    fn an_error_and_its_causes_name_the_host_once() {
        for (kind, expected) in [
            (
                TransportErrorKind::Connect,
                "a.test through P is unreachable; nothing was done: couldn't connect (2 attempts): refused",
            ),
            (
                TransportErrorKind::Tls,
                "a.test through P is unreachable; nothing was done: couldn't establish a trusted TLS connection (2 attempts): refused",
            ),
            (
                TransportErrorKind::Proxy,
                "a.test through P is unreachable; nothing was done: the proxy refused the connection (2 attempts): refused",
            ),
            (
                TransportErrorKind::Closed,
                "no response from a.test through P; nothing was done: the connection was closed before the response was complete (2 attempts): refused",
            ),
        ] {
            let failure = |outcome| {
                let error = TransportError::new(RequestDelivery::NotSent, kind);
                let error = error.with_host("a.test through P").with_source("refused");
                let call = CallSummary {
                    operation: "emails.send",
                    attempts: 2,
                    retryable: true,
                    ..CallSummary::of_request(outcome)
                };
                Box::new(TransportFailure::new(error, call))
            };
            let unreachable = Error::Unreachable(failure(Outcome::NotSent));
            assert_eq!(chain(&unreachable), expected);
            assert_eq!(unreachable.reason(), expected.replace("; nothing was done", ""));
            // An earlier attempt may have been executed.
            let unknown = chain(&Error::OutcomeUnknown(failure(Outcome::Unknown)));
            let times = usize::from(kind != TransportErrorKind::Closed);
            assert_eq!(unknown.matches("a.test through P").count(), times, "{unknown}");
        }
    }

    #[test]
    fn an_unreachable_service_is_named() {
        for (kind, expected) in [
            (TransportErrorKind::Connect, "127.0.0.1:1 is unreachable; nothing was done"),
            (TransportErrorKind::Timeout, "no response from 127.0.0.1:1; nothing was done"),
        ] {
            let error = TransportError::new(RequestDelivery::NotSent, kind).with_host("127.0.0.1:1");
            let call = CallSummary {
                operation: "emails.send",
                retryable: true,
                ..CallSummary::of_request(Outcome::NotSent)
            };
            let error = Error::Unreachable(Box::new(TransportFailure::new(error, call)));
            assert_eq!(error.to_string(), expected);
        }
    }
}
