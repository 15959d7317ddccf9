//! `bulk retry`: adds a part to a job, with its rows that were rejected or whose outcome is unknown.

use idempost_bulk::{JobState, Retry};

use super::job::{self, JobArg, Jobs};
use super::overview::Overview;
use super::running::{self, RunArgs};
use super::{account, failure};
use crate::actions::confirm;
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::flags::Flags;
use crate::signals::Signals;

/// Send rejected or unknown rows of a job again
///
/// Rejected rows were not sent, so retry them after the cause is fixed. Unknown rows may have been sent: their recipients can receive the email twice.
/// First run `bulk reconcile`, and use --unknown --accept-duplicates as the last resort.
///
/// The rows become another part of the job, with its message and options, and new idempotency keys. Repeat the command until all rows are sent: a row that an
/// earlier retry has sent isn't sent again. The counts are those of the whole job, and the exit codes those of `bulk send`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost bulk retry --rejected 3f9a\n  idempost bulk retry --unknown --accept-duplicates 3f9a"
)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Retry the rows that the service rejected
    #[arg(long)]
    rejected: bool,
    /// Retry rows with an unknown outcome; requires --accept-duplicates
    #[arg(long)]
    unknown: bool,
    /// Accept that rows with an unknown outcome may be delivered twice
    #[arg(long)]
    accept_duplicates: bool,
    #[command(flatten)]
    run: RunArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut signals = Signals::listen()?;
    let mut flags = Flags::default();
    flags.help("idempost bulk retry --rejected JOB");
    let retry = match (args.rejected, args.unknown) {
        (true, false) => Some(Retry::Rejected),
        (false, true) => Some(Retry::Unknown),
        (true, true) => {
            flags.reject(
                "exclusive",
                "--rejected and --unknown can't be used together",
                "--unknown",
                "--unknown",
            );
            None
        }
        (false, false) => {
            flags.add_missing("--rejected or --unknown");
            None
        }
    };
    if args.unknown && !args.accept_duplicates {
        flags.add_missing("--accept-duplicates: rows with an unknown outcome may have been sent");
    }
    let options = args.run.read(&mut flags);
    flags.finish()?;
    let Some(retry) = retry else { return Err(Fail::Usage(Diagnostics::default())) };
    let folder = job::find(args.job.job.as_deref(), context)?;
    let client = context.client_for_jobs()?;
    let planning = async {
        let earlier = idempost_bulk::Job::open(&folder).await.map_err(failure::from_bulk_error)?;
        let account = account::resolve_job_account(&earlier, options.same_account, &client, context).await?;
        Ok((earlier.retry(retry).await.map_err(failure::from_bulk_error)?, account))
    };
    let (job, account) = running::run_until_interrupted(&mut signals, planning).await?;
    let options = options.for_account(&account);
    let Some(job) = job else {
        context.out.note("the job has no such rows; nothing was sent");
        return Ok(());
    };
    let status = job.status().await.map_err(failure::from_bulk_error)?;
    if status.state != JobState::Finished {
        let overview = Overview::new(job.plan(), options.max_rps, context)?;
        context.out.note(&overview.estimate_line());
        let question = overview.question(status.counts.remaining);
        running::run_until_interrupted(&mut signals, confirm::confirm(&question, context)).await?;
    }
    running::run(&job, &client, options, &Jobs::Kept(folder), &mut signals, context).await
}
