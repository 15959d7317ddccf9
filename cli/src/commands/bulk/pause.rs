//! `bulk pause`: stops a job that runs in another process.

use idempost_bulk::JobState;

use super::job::{self, JobArg};
use super::queue::QueueArgs;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Pause a running job once its requests in flight finish; `bulk resume` continues it
///
/// The process that runs the job exits with 6. If only workers of a distributed job are running, name their queue.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost bulk pause 3f9a\n  idempost bulk pause 3f9a --queue nats://queue.acme.test"
)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    #[command(flatten)]
    queue: QueueArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect_whole(args.job.job.as_deref(), context).await?;
    let id = job.plan().id();
    let state = job.status().await?.state;
    let workers = args.queue.workers(&job, "pause", context).await?;
    let is_distributed = job.is_distributed() || workers.is_some();
    match (state, workers) {
        (JobState::Running, _) => job.pause().await?,
        (JobState::Stopped, Some(workers)) => Box::pin(workers.pause(context)).await?,
        _ => {
            context.out.note(&format!("job {id} isn't running"));
            return Ok(());
        }
    }
    let queue = if is_distributed { " --queue …" } else { "" };
    let named = job::argument(job.plan(), context);
    context.out.note(&format!("pausing job {id}; to continue: idempost bulk resume {named}{queue}"));
    Ok(())
}
