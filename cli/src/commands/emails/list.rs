//! `emails list`: sent emails, newest first.

use super::TABLE;
use crate::actions::pages;
use crate::context::Context;
use crate::diagnostics::Fail;

/// List sent emails, newest first
///
/// Without --limit, the service returns 20. With a limit above 100 or --all, all pages are fetched and shown as one list:
/// one JSON document with --json, a line per email as it arrives with -o ndjson.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, to, subject, last_event, created_at; optional: from, cc, bcc, reply_to, message_id, scheduled_at\n\n\
    Examples:\n  \
    idempost emails list --limit 3\n  \
    idempost emails list --columns id,from,subject\n  \
    idempost emails list --json --jq '.data[0].last_event'\n  \
    idempost emails list --all -o ndjson --jq 'select(.last_event==\"bounced\").to[]'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    part: pages::Args,
}

/// Prints the list.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    pages::list(args.part, &TABLE, context, |client| client.emails().list()).await
}
