//! `bulk salvage`: continues a job whose journal is damaged.

use idempost_bulk::{Salvage, SalvageOptions};
use serde_json::{Value, json};

use super::failure;
use super::job::{self, JobArg};
use super::words::format_count;
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Recover a job whose journal is damaged, so that it can be resumed
///
/// Writes a new journal with every readable record; the damaged one stays in the job's folder, as `journal.damaged-1`. A row that
/// may have been sent is repeated by `bulk resume` under its idempotency key, unless the key has expired or repeating isn't safe; then its outcome
/// is unknown, and `bulk reconcile` looks for it. Rows that can't have been sent are sent as usual.
///
/// Exit codes: 0 salvaged, or the journal isn't damaged; 5 no such job; 9 some outcomes unknown.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: job, records, lost_bytes, sent, rejected, unknown, in_flight, remaining, damaged_journal, lost, dry_run\n\n\
    Examples:\n  idempost bulk salvage people.csv --dry-run\n  idempost bulk salvage 3f9a && idempost bulk resume 3f9a"
)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Also treat records at the end as lost, such as after a restore from a backup
    ///
    /// A truncated or outdated journal is readable and seems complete, and damage to its last records looks like an interrupted write. With this
    /// flag, every row without an outcome counts as one that may have been sent.
    #[arg(long)]
    truncated: bool,
    /// Show what would be kept and lost without changing anything
    #[arg(long)]
    dry_run: bool,
}

const TABLE: Table = Table::new(&[
    Column::new("job", "JOB", Kind::Id),
    Column::new("records", "RECORDS", Kind::Text),
    Column::new("lost_bytes", "LOST BYTES", Kind::Text),
    Column::new("sent", "SENT", Kind::Text),
    Column::new("rejected", "REJECTED", Kind::Text),
    Column::new("unknown", "UNKNOWN", Kind::Text),
    Column::new("in_flight", "IN FLIGHT", Kind::Text),
    Column::new("remaining", "REMAINING", Kind::Text),
    Column::new("damaged_journal", "DAMAGED JOURNAL", Kind::Text),
    Column::new("lost", "LOST", Kind::Text).optional(),
    Column::new("dry_run", "DRY RUN", Kind::Text).optional(),
])
.nothing("the journal isn't damaged, and nothing was changed");

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let job = job::inspect(args.job.job.as_deref(), context).await?;
    let named = job::argument(job.plan(), context);
    let mut options = SalvageOptions::default();
    if args.truncated {
        options = options.assume_truncated();
    }
    if args.dry_run {
        options = options.dry_run();
    }
    let parts = job.salvage(options).await?;
    let rows: Vec<Value> = parts.iter().map(document).collect();
    context.out.list(&json!({ "object": "list", "data": rows, "has_more": false }), &columns)?;
    if parts.is_empty() {
        context.out.note(TABLE.nothing);
        return Ok(());
    }
    if args.dry_run {
        context.out.note("dry run: nothing was changed");
    } else {
        let queue = if job.is_distributed() { " --queue …" } else { "" };
        context.out.note(&format!("to continue: idempost bulk resume {named}{queue}"));
    }
    let unknown = parts.iter().map(|part| part.counts.unknown).sum::<u64>();
    if unknown > 0 {
        let message = format!("the outcome of {} is unknown", format_count(unknown, "row"));
        return Err(failure::from_unknown_rows(Some(&named), message));
    }
    Ok(())
}

fn document(part: &Salvage) -> Value {
    let ranges = part.lost.iter().map(|(offset, bytes)| json!({ "offset": offset, "bytes": bytes }));
    json!({
        "object": "bulk_salvage",
        "job": part.job,
        "records": part.records,
        "lost_bytes": part.lost.iter().map(|(_, bytes)| bytes).sum::<u64>(),
        "lost": ranges.collect::<Vec<_>>(),
        "sent": part.counts.sent,
        "rejected": part.counts.rejected,
        "unknown": part.counts.unknown,
        "in_flight": part.in_flight,
        "remaining": part.counts.remaining,
        "damaged_journal": part.damaged,
        "dry_run": part.damaged.is_none(),
    })
}
