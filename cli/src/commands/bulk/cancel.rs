//! `bulk cancel`: ends a job for good.

use idempost::Client;
use idempost_bulk::{BulkError, Job, JobState};

use super::account::{self, AccountArgs};
use super::job;
use super::queue::QueueArgs;
use super::words::{describe_canceled, format_count};
use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Cancel a job permanently; its remaining rows are never sent
///
/// The job is canceled with all of its parts, whichever part is named. A process that runs the job finishes its requests in flight and exits with 10,
/// or with 9 if the requests of an earlier run may have been sent.
/// If only workers of a distributed job are running, name their
/// queue: the command waits until they have stopped. Emails that were sent can't be recalled.
///
/// Needs no credential; if the credential belongs to another account, the job isn't canceled.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost bulk cancel 3f9a\n  idempost bulk cancel 3f9a --queue nats://queue.acme.test"
)]
pub(crate) struct Args {
    /// Job name, ID, start of the ID, or folder
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    queue: QueueArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect_whole(Some(&args.job), context).await?;
    let client = client(&job, args.account.same_account, context).await?;
    let id = job.plan().id();
    let status = job.status().await?;
    let workers = args.queue.workers(&job, "cancel", context).await?;
    match status.state {
        JobState::Finished => {
            context.out.note(&format!("job {id} is finished; nothing is left to cancel"));
            return Ok(());
        }
        JobState::Canceled if workers.is_none() => {
            // A run that was killed after it was canceled hasn't listed the rows that it may have sent.
            job.cancel().await?;
            context.out.note(&format!("job {id} is already canceled; {}", describe_canceled(&status.counts)));
            return Ok(());
        }
        _ => {}
    }
    let left = format_count(status.counts.remaining, "row");
    mutation::confirm(false, &format!("Cancel job {id}, with {left} left to send?"), context).await?;
    let Some(workers) = workers else {
        job.cancel().await?;
        if status.state == JobState::Running {
            context.out.note(&format!("canceling job {id}; its process stops after the requests in flight"));
            return Ok(());
        }
        let status = job.status().await?;
        context.out.note(&format!("canceled job {id}; {}", describe_canceled(&status.counts)));
        return Ok(());
    };
    Box::pin(workers.cancel(&job, &client, context)).await?;
    let status = job.status().await?;
    context.out.note(&match status.state {
        JobState::Finished => format!("job {id} is finished; nothing was left to cancel"),
        _ => format!("canceled job {id}; {}", describe_canceled(&status.counts)),
    });
    Ok(())
}

/// The client of this command, whose account must be the job's. A job can be canceled even without a credential.
async fn client(job: &Job, same: bool, context: &Context) -> Result<Client, Fail> {
    if context.settings()?.base_url.is_none() {
        return context.client_for_preview();
    }
    let Ok(client) = context.client() else { return context.client_for_preview() };
    let account = account::resolve_account(same, &client, context).await?;
    match job.check_account(&client, &account).await {
        Ok(()) => Ok(client),
        Err(error @ BulkError::Account(_)) => Err(error.into()),
        Err(error) => {
            context.out.warn(&format!("couldn't check the account: {error}"));
            Ok(client)
        }
    }
}
