//! `automations runs` and `run`: the execution of an automation for each contact.

use std::time::Duration;

use idempost::{
    automations::{AutomationRun, RunStatus},
    problem::Problem,
};

use super::with_tables;
use crate::actions::mutation::document;
use crate::actions::pages::{self, Table};
use crate::actions::trace;
use crate::actions::wait::{self, End, Messages, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail};
use crate::input::body_builder::flag_span;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind};

/// List the runs of an automation, newest first
///
/// Without --limit, the service returns all of them. To see the steps of a run, use `automations run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, status, started_at, completed_at, created_at\n\n\
    Examples:\n  \
    idempost automations runs c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --limit 10\n  \
    idempost automations runs c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --status failed,cancelled")]
pub(crate) struct ListArgs {
    /// ID of the automation
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    part: pages::CompleteArgs,
    /// Only runs with these statuses, comma-separated: running, completed, failed, cancelled
    #[arg(long, value_name = "STATUSES")]
    status: Option<String>,
}

/// Show one run and the outcome of its steps
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost automations run c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd 8f2a7c1e-4b3d-4e5f-9a6b-7c8d9e0f1a2b\n  \
    idempost automations run c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd 8f2a7c1e-4b3d-4e5f-9a6b-7c8d9e0f1a2b --wait")]
pub(crate) struct GetArgs {
    /// ID of the automation
    #[arg(value_name = "ID")]
    id: String,
    /// ID of the run
    #[arg(value_name = "RUN_ID")]
    run: String,
    /// Wait until the run ends; exits with 3 unless it completed
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = COMPLETED)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
}

/// The state to wait for.
const COMPLETED: &str = "completed";

const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("status", "STATUS", Kind::State),
        Column::new("started_at", "STARTED", Kind::Time),
        Column::new("completed_at", "ENDED", Kind::Time),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 4,
    nothing: "no runs",
};

const STEPS: [Column; 6] = [
    Column::new("key", "STEP", Kind::Text),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("status", "STATUS", Kind::State),
    Column::new("started_at", "STARTED", Kind::Time),
    Column::new("completed_at", "ENDED", Kind::Time),
    Column::new("error", "ERROR", Kind::Shrinks).at("/error/message"),
];

pub(super) async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let statuses = args.status.as_deref().map(|text| statuses(text, &mut flags));
    let part = flags.take(pages::Args::from(args.part).plan());
    flags.finish()?;
    let Some(part) = part else { return Ok(()) };
    let list = context.client()?.automations().runs(args.id.as_str()).status(statuses.unwrap_or_default());
    let shown = pages::show(list, &part, None, &columns, context).await?;
    pages::footer(&shown, TABLE.nothing, context);
    Ok(())
}

/// Reports each unknown status with its location.
fn statuses(text: &str, flags: &mut Flags) -> Vec<RunStatus> {
    let (mut read, mut start) = (Vec::new(), 0);
    for part in text.split(',') {
        let word = part.trim();
        match RunStatus::from(word.to_owned()) {
            RunStatus::Unknown(_) => {
                let rule = "the status must be running, completed, failed or cancelled";
                let origin = flag_span("--status", 1, text, start..start + part.len());
                let problem = Problem::new("", "type", rule);
                flags.push(Diagnostic { problem, origin: Some(origin), hint: None });
            }
            status => read.push(status),
        }
        start += part.len() + 1;
    }
    read
}

pub(super) async fn get(args: GetArgs, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let wait = flags.take(wait::plan(args.wait.as_deref(), &args.timeout.wait_timeout, COMPLETED)).flatten();
    flags.finish()?;
    let client = context.client()?;
    let ended = match wait {
        Some(timeout) => until_ended(&args, timeout, context).await,
        None => Ok(()),
    };
    // A failed run is shown too: its steps say why.
    if matches!(ended, Ok(()) | Err(Fail::Rejected { .. })) {
        let make = || client.automations().run(args.id.as_str(), args.run.as_str());
        let run = trace::execute(context, make).await?;
        let document = document(&run);
        context.out.result(&with_tables(&document, &[("steps", &STEPS)]), &document)?;
    }
    ended
}

async fn until_ended(args: &GetArgs, timeout: Duration, context: &Context) -> Result<(), Fail> {
    let words = Messages {
        interrupted: "the run continues".to_owned(),
        timed_out: "the run hasn't ended".to_owned(),
        continues: "it continues".to_owned(),
        failed: "the run didn't complete".to_owned(),
        check: format!("idempost automations run {} {}", args.id, args.run),
    };
    let wait = context.client()?.automations().wait_for_run(args.id.as_str(), args.run.as_str());
    wait::until(wait, timeout, &words, context, end).await.map(drop)
}

fn end(run: &AutomationRun) -> End {
    match &run.status {
        Some(RunStatus::Completed) => End::Good(COMPLETED.to_owned()),
        status => End::Bad(status.as_ref().map_or("unknown", RunStatus::as_str).to_owned()),
    }
}
