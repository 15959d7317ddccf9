//! `bulk report`: the outcomes of a job's rows.

use idempost_bulk::{BulkError, Job, JobState, LastEvents, Outcome, Report, RowOutcome};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::account::AccountArgs;
use super::job::{self, JobArg};
use super::words::{duration, format_count, format_number};
use super::{account, status};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::json::extend;
use crate::output::record;
use crate::output::table::{Column, Kind};

/// The maximum number of rows waiting to be printed.
const QUEUE: usize = 1_024;

/// Show the outcomes of a job's rows
///
/// With --rows, prints one line per row that has an outcome, part by part, in the order in which the outcomes became known: its number, recipient
/// and outcome, with the email's ID or the reason. A row that a later part sent again has only the outcome in that part. Invalid rows are in
/// invalid.csv, and rows without an outcome are left to send.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns of --rows and --outcomes: row, recipient, outcome, id, reason, last_event, status, batch, key, first_attempt, part\n\n\
    Examples:\n  idempost bulk report\n  idempost bulk report 3f9a --outcomes --columns recipient,last_event\n  idempost bulk report 3f9a --rows -o ndjson --jq 'select(.outcome != \"sent\")'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Print the outcome of every row
    #[arg(long)]
    rows: bool,
    /// Print the outcome of every row and the latest event of its email, read from the service: delivered, bounced, complained
    ///
    /// Reads the list of emails back to the job's first one, with a request per 100 emails, which needs a credential with full access.
    #[arg(long)]
    outcomes: bool,
    #[command(flatten)]
    account: AccountArgs,
}

const ROWS: Table = Table::new(&[
    Column::new("row", "ROW", Kind::Text),
    Column::new("recipient", "RECIPIENT", Kind::Text),
    Column::new("outcome", "OUTCOME", Kind::State),
    Column::new("id", "ID", Kind::Id),
    Column::new("reason", "REASON", Kind::Text),
    Column::new("last_event", "LAST EVENT", Kind::State).optional(),
    Column::new("status", "STATUS", Kind::Text).optional(),
    Column::new("batch", "BATCH", Kind::Text).optional(),
    Column::new("key", "KEY", Kind::Text).optional(),
    Column::new("first_attempt", "FIRST ATTEMPT", Kind::Text).optional(),
    Column::new("part", "PART", Kind::Id).optional(),
])
.nothing("no row has an outcome yet");

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let columns = ROWS.columns_with(args.outcomes.then_some("last_event"), context)?;
    let job = job::inspect(args.job.job.as_deref(), context).await?;
    let events = if args.outcomes {
        let client = context.client()?;
        let account = account::resolve_account(args.account.same_account, &client, context).await?;
        job.last_events(&client, &account).await?
    } else {
        LastEvents::default()
    };
    if !args.rows && !args.outcomes {
        let status = job.status().await?;
        let is_canceled = status.state == JobState::Canceled;
        // A run that crashed left no report, but there may be one from an earlier run.
        let report = job.report().await?;
        if let Some(report) = report.filter(|report| report.counts == status.counts) {
            return print(&job, &report, is_canceled, None, context);
        }
        if !is_canceled {
            context.out.note("the last run left no report: it hasn't ended, or it was killed");
        }
        let document = status::document(&job, &status);
        return context.out.result(&record::lines(&document), &document);
    }
    let (send, mut outcomes) = mpsc::channel::<RowOutcome>(QUEUE);
    let reader = job.clone();
    let reading = tokio::spawn(async move {
        // Nothing more can be printed then.
        let closed = |_| BulkError::NotRunnable("the output was closed".to_owned());
        reader.outcomes(move |row| send.blocking_send(row).map_err(closed)).await
    });
    let (mut rows, mut any) = (Vec::with_capacity(QUEUE), false);
    while outcomes.recv_many(&mut rows, QUEUE).await > 0 {
        any = true;
        let documents: Vec<Value> = rows.drain(..).map(|row| row_json(&row, &events)).collect();
        if context.out.streams() {
            context.out.rows(&documents, &columns)?;
        } else {
            for document in &documents {
                pages::print_item(
                    document,
                    &columns,
                    &["row", "recipient", "outcome", "id", "reason"],
                    context,
                )?;
            }
        }
    }
    if let Ok(read) = reading.await {
        read?;
    }
    if !any {
        context.out.note(ROWS.nothing);
    }
    Ok(())
}

/// The object of a row; `id`, `reason` or `last_event` are null where they don't apply.
fn row_json(row: &RowOutcome, events: &LastEvents) -> Value {
    let (outcome, id, reason, status) = match &row.outcome {
        Outcome::Sent { id } => ("sent", Some(id), None, None),
        Outcome::Rejected { status, reason } => ("rejected", None, Some(reason), Some(status)),
        Outcome::Unknown { reason } => ("unknown", None, Some(reason), None),
        _ => ("unknown", None, None, None),
    };
    json!({
        "row": row.row,
        "recipient": row.recipient,
        "outcome": outcome,
        "id": id,
        "reason": reason,
        "last_event": id.and_then(|id| events.get(id)),
        "status": status,
        "batch": row.batch,
        "key": row.key,
        "first_attempt": format_time(row.first_attempt),
        "part": row.part,
    })
}

fn format_time(unix_ms: u64) -> Option<String> {
    jiff::Timestamp::from_millisecond(unix_ms.cast_signed()).ok().map(|time| time.to_string())
}

/// The JSON object.
pub(super) fn document(job: &Job, report: &Report) -> Value {
    let mut document = json!({ "object": "bulk_report", "folder": job.plan().dir() });
    extend(&mut document, report);
    document
}

/// Prints a report; `complete_since` says that the job was complete before the command, which sent nothing.
pub(super) fn print(
    job: &Job,
    report: &Report,
    is_canceled: bool,
    complete_since: Option<Timestamp>,
    context: &Context,
) -> Result<(), Fail> {
    let mut document = document(job, report);
    if let Some(since) = complete_since {
        document["already_complete"] = true.into();
        document["complete_since"] = since.to_string().into();
    }
    let counts = &report.counts;
    let mut parts = vec![format!("{} sent", format_number(counts.sent))];
    for (n, what) in [
        (counts.rejected, "rejected"),
        (counts.unknown, "unknown"),
        (report.invalid, "invalid"),
        (counts.remaining, if is_canceled { "not sent" } else { "left to send" }),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", format_number(n)));
        }
    }
    let outcome = match complete_since {
        Some(since) => {
            format!("already complete since {since:.0}, nothing sent now; in total: {}", parts.join(", "))
        }
        None => parts.join(", "),
    };
    let mut lines = vec![
        format!("job {}: {outcome}", report.job),
        format!(
            "last run: {} in {}, {} throttled (429), {} repeated with the same keys",
            format_count(report.requests, "request"),
            duration(report.elapsed()),
            format_number(report.throttled),
            format_count(report.replayed, "batch"),
        ),
    ];
    lines.extend(report.files.iter().map(|file| format!("list: {}", file.display())));
    context.out.result(&lines, &document)
}
