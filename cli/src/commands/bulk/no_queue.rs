//! Replaces `queue.rs` in a program without the feature `nats`: jobs can't be distributed.

use std::future::Ready;

use idempost::Client;
use idempost_bulk::{Account, Job, Run};

use super::job;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail};
use crate::input::flags::Flags;

// No doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct QueueArgs {
    // A variable that is set for workers must not be ignored.
    #[arg(long, env = "IDEMPOST_QUEUE", hide = true, hide_env_values = true)]
    queue: Option<String>,
}

pub(super) type DistributeArgs = QueueArgs;

impl QueueArgs {
    /// Whether a queue is named; an empty variable counts as unset.
    pub(super) fn is_given(&self) -> bool {
        self.queue.as_deref().is_some_and(|address| !address.is_empty())
    }

    /// Rejects a queue.
    pub(super) fn read(&self, _: Option<f64>, flags: &mut Flags) -> Option<Distribution> {
        if self.is_given() {
            flags.push(Diagnostic::missing_feature("`--queue`", "nats"));
        }
        None
    }

    /// Fails if workers may be sending the job, since they can't be stopped.
    pub(super) async fn workers(&self, job: &Job, _: &str, _: &Context) -> Result<Option<Workers>, Fail> {
        if let Some(part) = job::part_with_only_workers(job).await? {
            let subject = format!("stopping the workers of job {}", part.plan().id());
            return Err(Fail::missing_feature(&subject, "nats"));
        }
        let mut flags = Flags::default();
        self.read(None, &mut flags);
        flags.finish().map(|()| None)
    }
}

/// A distributed job: there is none.
#[derive(Debug)]
pub(super) enum Distribution {}

impl Distribution {
    pub(super) fn for_account(self, _: &Account) -> Self {
        match self {}
    }

    pub(super) fn start(self, _: &Job, _: &Client, _: &Context) -> Ready<Result<Run, Fail>> {
        match self {}
    }
}

/// The workers of a job: there are none.
pub(super) enum Workers {}

impl Workers {
    pub(super) fn pause(self, _: &Context) -> Ready<Result<(), Fail>> {
        match self {}
    }

    pub(super) fn cancel(self, _: &Job, _: &Client, _: &Context) -> Ready<Result<(), Fail>> {
        match self {}
    }
}
