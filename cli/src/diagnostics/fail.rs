//! Failures of commands, and the exit codes that tell scripts what to do next.

use std::error::Error as StdError;

use idempost::auth::{AuthError, StoreError};
use idempost::transport::TransportErrorKind;
use idempost::{
    IdempotencyKey, Outcome,
    error::{ApiErrorKind, Recovery},
};

use crate::diagnostics::{Diagnostic, Diagnostics, Origin};

/// The kinds of results that scripts can distinguish. The numbers are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Success.
    Ok,
    /// A local failure of no other kind.
    Error,
    /// The command line, configuration or input is invalid.
    Usage,
    /// The service rejected the request.
    Rejected,
    /// Requires an action: on the credential, the account, its domain or the connection.
    Auth,
    NotFound,
    /// Rate limited.
    Limited,
    /// The service was unreachable or failed, and the same command can't act twice.
    Unavailable,
    /// Not finished yet.
    Pending,
    /// The request may have been executed, and the same command could execute it twice.
    Unknown,
    /// Some items failed.
    Partial,
    /// A refreshed token couldn't be stored.
    CredentialNotSaved,
    /// Stopped by a signal.
    Interrupted,
}

/// One row of the exit code table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    /// The number.
    pub(crate) code: u8,
    /// The name in JSON output.
    pub(crate) name: &'static str,
    /// Its meaning.
    pub(crate) meaning: &'static str,
    /// The recommended action for scripts.
    pub(crate) advice: &'static str,
}

/// The table of exit codes, for help and failures.
pub(crate) static EXIT_CODES: &[Row] = &[
    row(Kind::Ok, 0, "ok", "success; also for an empty list", "continue"),
    row(Kind::Error, 1, "error", "any local failure not listed below", "read the message"),
    row(
        Kind::Usage,
        2,
        "usage",
        "invalid command line, configuration or input; nothing sent",
        "fix the input",
    ),
    row(
        Kind::Rejected,
        3,
        "rejected",
        "rejected, address suppressed, --wait or check failed",
        "fix the data",
    ),
    row(
        Kind::Auth,
        4,
        "auth",
        "credential, account, domain or connection needs a change",
        "log in, or change what the error names",
    ),
    row(Kind::NotFound, 5, "not_found", "not found", "create or skip"),
    row(Kind::Limited, 6, "limited", "rate limited, quota exhausted, or a job paused", "wait"),
    row(Kind::Unavailable, 7, "unavailable", "connection or service failed; repeating is safe", "retry"),
    row(Kind::Pending, 8, "pending", "timed out while waiting", "wait again"),
    row(
        Kind::Unknown,
        9,
        "unknown",
        "it may have been accepted; repeating could duplicate it",
        "add the printed --idempotency-key, or check",
    ),
    row(Kind::Partial, 10, "partial", "some items failed", "check the listed failures"),
    row(
        Kind::CredentialNotSaved,
        11,
        "credential_not_saved",
        "a refreshed token couldn't be stored",
        "fix the store and log in",
    ),
    row(Kind::Interrupted, 130, "interrupted", "stopped by Ctrl-C (130), SIGTERM (143) or SIGHUP (129)", "-"),
];

const fn row(kind: Kind, code: u8, name: &'static str, meaning: &'static str, advice: &'static str) -> Row {
    Row { kind, code, name, meaning, advice }
}

impl Kind {
    fn row(self) -> &'static Row {
        // A test checks that every kind has a row; the fallback is the cautious answer.
        EXIT_CODES.iter().find(|row| row.kind == self).unwrap_or(&EXIT_CODES[1])
    }

    /// The name in JSON output.
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn exit_code(self) -> u8 {
        self.row().code
    }
}

/// The signal that stopped the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The terminal closed.
    Hangup,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Fail {
    /// Invalid input; nothing was sent.
    Usage(Diagnostics),
    /// A call failed.
    Sdk(idempost::Error),
    /// The service rejected a change: nothing was done.
    RejectedChange(idempost::Error),
    /// A failed call with an idempotency key on the command line: the same command can't execute it twice.
    Repeatable(idempost::Error),
    /// A failed call that may have been executed, and that the same command could execute twice.
    UnknownOutcome {
        error: idempost::Error,
        /// The possible effect, and how to check.
        unknown_outcome: String,
    },
    /// One of the program's own failures.
    Own {
        kind: Kind,
        message: String,
        /// The cause.
        source: Option<Box<dyn StdError + Send + Sync>>,
        hint: Option<String>,
    },
    /// A signal stopped the program, or a confirmation was denied.
    Stopped { signal: Signal, message: String, hint: Option<String> },
    /// The command that was run exited with this code, or couldn't be started.
    Child { code: u8, message: Option<String> },
    /// Standard output was closed.
    BrokenPipe,
}

