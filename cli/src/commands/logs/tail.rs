//! `logs tail`: prints API requests as the service logs them.

use super::{FilterArgs, TABLE};
use crate::actions::tail::{self, IntervalFlag, View};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::at;

/// Follow the log of API requests until Ctrl-C, oldest first
///
/// Starts with new requests, omits its own, and keeps waiting while the service is unreachable. After Ctrl-C, the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: created_at, method, endpoint, response_status, user_agent, id\n\n\
    Examples:\n  \
    idempost logs tail\n  \
    idempost logs tail --status 5xx -o ndjson --jq .endpoint")]
pub(crate) struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    interval: IntervalFlag,
}

/// Follows the log.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let filter = args.filter.read(&mut flags);
    let interval = args.interval.read(&mut flags);
    flags.finish()?;
    let client = context.client()?;
    let is_own = |row: &_| at(row, "/method") == "GET" && at(row, "/endpoint") == "/logs";
    let fields = &["/created_at", "/method", "/endpoint", "/response_status", "/id"];
    let view = View { items: "requests", columns: &columns, fields, interval };
    tail::follow(|| client.logs().list(), |row| !is_own(row) && filter.keeps(row), &view, context).await
}
