//! Why a command failed, and the exit code that tells a script what to do next.

use std::error::Error as StdError;

use posthaste::auth::AuthError;
use posthaste::{ApiErrorKind, Outcome};

use crate::diagnostics::Report;

/// What a script can tell apart. The numbers are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Done.
    Ok,
    /// A local failure that is none of the others.
    Error,
    /// The command line, the configuration or the input is wrong.
    Usage,
    /// The service said no.
    Rejected,
    /// No credential, or not a good enough one.
    Auth,
    /// There is no such thing.
    NotFound,
    /// Too many requests.
    Limited,
    /// The service could not be reached, or failed without harm.
    Unavailable,
    /// It is still going on.
    Pending,
    /// It may have been done.
    Unknown,
    /// Some of it was done.
    Partial,
    /// The service has replaced a token, and the new one could not be saved.
    CredentialNotSaved,
    /// Stopped by a signal.
    Interrupted,
}

/// One row of the table of exit codes.
#[derive(Debug)]
pub(crate) struct Row {
    /// The kind.
    pub(crate) kind: Kind,
    /// The number.
    pub(crate) code: u8,
    /// The name in JSON.
    pub(crate) name: &'static str,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// What a script should do.
    pub(crate) advice: &'static str,
}

/// The table that the help prints and that every failure reads its number from.
pub(crate) static EXIT_CODES: &[Row] = &[
    row(Kind::Ok, 0, "ok", "done; an empty list is ok, too", "go on"),
    row(Kind::Error, 1, "error", "a local failure not named below", "look"),
    row(Kind::Usage, 2, "usage", "command line, configuration or input wrong; nothing was sent", "fix"),
    row(Kind::Rejected, 3, "rejected", "the service said no, or what was waited for failed", "fix the data"),
    row(Kind::Auth, 4, "auth", "no credential, an expired one, or one that may not do this", "log in"),
    row(Kind::NotFound, 5, "not_found", "there is no such thing", "create or skip"),
    row(Kind::Limited, 6, "limited", "too many requests, after all retries", "wait"),
    row(
        Kind::Unavailable,
        7,
        "unavailable",
        "no connection, or the service failed and repeating is safe",
        "retry",
    ),
    row(Kind::Pending, 8, "pending", "the time for waiting ran out", "wait again"),
    row(
        Kind::Unknown,
        9,
        "unknown",
        "sent without an answer: it may have been accepted",
        "retry with the printed --idempotency-key",
    ),
    row(Kind::Partial, 10, "partial", "some items failed", "look at the list of failures"),
    row(
        Kind::CredentialNotSaved,
        11,
        "credential_not_saved",
        "the login was refreshed, and its new token can't be saved",
        "fix the store and log in",
    ),
    row(
        Kind::Interrupted,
        130,
        "interrupted",
        "stopped by Ctrl-C (130), by SIGTERM (143) or by SIGHUP (129)",
        "-",
    ),
];

const fn row(kind: Kind, code: u8, name: &'static str, meaning: &'static str, advice: &'static str) -> Row {
    Row { kind, code, name, meaning, advice }
}

impl Kind {
    fn row(self) -> &'static Row {
        // Every kind has a row, and a test that says so; the row of a local failure is the cautious answer.
        EXIT_CODES.iter().find(|row| row.kind == self).unwrap_or(&EXIT_CODES[1])
    }

    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    /// Its number.
    pub(crate) fn exit_code(self) -> u8 {
        self.row().code
    }
}