impl Fail {
    /// The kind, for scripts.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Usage(_) => Kind::Usage,
            Self::Sdk(error) | Self::RejectedChange(error) => classify(error, false),
            Self::Repeatable(error) => classify(error, true),
            Self::UnknownOutcome { .. } => Kind::Unknown,
            Self::Own { kind, .. } => *kind,
            Self::Child { .. } => Kind::Error,
            Self::Stopped { .. } => Kind::Interrupted,
            Self::BrokenPipe => Kind::Ok,
        }
    }

    /// The program's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Child { code, .. } => *code,
            Self::Stopped { signal: Signal::Terminate, .. } => 143,
            Self::Stopped { signal: Signal::Hangup, .. } => 129,
            other => other.kind().exit_code(),
        }
    }

    /// The failure of a changing call. Adds the possible effect if the same command could execute the call twice. `key_given`: whether the
    /// command line contains the idempotency key.
    pub(crate) fn from_call(error: idempost::Error, unknown_outcome: &str, key_given: bool) -> Self {
        // An accepted call with a lost response also needs a check. A read that prepares the change is rejected.
        let unread = matches!(error, idempost::Error::Decode(_)) && error.outcome() != Outcome::Rejected;
        if unread || classify(&error, key_given) == Kind::Unknown {
            return Self::UnknownOutcome { error, unknown_outcome: unknown_outcome.to_owned() };
        }
        if error.outcome() == Outcome::Unknown && key_given {
            Self::Repeatable(error)
        } else {
            Self::Sdk(error)
        }
    }

    /// Replaces the message about an unknown outcome, if the call had an idempotency key.
    pub(crate) fn with_key_hint(self, hint: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::UnknownOutcome { error, unknown_outcome } => {
                let hint = error.idempotency_key().map(|key| hint(key.as_str()));
                Self::UnknownOutcome { error, unknown_outcome: hint.unwrap_or(unknown_outcome) }
            }
            other => other,
        }
    }

    /// The message and the hint of one of the program's own failures.
    pub(crate) fn message_and_hint(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Self::Own { message, hint, .. } | Self::Stopped { message, hint, .. } => {
                Some((message, hint.as_deref()))
            }
            _ => None,
        }
    }

    /// The library's error, if any.
    pub(crate) fn sdk(&self) -> Option<&idempost::Error> {
        match self {
            Self::Sdk(error)
            | Self::RejectedChange(error)
            | Self::Repeatable(error)
            | Self::UnknownOutcome { error, .. } => Some(error),
            _ => None,
        }
    }

    /// One problem with the input, and the origin of the value.
    pub(crate) fn usage(code: &'static str, rule: impl Into<String>, origin: Option<Origin>) -> Self {
        vec![Diagnostic::new(code, rule, origin)].into()
    }

    /// Problems with the input, below a headline.
    pub(crate) fn invalid(headline: impl Into<String>, found: Vec<Diagnostic>) -> Self {
        Self::Usage(Diagnostics { summary: Some(headline.into()), found, ..Diagnostics::default() })
    }

    /// A use of the program that needs a feature which it was built without.
    pub(crate) fn missing_feature(subject: &str, feature: &str) -> Self {
        let found = Diagnostic::missing_feature(subject, feature);
        Self::invalid(found.problem.message.clone(), vec![found])
    }

    /// A failure of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self::Own { kind, message: message.into(), source: None, hint: None }
    }

    /// A local failure with its cause.
    pub(crate) fn local(message: impl Into<String>, source: impl StdError + Send + Sync + 'static) -> Self {
        let source = Some(Box::new(source).into());
        Self::Own { kind: Kind::Error, message: message.into(), source, hint: None }
    }

    /// A local failure without another error as its cause.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::new(Kind::Error, message)
    }

    /// There is no credential to send.
    pub(crate) fn auth(message: impl Into<String>) -> Self {
        Self::new(Kind::Auth, message)
    }

    /// Something that should exist on this machine doesn't.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// A server isn't reachable: a sandbox, or the service during a login.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    /// A wait ended in failure, or the service accepted nothing.
    pub(crate) fn rejected(message: impl Into<String>) -> Self {
        Self::new(Kind::Rejected, message)
    }

    /// A wait timed out.
    pub(crate) fn pending(message: impl Into<String>) -> Self {
        Self::new(Kind::Pending, message)
    }

    /// A signal stopped what the message describes.
    pub(crate) fn stopped(signal: Signal, message: impl Into<String>) -> Self {
        Self::Stopped { signal, message: message.into(), hint: None }
    }

    /// A signal stopped the program.
    pub(crate) fn interrupted(signal: Signal) -> Self {
        Self::stopped(signal, "interrupted")
    }

    /// Items failed: all of them, or some.
    pub(crate) fn items(all: bool, message: impl Into<String>) -> Self {
        Self::new(if all { Kind::Rejected } else { Kind::Partial }, message)
    }

    /// Sets the hint about the next step.
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        self.hint_if(Some(text))
    }

    /// Sets the hint about the next step, if there is one.
    pub(crate) fn hint_if(mut self, text: Option<impl Into<String>>) -> Self {
        if let (
            Some(text),
            Self::Usage(Diagnostics { help: hint, .. }) | Self::Own { hint, .. } | Self::Stopped { hint, .. },
        ) = (text, &mut self)
        {
            *hint = Some(text.into());
        }
        self
    }
}

