//! `emails tail`: prints emails as they are sent.

use super::TABLE;
use super::list::FilterArgs;
use crate::actions::pages::Match;
use crate::actions::tail::{self, IntervalFlag, View};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Follow sent emails until Ctrl-C, oldest first
///
/// Prints each email once, when the service lists it. Starts with new emails, and keeps waiting while the service is unreachable. For what
/// happens to them later, use `webhooks listen`. After Ctrl-C, the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, to, subject, last_event, created_at; optional: from, cc, bcc, reply_to, message_id, scheduled_at\n\n\
    Examples:\n  \
    idempost emails tail\n  \
    idempost emails tail --to @example.com -o ndjson --jq .subject"
)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    interval: IntervalFlag,
}

/// Follows the list.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let filter = args.filter.read();
    let interval = args.interval.read(&mut flags);
    flags.finish()?;
    let client = context.client()?;
    let fields = &["/created_at", "/to", "/subject", "/id"];
    let view = View { items: "emails", columns: &columns, fields, interval };
    tail::follow(|| client.emails().list(), |row| filter.check(row) == Match::Yes, &view, context).await
}
