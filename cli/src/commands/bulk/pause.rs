//! `bulk pause`: stops a job that runs in another process.

use posthaste_bulk::JobState;

use super::failure;
use super::job::{self, JobArg};
use crate::context::Context;
use crate::diagnostics::Fail;

/// Stop a running job after its requests in flight; `bulk resume` continues it
///
/// The process that runs the job exits with 6.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste bulk pause 3f9a")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect(args.job.job.as_deref(), context).await?;
    let id = job.plan().id();
    if job.status().await.map_err(failure::of)?.state != JobState::Running {
        context.out.note(&format!("job {id} isn't running"));
        return Ok(());
    }
    job.pause().await.map_err(failure::of)?;
    context.out.note(&format!("pausing job {id}; to continue: posthaste bulk resume {id}"));
    Ok(())
}
