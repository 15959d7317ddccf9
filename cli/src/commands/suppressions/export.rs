//! `suppressions export`: the suppression list as CSV or NDJSON, fetched page by page.

use std::path::PathBuf;

use futures_util::TryStreamExt as _;
use idempost::suppressions::{Suppression, SuppressionOrigin};

use crate::actions::export::{Sink, csv_lines};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::progress::Rows;

/// The columns of the CSV.
const COLUMNS: [&str; 5] = ["email", "origin", "created_at", "source_id", "id"];

/// Export the suppression list as CSV or NDJSON, newest first
///
/// `suppressions import` reads both formats.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost suppressions export --output-file suppressed.csv\n  \
    idempost suppressions export --format ndjson --origin complaint")]
pub(crate) struct Args {
    /// Only addresses of this origin: bounce, complaint or manual
    #[arg(long, value_name = "ORIGIN", value_parser = Choices(SuppressionOrigin::KNOWN), hide_possible_values = true)]
    origin: Option<String>,
    /// Format: csv or ndjson
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = Choices(&["csv", "ndjson"]), hide_possible_values = true)]
    format: String,
    /// Write to this file instead of standard output; it appears only when complete
    #[arg(long, value_name = "PATH")]
    output_file: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    if !matches!(args.format.as_str(), "csv" | "ndjson") {
        flags.reject("type", "--format must be csv or ndjson", "--format", &args.format);
    }
    let origin = args.origin.as_deref().map(SuppressionOrigin::from);
    if let Some(SuppressionOrigin::Unknown(value)) = &origin {
        flags.reject("type", "--origin must be bounce, complaint or manual", "--origin", value.as_str());
    }
    flags.finish()?;
    let is_csv = args.format == "csv";
    let client = context.client()?;
    let mut sink = Sink::open(args.output_file.as_deref()).await?;
    if is_csv {
        sink.write(&csv_lines(&[COLUMNS.to_vec()])?, context)?;
    }
    let progress = Rows::new(context.settings()?.progress.value, &context.out, None);
    let list = match origin {
        Some(origin) => client.suppressions().list().origin(origin),
        None => client.suppressions().list(),
    };
    let (mut pages, mut count) = (list.pages(), 0_u64);
    while let Some(page) = pages.try_next().await? {
        count += page.data.len() as u64;
        let rows = if is_csv { csv_rows(page.data)? } else { json_lines(&page.data)? };
        sink.write(&rows, context)?;
        progress.set(count);
    }
    drop(progress);
    sink.finish(count, "addresses", context)
}

fn csv_rows(page: Vec<Suppression>) -> Result<Vec<u8>, Fail> {
    let rows: Vec<_> = page
        .into_iter()
        .map(|entry| {
            vec![
                entry.email,
                entry.origin.map(|origin| origin.to_string()).unwrap_or_default(),
                entry.created_at.map(|at| at.to_string()).unwrap_or_default(),
                entry.source_id.map(String::from).unwrap_or_default(),
                entry.id.into(),
            ]
        })
        .collect();
    csv_lines(&rows)
}

fn json_lines(page: &[Suppression]) -> Result<Vec<u8>, Fail> {
    let mut lines = Vec::new();
    for entry in page {
        serde_json::to_writer(&mut lines, entry)
            .map_err(|error| Fail::local("couldn't write a row as JSON", error))?;
        lines.push(b'\n');
    }
    Ok(lines)
}
