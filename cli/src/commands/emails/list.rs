//! `emails list`: what was sent, newest first.

use super::TABLE;
use crate::actions::pages;
use crate::context::Context;
use crate::diagnostics::Fail;

/// List sent emails, newest first
///
/// Without --limit, the service shows 20. Above 100, and with --all, one page after the other is asked for; they are shown as one list:
/// one JSON document with --json, a line as soon as it is there with -o ndjson.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, to, subject, last_event, created_at; on wish from, cc, bcc, reply_to, message_id, scheduled_at\n\n\
    Examples:\n  \
    posthaste emails list --limit 3\n  \
    posthaste emails list --columns id,from,subject\n  \
    posthaste emails list --json --jq '.data[0].last_event'\n  \
    posthaste emails list --all -o ndjson --jq 'select(.last_event==\"bounced\").to[]'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    part: pages::Args,
}

/// Shows it.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    pages::list(args.part, &TABLE, context, |client| client.emails().list()).await
}