impl From<idempost::Error> for Fail {
    fn from(error: idempost::Error) -> Self {
        Self::Sdk(error)
    }
}

impl From<Diagnostics> for Fail {
    fn from(report: Diagnostics) -> Self {
        Self::Usage(report)
    }
}

impl From<Vec<Diagnostic>> for Fail {
    fn from(found: Vec<Diagnostic>) -> Self {
        Self::Usage(found.into())
    }
}

impl From<Box<Diagnostic>> for Fail {
    fn from(found: Box<Diagnostic>) -> Self {
        Self::Usage(found.into())
    }
}

/// Classifies an error, first by its outcome, then by the change that the same command needs to succeed.
///
/// | outcome | repeating the command | kind |
/// |---|---|---|
/// | unknown | could act twice: the call isn't idempotent, or has a random key | `Unknown` |
/// | unknown | can't act twice, but can't succeed either | `Unknown` |
/// | unknown | can't act twice: a key on the command line, an update, a deletion | that of the error |
/// | accepted, with a key | | `Unknown` |
/// | not sent, rejected | can't act twice | that of the error |
///
/// | recovery | kind of the error |
/// |---|---|
/// | time alone | `Limited` by a rate or a quota, else `Unavailable` |
/// | an action is required | `Usage` for settings, `NotFound` for a 404 of the API, else `Auth` |
/// | nothing | `Usage` for the input, else `NotFound`, `Rejected`, or `Error` without a response |
fn classify(error: &idempost::Error, key_given: bool) -> Kind {
    use idempost::Error;
    let repeatable = error.is_retryable() && (key_given || error.idempotency_key().is_none());
    match error {
        // The operation that the command waits for was accepted earlier.
        Error::WaitTimeout(_) => Kind::Pending,
        // Accepted, or not the API's response: checking is safe, retrying needs the key.
        Error::Decode(unread) if unread.idempotency_key().is_some() => Kind::Unknown,
        Error::Decode(_) if error.outcome() == Outcome::Unknown => Kind::Unknown,
        error if error.outcome() == Outcome::Unknown && !repeatable => Kind::Unknown,
        Error::Invalid(_) | Error::Settings(_) | Error::File(_) => Kind::Usage,
        Error::Auth(error) if matches!(&**error, AuthError::Unreachable(cause) if cause.kind() == TransportErrorKind::Settings) => {
            Kind::Usage
        }
        Error::Auth(error) if matches!(**error, AuthError::NotSaved(_)) => Kind::CredentialNotSaved,
        // A disk, a permission or a keyring: another login wouldn't help.
        Error::Auth(error) if matches!(**error, AuthError::Store(StoreError::Unavailable { .. })) => {
            Kind::Error
        }
        Error::Auth(error) if matches!(**error, AuthError::Throttled { status: 429, .. }) => Kind::Limited,
        // A proxy's page: the login is intact.
        Error::Auth(error) if matches!(**error, AuthError::NotOAuthEndpoint { .. }) => Kind::Unavailable,
        error => match (error.recovery(), error) {
            (Recovery::Wait, Error::RateLimit(_)) => Kind::Limited,
            (Recovery::Wait, Error::Api(api))
                if matches!(api.kind(), ApiErrorKind::RateLimited | ApiErrorKind::QuotaExceeded) =>
            {
                Kind::Limited
            }
            (Recovery::Wait, _) => Kind::Unavailable,
            (_, Error::Api(api)) if api.kind() == ApiErrorKind::NotFound && !api.is_html() => Kind::NotFound,
            (Recovery::Act, _) => Kind::Auth,
            (_, Error::Api(_)) => Kind::Rejected,
            _ => Kind::Error,
        },
    }
}

/// The message about a request with an idempotency key that may have been executed: `what`, and how to repeat it.
pub(crate) fn repeatable_with(what: &str, key: &IdempotencyKey) -> String {
    format!("{what}; to retry safely within 24 hours, run the same command with `--idempotency-key {key}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_row() {
        let kinds = [
            Kind::Ok,
            Kind::Error,
            Kind::Usage,
            Kind::Rejected,
            Kind::Auth,
            Kind::NotFound,
            Kind::Limited,
            Kind::Unavailable,
            Kind::Pending,
            Kind::Unknown,
            Kind::Partial,
            Kind::CredentialNotSaved,
            Kind::Interrupted,
        ];
        assert_eq!(EXIT_CODES.iter().map(|row| row.kind).collect::<Vec<_>>(), kinds);
        let codes: std::collections::BTreeSet<_> = EXIT_CODES.iter().map(|row| row.code).collect();
        assert_eq!(codes.len(), EXIT_CODES.len());
    }

    #[test]
    fn a_signal_has_the_exit_code_that_shells_expect() {
        assert_eq!(Fail::interrupted(Signal::Interrupt).exit_code(), 130);
        assert_eq!(Fail::interrupted(Signal::Terminate).exit_code(), 143);
        assert_eq!(Fail::interrupted(Signal::Hangup).exit_code(), 129);
        assert_eq!(
            (Fail::Child { code: 7, message: None }.exit_code(), Fail::BrokenPipe.exit_code()),
            (7, 0)
        );
    }
}
