//! `bulk`: jobs that send an email per row of a file, each row at most once.

mod account;
mod cancel;
mod delete;
mod doctor;
mod failure;
mod job;
mod list;
mod message;
mod metrics;
mod overview;
mod pause;
mod plan;
mod planning;
#[cfg_attr(not(feature = "nats"), path = "bulk/no_queue.rs")]
mod queue;
mod reconcile;
mod report;
mod resume;
mod retry;
mod rows;
mod running;
mod salvage;
mod schedule;
mod send;
mod status;
mod words;
#[cfg(feature = "nats")]
mod worker;

use crate::context::Context;
use crate::diagnostics::Fail;

/// Send an email per row of a CSV or JSON Lines file, each at most once
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Plan(Box<plan::Args>),
    Send(Box<send::Args>),
    Resume(Box<resume::Args>),
    Status(status::Args),
    Pause(pause::Args),
    Cancel(cancel::Args),
    Delete(delete::Args),
    Report(report::Args),
    Reconcile(reconcile::Args),
    Retry(Box<retry::Args>),
    Salvage(salvage::Args),
    Doctor(doctor::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    #[cfg(feature = "nats")]
    Worker(worker::Args),
}

impl Command {
    /// Whether the command handles signals itself: a job finishes its requests in flight.
    pub(crate) fn handles_signals(&self) -> bool {
        self.runs_job()
    }

    /// Whether the command sends nothing.
    pub(crate) fn is_local(&self) -> bool {
        matches!(
            self,
            Self::Plan(_)
                | Self::Status(_)
                | Self::Report(_)
                | Self::Pause(_)
                | Self::Delete(_)
                | Self::Salvage(_)
                | Self::List(_)
        )
    }

    /// Whether the command runs a job, for which it needs several threads.
    pub(crate) fn runs_job(&self) -> bool {
        match self {
            Self::Send(_) | Self::Resume(_) | Self::Retry(_) => true,
            #[cfg(feature = "nats")]
            Self::Worker(_) => true,
            _ => false,
        }
    }
}

pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Plan(args) => plan::run(*args, context).await,
        Command::Send(args) => send::run(*args, context).await,
        Command::Resume(args) => resume::run(*args, context).await,
        Command::Status(args) => status::run(args, context).await,
        Command::Pause(args) => pause::run(args, context).await,
        Command::Cancel(args) => cancel::run(args, context).await,
        Command::Delete(args) => delete::run(args, context).await,
        Command::Report(args) => report::run(args, context).await,
        Command::Reconcile(args) => reconcile::run(args, context).await,
        Command::Retry(args) => retry::run(*args, context).await,
        Command::Salvage(args) => salvage::run(args, context).await,
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::List(args) => list::run(args, context).await,
        #[cfg(feature = "nats")]
        Command::Worker(args) => worker::run(args, context).await,
    }
}
