//! `bulk delete`: removes a job with its rows and outcomes.

use idempost_bulk::JobState;

use super::job;
use super::words::format_count;
use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Delete a job: its rows, outcomes and journal on this machine
///
/// The job can no longer be resumed, retried or reported, and a new job with the same rows sends to all of them again. Emails that were sent can't be
/// recalled.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost bulk delete people.csv\n  idempost bulk delete 3f9a --yes")]
pub(crate) struct Args {
    /// Job name, ID, start of the ID, or folder
    #[arg(value_name = "JOB")]
    job: String,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect(Some(&args.job), context).await?;
    let id = job.plan().id().to_owned();
    let status = job.status().await?;
    let left = match status.state {
        JobState::Finished | JobState::Canceled => String::new(),
        _ => format!(", with {} left to send", format_count(status.counts.remaining, "row")),
    };
    mutation::confirm(false, &format!("Delete job {id}{left}?"), context).await?;
    job.delete().await?;
    context.out.note(&format!("deleted job {id}"));
    Ok(())
}
