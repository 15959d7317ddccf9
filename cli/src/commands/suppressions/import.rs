//! `suppressions import`: adds the addresses of a file, in steps of 100.

use idempost::Outcome;
use idempost::suppressions::SuppressionOrigin;
use serde_json::json;

use super::BATCH;
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::addresses::Addresses;
use crate::output::progress::Rows;

/// Add addresses from a file to the suppression list
///
/// FILE is CSV with a column email, one address per line, NDJSON (objects with a field email, or strings), or a JSON array, up to 64 MiB; -
/// reads standard input. Other columns and fields are ignored; the origin of every new entry is manual. All problems with the file
/// are reported before anything is sent, each with its line.
///
/// Addresses are sent 100 at a time, and an address on the list keeps its entry: after an interruption, run the same command again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost suppressions import suppressed.csv\n  \
    idempost suppressions export | IDEMPOST_PROFILE=other idempost suppressions import -")]
pub(crate) struct Args {
    /// CSV, NDJSON, or one address per line; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Validate the file without sending anything; needs neither a credential nor a base URL
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (source, text) = context.stdin().text("FILE", &args.file)?;
    let addresses = Addresses::read(source, &text).map_err(rejected_failure)?;
    addresses.check(&context.client_for_preview()?).map_err(rejected_failure)?;
    let total = addresses.emails.len();
    if args.dry_run {
        context.out.note(&format!("{total} addresses, no problems found, nothing sent"));
        context.out.note(&format!("as {}", context.identity()?));
        return Ok(());
    }
    let client = context.client()?;
    let progress = Rows::new(context.settings()?.progress.value, &context.out, Some(total as u64));
    let mut done = 0;
    for batch in addresses.emails.chunks(BATCH) {
        context.in_flight.record_progress(Outcome::Unknown, interrupted_message(done, total));
        if let Err(error) = trace::execute(context, || client.suppressions().add_batch(batch)).await {
            drop(progress);
            context.in_flight.finish();
            context.out.warn(&interrupted_message(done, total));
            return Err(error.into());
        }
        done += batch.len();
        progress.set(done as u64);
    }
    drop(progress);
    let document = json!({"object": "import", "rows": total, "origin": SuppressionOrigin::Manual.as_str()});
    let summary = format!("{total} addresses are on the suppression list");
    context.in_flight.record_progress(Outcome::Accepted, &summary);
    context.out.result(&[summary], &document)?;
    context.in_flight.finish();
    Ok(())
}

fn interrupted_message(done: usize, total: usize) -> String {
    format!(
        "{done} of {total} addresses are on the suppression list, and some of the following may be; to continue, run the same command again"
    )
}

fn rejected_failure(report: Diagnostics) -> Fail {
    let count = report.found.len() + report.omitted;
    let summary = (count > 1).then(|| format!("invalid input: {count} problems; nothing was sent"));
    Fail::Usage(Diagnostics { summary, ..report })
}
