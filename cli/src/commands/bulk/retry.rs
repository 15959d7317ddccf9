//! `bulk retry`: adds a part to a job, with its rows that were rejected or whose outcome is unknown.

use idempost_bulk::{Job, JobState, Retry};

use super::account;
use super::job::{self, JobArg};
use super::overview::Overview;
use super::running::{self, RunArgs};
use super::words::format_count;
use crate::actions::confirm;
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail, Kind};
use crate::input::flags::Flags;
use crate::signals::Signals;

/// Send rejected or unknown rows of a job again
///
/// Rejected rows were not sent, so retry them after the cause is fixed. Unknown rows may have been sent: their recipients can receive the email twice.
/// First run `bulk reconcile`, and use --unknown --accept-duplicates as the last resort.
///
/// The rows of all parts of the job become another part, with their message and options, and new idempotency keys. Repeat the command until all rows are sent:
/// it first continues an unfinished retry, and never sends a row again that was sent. The counts are those of the whole job, and the exit codes those of
/// `bulk send`.
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
            let rule = "--rejected and --unknown can't be used together";
            flags.reject("exclusive", rule, "--unknown", "--unknown");
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
    let client = context.client_for_jobs()?;
    let planning = async {
        let whole = job::inspect_whole(args.job.job.as_deref(), context).await?;
        let account = account::resolve_job_account(&whole, options.same_account, &client, context).await?;
        let job = whole.retry(retry).await?;
        Ok((whole, job, account))
    };
    let (whole, job, account) = signals.run_until_next(planning).await?;
    let options = options.for_account(&account);
    let Some(job) = job else { return report_nothing(&whole, retry, context).await };
    let confirming = async {
        let status = job.status().await?;
        if status.state == JobState::Finished {
            return Ok(());
        }
        let overview = Overview::new(job.plan(), options.max_rps, context)?;
        context.out.note(&overview.estimate_line());
        confirm::confirm(&overview.question(status.counts.remaining), context).await
    };
    if let Err(fail) = signals.run_until_next(confirming).await {
        job.discard().await?;
        return Err(fail);
    }
    let named = job::argument(job.plan(), context);
    running::run(&job, &client, options, Some(&named), &mut signals, context).await
}

/// Reports that there is nothing to retry; fails if such rows are left.
async fn report_nothing(job: &Job, retry: Retry, context: &Context) -> Result<(), Fail> {
    let counts = job.status().await?.counts;
    let left = if retry == Retry::Rejected { counts.rejected } else { counts.unknown };
    if left > 0 {
        let rows = format_count(left, "row");
        let message = format!(
            "nothing was sent: {rows} can't be retried, since the address is suppressed or the job has another row with the same key"
        );
        return Err(Fail::new(Kind::Partial, message));
    }
    context.out.note("the job has no such rows; nothing was sent");
    Ok(())
}
