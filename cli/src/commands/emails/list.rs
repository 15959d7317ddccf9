//! `emails list`: what was sent, newest first.

use super::{COLUMNS, SHOWN};
use crate::context::Context;
use crate::fail::Fail;
use crate::output::table::Columns;
use crate::paging::{self, Part};

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
    part: paging::Args,
}

/// What is to be shown.
#[derive(Debug)]
pub(crate) struct Plan {
    part: Part,
    columns: Columns,
}

/// Nothing is asked for before all of it makes sense.
pub(crate) fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let known = if context.global.columns.is_empty() { &COLUMNS[..SHOWN] } else { COLUMNS };
    let columns = context.out.columns(known)?;
    Ok(Plan { part: args.part.plan()?, columns })
}

/// Shows it.
pub(crate) async fn run(plan: Plan, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    let shown = paging::show(client.emails().list(), &plan.part, None, &plan.columns, context).await?;
    paging::footer(&shown, "no emails yet", context);
    Ok(())
}