/// The signal that stopped the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// A polite request to end.
    Terminate,
    /// The terminal is gone.
    Hangup,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Fail {
    /// What was typed is wrong; nothing was sent.
    Usage(Report),
    /// The library failed.
    Sdk(posthaste::Error),
    /// The library failed, and nobody knows what the service has done.
    InDoubt {
        /// The error.
        error: posthaste::Error,
        /// What may have happened, and how to look.
        doubt: String,
    },
    /// Something on this machine failed.
    Local {
        /// The sentence.
        message: String,
        /// The cause.
        source: Option<Box<dyn StdError + Send + Sync>>,
        /// What to do.
        hint: Option<String>,
    },
    /// There is no credential to send.
    Auth {
        /// The sentence.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// What was asked for does not exist on this machine.
    NotFound {
        /// The sentence.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// What was asked is not there to answer: a sandbox, or the service at a login.
    Unavailable {
        /// The sentence.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// What was waited for ended badly, or the service took nothing of what it was given.
    Rejected {
        /// The sentence.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// What was waited for has not happened yet.
    Pending {
        /// The sentence.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Some of the items failed.
    Partial {
        /// The sentence.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A signal stopped the program.
    Interrupted(Signal),
    /// The program that was run ended with this code, or could not be run.
    Child { code: u8, message: Option<String> },
    /// Nobody reads standard output any more.
    BrokenPipe,
}

impl Fail {
    /// What a script can tell it by.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Usage(_) => Kind::Usage,
            Self::Sdk(error) | Self::InDoubt { error, .. } => of_sdk(error),
            Self::Local { .. } | Self::Child { .. } => Kind::Error,
            Self::Auth { .. } => Kind::Auth,
            Self::NotFound { .. } => Kind::NotFound,
            Self::Unavailable { .. } => Kind::Unavailable,
            Self::Rejected { .. } => Kind::Rejected,
            Self::Pending { .. } => Kind::Pending,
            Self::Partial { .. } => Kind::Partial,
            Self::Interrupted(_) => Kind::Interrupted,
            Self::BrokenPipe => Kind::Ok,
        }
    }

    /// The exit code of the program.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Child { code, .. } => *code,
            Self::Interrupted(Signal::Terminate) => 143,
            Self::Interrupted(Signal::Hangup) => 129,
            other => other.kind().exit_code(),
        }
    }

    /// The failure of a call. An error that leaves open what the service has done takes along what may have happened.
    pub(crate) fn of_call(error: posthaste::Error, doubt: &str) -> Self {
        if of_sdk(&error) == Kind::Unknown && error.idempotency_key().is_none() {
            return Self::InDoubt { error, doubt: doubt.to_owned() };
        }
        Self::Sdk(error)
    }

    /// What the library said.
    pub(crate) fn sdk(&self) -> Option<&posthaste::Error> {
        match self {
            Self::Sdk(error) | Self::InDoubt { error, .. } => Some(error),
            _ => None,
        }
    }

    /// A local failure with its cause.
    pub(crate) fn local(message: impl Into<String>, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Local { message: message.into(), source: Some(Box::new(source)), hint: None }
    }
}

impl From<posthaste::Error> for Fail {
    fn from(error: posthaste::Error) -> Self {
        Self::Sdk(error)
    }
}

impl From<Report> for Fail {
    fn from(report: Report) -> Self {
        Self::Usage(report)
    }
}

/// By what the service named it first, by its status second.
fn of_sdk(error: &posthaste::Error) -> Kind {
    use posthaste::Error;
    match error {
        Error::Invalid(_) | Error::Settings(_) | Error::File(_) => Kind::Usage,
        Error::Unreachable(_) => Kind::Unavailable,
        Error::Auth(error) if matches!(**error, AuthError::NotSaved(_)) => Kind::CredentialNotSaved,
        Error::Auth(error) if error.is_retryable() => Kind::Unavailable,
        Error::Auth(_) => Kind::Auth,
        Error::OutcomeUnknown(_) => Kind::Unknown,
        Error::WaitTimeout(_) => Kind::Pending,
        // A refusal at the end says nothing of an earlier attempt whose answer was lost.
        Error::Api(api) if error.outcome() == Outcome::Unknown && api.kind() != ApiErrorKind::Server => {
            Kind::Unknown
        }
        Error::Api(api) => match api.kind() {
            ApiErrorKind::Authentication | ApiErrorKind::Permission => Kind::Auth,
            ApiErrorKind::NotFound => Kind::NotFound,
            ApiErrorKind::RateLimited | ApiErrorKind::QuotaExceeded => Kind::Limited,
            ApiErrorKind::Server if error.outcome() == Outcome::Unknown && !error.is_retryable() => {
                Kind::Unknown
            }
            ApiErrorKind::Server => Kind::Unavailable,
            // The same key's first request is still at work.
            ApiErrorKind::IdempotencyConflict if error.is_retryable() => Kind::Unavailable,
            _ => Kind::Rejected,
        },
        // Accepted, but not told what: looking is safe, repeating needs the key.
        Error::Decode(unreadable) if unreadable.idempotency_key.is_some() => Kind::Unknown,
        _ => Kind::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_row_of_its_own() {
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
    fn a_signal_has_the_number_a_shell_expects() {
        assert_eq!(Fail::Interrupted(Signal::Interrupt).exit_code(), 130);
        assert_eq!(Fail::Interrupted(Signal::Terminate).exit_code(), 143);
        assert_eq!(Fail::Interrupted(Signal::Hangup).exit_code(), 129);
        assert_eq!(
            (Fail::Child { code: 7, message: None }.exit_code(), Fail::BrokenPipe.exit_code()),
            (7, 0)
        );
    }
}
