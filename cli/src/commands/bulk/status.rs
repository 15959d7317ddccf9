//! `bulk status`: the state of a job.

use idempost_bulk::{Job, JobState, Status};
use serde_json::{Value, json};

use super::job::{self, JobArg};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::record;

/// Show a job's state and counts, even while it runs
#[derive(Debug, clap::Args)]
#[command(after_help = "States: planned, running, stopped, canceled, finished\n\n\
    Examples:\n  idempost bulk status\n  idempost bulk status 3f9a --json --jq .remaining")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect(args.job.job.as_deref(), context).await?;
    let status = job.status().await?;
    if let Some(part) = job::part_with_only_workers(&job).await? {
        let named = job::argument(part.plan(), context);
        let (purpose, command) = match status.state {
            JobState::Canceled => ("stop them", "cancel"),
            _ => ("collect their results", "resume"),
        };
        context.out.note(&format!(
            "workers may still be sending; to {purpose}: idempost bulk {command} {named} --queue …"
        ));
    }
    let document = document(&job, &status);
    context.out.result(&record::lines(&document), &document)
}

/// The JSON object.
pub(super) fn document(job: &Job, status: &Status) -> Value {
    let plan = job.plan();
    let (counts, planned) = (&status.counts, plan.counts());
    json!({
        "object": "bulk_job",
        "job": plan.id(),
        "name": plan.name(),
        "state": status.state,
        "rows": planned.rows,
        "invalid": planned.invalid,
        "sent": counts.sent,
        "rejected": counts.rejected,
        "unknown": counts.unknown,
        "remaining": counts.remaining,
        "in_flight": status.in_flight,
        "requests": plan.batches(),
        "input": plan.input_name(),
        "base_url": plan.origin(),
        "profile": plan.profile(),
        "created_at": plan.created_at(),
        "folder": plan.dir(),
    })
}
