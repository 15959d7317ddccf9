//! `bulk plan`: validates all rows and shows what would be sent.

use super::job::Jobs;
use super::overview::Overview;
use super::planning::PlanArgs;
use super::schedule::ScheduleArgs;
use super::{failure, running};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Validate all rows and show what a job would send, without sending it
///
/// Prints the counts, the first three rendered emails, and an estimate. All invalid rows are written to invalid.csv in the job's folder, each
/// with its problems; the first 20 problems are shown, and the exit code is 2. `bulk send` with the same arguments sends the job, and
/// `bulk resume` follows the schedule.
///
/// Needs no credential except for --account-suppressions, and no base URL; without a base URL, the plan isn't saved.
#[derive(Debug, clap::Args)]
#[command(after_help = super::send::EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Rate to assume for the estimate, in requests per second [default: 10]
    #[arg(long, value_name = "N")]
    max_rps: Option<String>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let max_rps = running::max_rps(args.max_rps.as_deref(), &mut flags);
    let schedule = args.schedule.read(false, &mut flags);
    let skip_invalid = args.plan.skip_invalid;
    let account_suppressions = args.plan.account_suppressions;
    let mut described = args.plan.read(flags, context).await?;
    described.schedule.clone_from(&schedule);
    let client =
        if account_suppressions { context.client_for_jobs()? } else { context.client_for_preview()? };
    let unkept = context.settings()?.base_url.is_none();
    let jobs = Jobs::open(unkept, context)?;
    let job = described.plan(&client, &jobs).await?;
    let mut overview = Overview::new(job.plan(), max_rps, context)?;
    overview.days = schedule.and_then(|schedule| schedule.days(job.plan().counts().valid));
    context.out.result(&overview.lines(), &overview.document())?;
    overview.warnings().iter().for_each(|warning| context.out.warn(warning));
    if job.plan().counts().invalid > 0 && !skip_invalid {
        return Err(failure::from_invalid_rows(job.plan(), jobs.is_persistent()));
    }
    Ok(())
}
