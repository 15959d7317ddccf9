//! `contacts import`: contacts from a CSV file, of any size.
//!
//! The file is read twice, row by row: once to find everything that is wrong before anything is sent, once to send. What can be read
//! only once is put into a temporary file first.

mod columns;
mod file;
mod row;
mod run;
mod survey;

use std::collections::HashMap;
use std::path::PathBuf;

use futures_util::TryStreamExt as _;
use posthaste::{Client, PropertyType};

use self::columns::Columns;
use self::file::Csv;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::input::size::size;

/// Make or change contacts from a CSV file
///
/// The first row names the columns: email, first_name, last_name, unsubscribed; every other column is a property of that key, which must
/// exist (posthaste properties create). An empty cell says nothing: what a contact has stays. Everything that is wrong with the file is
/// told before anything is sent, each with its line and its column.
///
/// A row that the service refuses doesn't keep the others from being written; the command ends with 10 then. When it is interrupted, run it
/// again: rows that are written already are written once more, with the same values.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste contacts import people.csv --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf\n  \
    posthaste contacts import people.csv --map 'E-mail=email' --map 'Town=city' --map 'Notes=' --failed refused.csv\n  \
    posthaste contacts export | POSTHASTE_PROFILE=other posthaste contacts import -")]
pub(crate) struct Args {
    /// CSV file in UTF-8; - is standard input
    #[arg(value_name = "FILE")]
    file: String,
    /// Read a column as another field or property; with nothing behind the `=` it is left out; repeat it
    #[arg(long, value_name = "COLUMN=FIELD")]
    map: Vec<String>,
    /// Segment that every contact is put into; repeat it
    #[arg(long, value_name = "ID", visible_alias = "segment")]
    segment_id: Vec<String>,
    /// What to do with an address that a contact has already: update, skip or fail
    #[arg(long, value_name = "HOW", default_value = "update", value_parser = Choices(&["update", "skip", "fail"]), hide_possible_values = true)]
    on_conflict: String,
    /// How many rows are on their way at once: 1 to 32
    #[arg(long, value_name = "N", default_value = "4", allow_negative_numbers = true)]
    concurrency: String,
    /// Write refused rows with the reason into this new CSV file
    #[arg(long, value_name = "PATH")]
    failed: Option<PathBuf>,
    /// Maximum size of the file: 500MiB, 2GB, or a number of bytes
    ///
    /// Standard input and pipes are copied to a temporary file first, up to this size. A field has at most 1 MiB, a row 4 MiB.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    max_size: String,
    /// Check the file and send nothing; needs neither a credential nor an address of the service
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// What to do with an address that a contact has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnConflict {
    Update,
    Skip,
    Fail,
}

/// What the flags say.
#[derive(Debug)]
struct Wishes {
    on_conflict: OnConflict,
    concurrency: usize,
    segments: Vec<String>,
    failed: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let wishes = wishes(&args, &mut flags);
    let csv = if let Some(max_size) = size(&args.max_size) {
        Csv::open(&args.file, max_size, &mut flags).await
    } else {
        let rule = "--max-size is a number of bytes above 0, with a unit such as MB or MiB if need be";
        flags.wrong("type", rule, "--max-size", &args.max_size);
        None
    };
    let mut columns = csv.as_ref().and_then(|csv| Columns::read(csv, &args.map, &mut flags));
    flags.finish()?;
    let (Some(csv), Some(columns), Some(wishes)) = (csv, &mut columns, wishes) else { return Ok(()) };
    let client = if args.dry_run { None } else { Some(context.client()?) };
    if let Some(client) = &client {
        columns.learn(&csv, &properties(client).await?)?;
    }
    let rows = survey::look(&csv, columns)?;
    let Some(client) = client else {
        let judged = if columns.has_properties() {
            "; properties are compared with the service's only when it is sent"
        } else {
            ""
        };
        context.out.note(&format!("{rows} rows, nothing wrong, nothing sent{judged}"));
        return Ok(());
    };
    for segment in &wishes.segments {
        client.segments().get(segment.as_str()).await?;
    }
    run::run(&client, &csv, columns, rows, wishes, context).await
}

fn wishes(args: &Args, flags: &mut Flags) -> Option<Wishes> {
    let on_conflict = match args.on_conflict.as_str() {
        "update" => Some(OnConflict::Update),
        "skip" => Some(OnConflict::Skip),
        "fail" => Some(OnConflict::Fail),
        other => {
            flags.wrong("type", "--on-conflict is update, skip or fail", "--on-conflict", other);
            None
        }
    };
    let concurrency = args.concurrency.parse().ok().filter(|number| (1..=32).contains(number));
    if concurrency.is_none() {
        flags.wrong(
            "range",
            "--concurrency is a whole number from 1 to 32",
            "--concurrency",
            &args.concurrency,
        );
    }
    for (i, segment) in args.segment_id.iter().enumerate().filter(|(_, segment)| segment.is_empty()) {
        flags.wrong_nth("empty", "--segment-id is the id of a segment", "--segment-id", i + 1, segment);
    }
    if let Some(path) = args.failed.as_deref().filter(|path| path.exists()) {
        // Also the file that is read: it would be gone before it was.
        let rule = "--failed names a new file; this one exists";
        flags.wrong("file", rule, "--failed", &path.display().to_string());
    }
    Some(Wishes {
        on_conflict: on_conflict?,
        concurrency: concurrency?,
        segments: args.segment_id.clone(),
        failed: args.failed.clone(),
    })
}

/// The contact properties that there are, with what they hold.
async fn properties(client: &Client) -> Result<HashMap<String, bool>, Fail> {
    let mut found = HashMap::new();
    let mut all = client.contact_properties().list().stream();
    while let Some(property) = all.try_next().await? {
        found.insert(property.key, property.kind == Some(PropertyType::Number));
    }
    Ok(found)
}
