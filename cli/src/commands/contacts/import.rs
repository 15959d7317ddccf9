//! `contacts import`: creates or updates contacts from a CSV file of any size.
//!
//! The file is read twice, row by row: once to validate it before anything is sent, and once to send. A source that can be read only once
//! is copied to a temporary file first. With `--server`, the service reads the rows instead.

mod columns;
mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod row;
mod run;
mod server;
mod validate;

use std::collections::HashMap;
use std::path::PathBuf;

use futures_util::TryStreamExt as _;
use idempost::{Client, contact_properties::PropertyType};

use self::columns::Columns;
use self::file::Csv;
use crate::actions::wait::{self, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::delimiter::parse_delimiter;
use crate::input::flags::{Choices, Flags};
use crate::input::size::parse_size;

/// The default of `--max-size`.
const MAX_SIZE: &str = "1GiB";

/// Create or update contacts from a CSV file
///
/// The first row names the columns, separated by commas, semicolons, tabs or --delimiter: email, first_name, last_name, unsubscribed; any other column is a
/// property with that key, which must exist (idempost properties create). An empty cell leaves the contact's value unchanged. All problems with
/// the file are reported before anything is sent, each with its line and column.
///
/// A row that the service rejects doesn't stop the others; the exit code is then 10, or 3 if all are rejected. After an interruption, run the same
/// command again, with another file for --failed: rows written before are written again, with the same values.
///
/// By default, each row is a request, and each rejected row is reported with its line and the reason. With --server, the whole file is one
/// request, up to 200 MB with commas, and the service imports it in the background: much faster for many rows, but it reports only how many rows failed.
/// To check the rows first: --dry-run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost contacts import people.csv --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf\n  \
    idempost contacts import people.csv --map 'E-mail=email' --map 'Town=city' --map 'Notes=' --failed refused.csv\n  \
    idempost contacts import people.csv --server --wait\n  \
    idempost contacts export | IDEMPOST_PROFILE=other idempost contacts import -")]
pub(crate) struct Args {
    /// CSV file in UTF-8; - reads standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Map a column to another field or property; an empty field skips the column; repeatable
    #[arg(long, value_name = "COLUMN=FIELD")]
    map: Vec<String>,
    /// Character between columns: comma, semicolon, tab, or the character itself [default: detected from the first row]
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<String>,
    /// Segment to add every contact to; repeatable
    #[arg(long, value_name = "ID", visible_alias = "segment")]
    segment_id: Vec<String>,
    /// If a contact already has the address: update, skip or fail
    #[arg(long, value_name = "ACTION", default_value = "update", value_parser = Choices(&["update", "skip", "fail"]), hide_possible_values = true)]
    on_conflict: String,
    /// Send the file in one request, for the service to import (see `contacts imports`)
    #[arg(long, conflicts_with_all = ["concurrency", "failed"])]
    server: bool,
    /// Wait until the service has imported the file; exits with 10 if rows failed, with 3 if all did
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = server::COMPLETED, requires = "server", conflicts_with = "dry_run")]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    /// Topic to opt every contact in to; repeatable, with --server
    #[arg(long, value_name = "ID", requires = "server")]
    opt_in: Vec<String>,
    /// Topic to opt every contact out of; repeatable, with --server
    #[arg(long, value_name = "ID", requires = "server")]
    opt_out: Vec<String>,
    /// Number of rows to send concurrently, from 1 to 32
    #[arg(long, value_name = "N", default_value = "4", allow_negative_numbers = true)]
    concurrency: String,
    /// Write rejected rows, with the reason, to this new CSV file
    #[arg(long, value_name = "PATH")]
    failed: Option<PathBuf>,
    /// Maximum file size: 500MiB, 2GB, or a number of bytes
    ///
    /// Standard input and pipes are first copied to a temporary file, up to this size. A field can have up to 1 MiB, a row up to 4 MiB.
    #[arg(long, value_name = "SIZE", default_value = MAX_SIZE)]
    max_size: String,
    /// Validate the file without sending anything; needs neither a credential nor a base URL
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// How to handle an existing contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnConflict {
    Update,
    Skip,
    Fail,
}

