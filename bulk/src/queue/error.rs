//! Errors of the shared queue.

use std::{error::Error, io, path::Path, time::Duration};

use crate::clock::Step;

/// An error of the queue shared by a job's workers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// An option is invalid: the address, a certificate, a credential.
    #[error("invalid queue {option}: {problem}")]
    Option {
        /// The option: `address`, `credentials file`, `CA certificate`.
        option: &'static str,
        /// The problem. It never contains a credential.
        problem: String,
    },
    /// No server could be reached, or none accepted the credentials.
    #[error("couldn't connect to the queue at {address}")]
    Connect {
        /// The addresses, without credentials.
        address: String,
        /// The cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server is too old.
    #[error("the queue at {address} runs NATS {version}; bulk sending requires 2.12 or later")]
    ServerVersion {
        /// The addresses, without credentials.
        address: String,
        /// The version that the server reports.
        version: String,
    },
    /// A stream of the queue exists with a configuration under which batches could be lost or sent twice.
    #[error(
        "the stream {stream} exists with a different configuration: {problem}; delete it, or use another server or account"
    )]
    Incompatible {
        /// The stream.
        stream: String,
        /// The setting that differs.
        problem: String,
    },
    /// The queue's streams can't be stored on the requested number of servers.
    #[error("couldn't store {stream} on {replicas} servers: {problem}")]
    Replicas {
        /// The stream.
        stream: String,
        /// The number of servers.
        replicas: usize,
        /// The reason.
        problem: String,
    },
    /// The queue doesn't know the job, or the stored job is invalid.
    #[error("job `{job}`: {problem}")]
    Job {
        /// The job.
        job: String,
        /// The problem.
        problem: String,
    },
    /// The queue's or the job's streams are missing. The coordinator creates them again.
    #[error("couldn't {action}: the queue has lost its data; the job's coordinator will restore it")]
    Lost {
        /// The failed action, such as `take a batch`.
        action: &'static str,
    },
    /// The queue didn't respond in time. The failed action may still have been executed.
    #[error("couldn't {action}")]
    Unavailable {
        /// The failed action, such as `take a batch`.
        action: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The queue's clock was changed by more than 5 minutes, so the ages of attempts can't be trusted until it is corrected.
    #[error(
        "the queue server's clock was set {} by {} min, so the age of attempts is unknown; sending resumes once it is corrected",
        if *ahead { "ahead" } else { "back" }, by.as_secs().div_ceil(60)
    )]
    Clock {
        /// The difference from the expected time.
        by: Duration,
        /// Whether the clock is ahead.
        ahead: bool,
    },
    /// A job file can't be read or written on this machine, or doesn't match its hash.
    #[error("job file {file}: {problem}")]
    File {
        /// The name of the file.
        file: String,
        /// The problem.
        problem: String,
    },
}

impl QueueError {
    /// Creates a function that adds the failed action to an error.
    pub(crate) fn unavailable<E>(action: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        move |source| Self::Unavailable { action, source: source.into() }
    }

    /// Creates the error of an option.
    pub(crate) fn option(option: &'static str, problem: impl Into<String>) -> Self {
        Self::Option { option, problem: problem.into() }
    }

    /// Creates the error of an option whose file can't be read.
    pub(crate) fn unreadable(option: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::option(option, format!("couldn't read {}: {error}", path.display()))
    }

    /// Creates the error of a job.
    pub(crate) fn job(job: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Job { job: job.into(), problem: problem.into() }
    }

    pub(crate) fn clock(Step { by, ahead }: Step) -> Self {
        Self::Clock { by, ahead }
    }

    /// Returns the message together with its cause's message.
    pub(crate) fn with_cause(&self) -> String {
        match self.source() {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    /// Returns whether the same call can succeed later with the same options.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Lost { .. })
    }
}
