//! `bulk resume`: continues a job.

use idempost_bulk::{Job, JobState};

use super::job::{self, JobArg};
use super::running::{self, RunArgs};
use super::{account, failure};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::signals::Signals;

/// Continue a job after an interruption, a pause or a crash
///
/// Sends only rows that were not sent before. Requests with an uncertain outcome are repeated with the same idempotency key, which the service
/// executes once, unless they are more than 23 hours old: then their rows become unknown. The exit codes are those of `bulk send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost bulk resume\n  idempost bulk resume 3f9a --max-rps 5")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Start a planned job even if some rows are invalid
    #[arg(long)]
    skip_invalid: bool,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut signals = Signals::listen()?;
    let mut flags = Flags::default();
    let options = args.run.read(&mut flags);
    flags.finish()?;
    let folder = job::find(args.job.job.as_deref(), context)?;
    let client = context.client_for_jobs()?;
    let opening = async { Job::open(&folder).await.map_err(Fail::from) };
    let job = signals.run_until_next(opening).await?;
    let checking = account::resolve_job_account(&job, options.same_account, &client, context);
    let account = signals.run_until_next(checking).await?;
    let options = options.for_account(&account);
    let status = job.status().await?;
    if status.state == JobState::Planned && job.plan().counts().invalid > 0 && !args.skip_invalid {
        return Err(failure::from_invalid_rows(job.plan(), true));
    }
    let named = job::argument(job.plan(), context);
    running::run(&job, &client, options, Some(&named), &mut signals, context).await
}
