//! `bulk cancel`: ends a job for good.

use posthaste_bulk::JobState;

use super::failure;
use super::job;
use super::words::count;
use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;

/// End a job for good; its remaining rows are never sent
///
/// A process that runs the job finishes its requests in flight and exits with 10. Emails that were sent can't be recalled.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste bulk cancel 3f9a")]
pub(crate) struct Args {
    /// Job: its ID, the start of it, or its folder
    #[arg(value_name = "JOB")]
    job: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect(Some(&args.job), context).await?;
    let id = job.plan().id();
    let status = job.status().await.map_err(failure::of)?;
    match status.state {
        JobState::Finished => {
            context.out.note(&format!("job {id} is finished; nothing is left to cancel"));
            return Ok(());
        }
        JobState::Canceled => {
            context.out.note(&format!("job {id} is already canceled"));
            return Ok(());
        }
        _ => {}
    }
    let left = count(status.counts.remaining, "row");
    mutation::confirm(false, &format!("Cancel job {id}, with {left} left to send?"), context).await?;
    job.cancel().await.map_err(failure::of)?;
    context.out.note(&format!("canceled job {id}; {left} won't be sent"));
    Ok(())
}
