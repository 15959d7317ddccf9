//! `contacts export`: contacts as CSV, fetched page by page.

use std::path::PathBuf;

use futures_util::{StreamExt as _, TryStreamExt as _};
use idempost::{
    Client, Error,
    contacts::{Contact, ContactSummary},
};

use crate::actions::export::{Sink, csv_lines};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::progress::Rows;

/// Fields of every contact; a property with such a name is omitted.
const FIELDS: [&str; 4] = ["email", "first_name", "last_name", "unsubscribed"];
/// The value of an unreadable `unsubscribed`. Imports reject it, whereas a blank would subscribe a new contact.
const UNKNOWN: &str = "unknown";
/// The number of concurrent requests for properties.
const READS: usize = 8;

/// Export contacts as CSV, newest first
///
/// The columns are email, first_name, last_name, unsubscribed and all contact properties; `contacts import` reads this format.
/// If the service sends no readable unsubscribed, the cell is `unknown`, which an import rejects.
/// Properties need one request per contact; --no-properties omits them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost contacts export --output-file people.csv\n  \
    idempost contacts export --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --no-properties")]
pub(crate) struct Args {
    /// Only contacts in this segment
    #[arg(long, value_name = "ID", visible_alias = "segment")]
    segment_id: Option<String>,
    /// Write to this file instead of standard output; it appears only when complete
    #[arg(long, value_name = "PATH")]
    output_file: Option<PathBuf>,
    /// Omit properties: one request per page instead of one per contact
    #[arg(long)]
    no_properties: bool,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    if args.segment_id.as_deref() == Some("") {
        flags.reject("empty", "--segment-id must not be empty", "--segment-id", "");
    }
    flags.finish()?;
    let client = context.client()?;
    let keys = if args.no_properties { Vec::new() } else { properties(&client, context).await? };
    let mut sink = Sink::open(args.output_file.as_deref()).await?;
    let header: Vec<&str> = FIELDS.into_iter().chain(keys.iter().map(String::as_str)).collect();
    sink.write(&csv_lines(&[header])?, context)?;
    let progress = Rows::new(context.settings()?.progress.value, &context.out, None);
    let list = match args.segment_id {
        Some(segment) => client.segments().contacts(segment),
        None => client.contacts().list(),
    };
    let (mut pages, mut count, mut unknown) = (list.pages(), 0_u64, 0);
    while let Some(page) = pages.try_next().await? {
        let rows = rows(&client, page.data, &keys).await?;
        count += rows.len() as u64;
        unknown += rows.iter().filter(|row| row.get(3).is_some_and(|cell| cell == UNKNOWN)).count();
        sink.write(&csv_lines(&rows)?, context)?;
        progress.set(count);
    }
    drop(progress);
    if unknown > 0 {
        context.out.warn(&format!(
            "unsubscribed is `{UNKNOWN}` in {unknown} of {count} rows, since the service sent neither true nor false; set it before an import"
        ));
    }
    sink.finish(count, "contacts", context)
}

/// The keys of the contact properties, oldest first.
async fn properties(client: &Client, context: &Context) -> Result<Vec<String>, Fail> {
    let mut keys = Vec::new();
    let mut all = client.contact_properties().list().stream();
    while let Some(property) = all.try_next().await? {
        if FIELDS.contains(&property.key.as_str()) {
            context.out.warn(&format!(
                "the property `{0}` is omitted: `{0}` is also the name of a field",
                property.key
            ));
        } else {
            keys.push(property.key);
        }
    }
    keys.reverse();
    Ok(keys)
}

/// The rows of one page. Contacts deleted in the meantime are skipped.
async fn rows(client: &Client, page: Vec<ContactSummary>, keys: &[String]) -> Result<Vec<Vec<String>>, Fail> {
    if keys.is_empty() {
        return Ok(page
            .into_iter()
            .map(|one| row(one.email, one.first_name, one.last_name, one.unsubscribed))
            .collect());
    }
    let reads = page.into_iter().map(|summary| async move {
        match client.contacts().get(&summary.id).await {
            Ok(contact) => Ok(Some(contact)),
            Err(Error::Api(api)) if api.status.as_u16() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    });
    let contacts: Vec<Option<Contact>> =
        futures_util::stream::iter(reads).buffered(READS).try_collect().await?;
    let whole = |contact: Contact| {
        let Contact { email, first_name, last_name, unsubscribed, properties, .. } = contact;
        let mut row = row(email, first_name, last_name, unsubscribed);
        let cell = |key: &String| properties.get(key).map(|held| held.value.to_string());
        row.extend(keys.iter().map(|key| cell(key).unwrap_or_default()));
        row
    };
    Ok(contacts.into_iter().flatten().map(whole).collect())
}

fn row(
    email: String,
    first_name: Option<String>,
    last_name: Option<String>,
    unsubscribed: Option<bool>,
) -> Vec<String> {
    let unsubscribed =
        unsubscribed.map_or_else(|| UNKNOWN.to_owned(), |unsubscribed| unsubscribed.to_string());
    vec![email, first_name.unwrap_or_default(), last_name.unwrap_or_default(), unsubscribed]
}