/// The validated flags.
#[derive(Debug)]
struct ImportOptions {
    on_conflict: OnConflict,
    concurrency: usize,
    segments: Vec<String>,
    failed: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let options = options(&args, &mut flags);
    let rule = "--max-size must be a positive size in bytes, optionally with a unit such as MB or MiB";
    let max_size = flags.accept(parse_size(&args.max_size), "type", rule, "--max-size", &args.max_size);
    let delimiter = parse_delimiter(args.delimiter.as_deref(), &mut flags);
    let csv = match max_size {
        Some(max_size) => Csv::open(&args.file, max_size, delimiter, &mut flags).await?,
        None => None,
    };
    let timeout = &args.timeout.wait_timeout;
    let wait = wait::plan(args.wait.as_deref(), timeout, server::COMPLETED, &mut flags);
    let mut columns = csv.as_ref().and_then(|csv| Columns::read(csv, &args.map, &mut flags));
    if let Some(csv) = csv.as_ref().filter(|csv| args.server && csv.delimiter != b',') {
        let found = csv.delimiter.escape_ascii();
        let rule = format!(
            "with --server, columns must be separated by commas; found `{found}`: import the file without --server"
        );
        flags.reject("delimiter", rule, "FILE", &args.file);
    }
    flags.finish()?;
    let (Some(csv), Some(columns), Some(options)) = (csv, &mut columns, options) else { return Ok(()) };
    let client = if args.dry_run { None } else { Some(context.client()?) };
    if let Some(client) = &client {
        columns.check_properties(&csv, &properties(client).await?)?;
    }
    if let Some(client) = client.as_ref().filter(|_| args.server) {
        return server::run(client, &csv, columns, &args, wait, context).await;
    }
    let rows = validate::validate(&csv, columns)?;
    let Some(client) = client else {
        let judged = if columns.has_properties() {
            "; properties are checked against the service's only when sending"
        } else {
            ""
        };
        context.out.note(&format!("{rows} rows, no problems found, nothing sent{judged}"));
        context.out.note(&format!("as {}", context.identity()?));
        return Ok(());
    };
    for segment in &options.segments {
        client.segments().get(segment.as_str()).await?;
    }
    run::run(&client, &csv, columns, rows, options, context).await
}

fn options(args: &Args, flags: &mut Flags) -> Option<ImportOptions> {
    let on_conflict = match args.on_conflict.as_str() {
        "update" => Some(OnConflict::Update),
        "skip" => Some(OnConflict::Skip),
        "fail" if args.server => {
            let rule = "with --server, --on-conflict must be update or skip";
            flags.reject("type", rule, "--on-conflict", "fail");
            None
        }
        "fail" => Some(OnConflict::Fail),
        other => {
            flags.reject("type", "--on-conflict must be update, skip or fail", "--on-conflict", other);
            None
        }
    };
    let concurrency = flags.parse_number("--concurrency", &args.concurrency, 1..=32);
    let concurrency = concurrency.and_then(|number| usize::try_from(number).ok());
    for (i, segment) in args.segment_id.iter().enumerate().filter(|(_, segment)| segment.is_empty()) {
        flags.reject_nth("empty", "--segment-id must not be empty", "--segment-id", i + 1, segment);
    }
    if let Some(path) = args.failed.as_deref().filter(|path| path.exists()) {
        // This includes the input file, which would be overwritten before it is read.
        let rule = "--failed must name a new file, but this one exists";
        flags.reject("file", rule, "--failed", &path.display().to_string());
    }
    Some(ImportOptions {
        on_conflict: on_conflict?,
        concurrency: concurrency?,
        segments: args.segment_id.clone(),
        failed: args.failed.clone(),
    })
}

/// The service's contact properties, and whether each holds numbers.
async fn properties(client: &Client) -> Result<HashMap<String, bool>, Fail> {
    let mut found = HashMap::new();
    let mut all = client.contact_properties().list().stream();
    while let Some(property) = all.try_next().await? {
        found.insert(property.key, property.kind == Some(PropertyType::Number));
    }
    Ok(found)
}
