//! Errors of the shared queue.

use std::{error::Error, time::Duration};

use crate::clock::Step;

/// An error of the queue that the workers of a job share.
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
    /// A stream of the queue exists, with a configuration under which batches could be lost or sent twice.
    #[error(
        "the stream {stream} exists with another configuration: {problem}; delete it, or use another server or account"
    )]
    Incompatible {
        /// The stream.
        stream: String,
        /// The setting that differs.
        problem: String,
    },
    /// The streams of the queue can't be stored on as many servers as they should.
    #[error("couldn't store {stream} on {replicas} servers: {problem}")]
    Replicas {
        /// The stream.
        stream: String,
        /// The number of servers.
        replicas: usize,
        /// Why.
        problem: String,
    },
    /// The queue doesn't know the job, or what it stores of it is invalid.
    #[error("job `{job}`: {problem}")]
    Job {
        /// The job.
        job: String,
        /// The problem.
        problem: String,
    },
    /// The streams of the queue, or those of this job, are gone. The coordinator creates them again.
    #[error("couldn't {action}: the queue has lost its data; the coordinator of the job restores it")]
    Lost {
        /// What failed: `take a batch`.
        action: &'static str,
    },
    /// The queue didn't respond, or not in time. What failed may still have been executed.
    #[error("couldn't {action}")]
    Unavailable {
        /// What failed: `take a batch`.
        action: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The queue's clock was set by more than 5 minutes, so the ages of attempts can't be trusted until it is corrected.
    #[error(
        "the clock of the queue's server was set {} by {} min, so the age of attempts is unknown; nothing is sent until it is corrected",
        if *ahead { "ahead" } else { "back" }, by.as_secs().div_ceil(60)
    )]
    Clock {
        /// The difference to the time that it should show.
        by: Duration,
        /// Whether it was set ahead.
        ahead: bool,
    },
    /// A file of the job can't be read or written on this machine, or doesn't match its hash.
    #[error("job file {file}: {problem}")]
    File {
        /// The name of the file.
        file: String,
        /// The problem.
        problem: String,
    },
}

impl QueueError {
    /// Creates a function that says which action failed.
    pub(crate) fn unavailable<E>(action: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        move |source| Self::Unavailable { action, source: source.into() }
    }

    pub(crate) fn clock(Step { by, ahead }: Step) -> Self {
        Self::Clock { by, ahead }
    }

    /// The message with that of the cause.
    pub(crate) fn with_cause(&self) -> String {
        match self.source() {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }

    /// Returns whether the same call can succeed later without a change of options.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Lost { .. })
    }
}
