//! `logs tail`: prints API requests as the service logs them.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use idempost::{Client, Error};
use serde_json::Value;
use tokio::time::sleep;

use super::{FilterArgs, TABLE};
use crate::actions::outage::Outage;
use crate::actions::pages;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::at;
use crate::settings::keys;

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
    /// Polling interval
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    interval: String,
}

/// Follows the log.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let filter = args.filter.read(&mut flags);
    let interval = keys::duration(&args.interval).unwrap_or_else(|rule| {
        flags.wrong("type", format!("--interval {rule}"), "--interval", &args.interval);
        Duration::ZERO
    });
    flags.finish()?;
    let client = context.client()?;
    context.out.note("waiting for new requests; stop with Ctrl-C");
    let fields = ["/created_at", "/method", "/endpoint", "/response_status", "/id"];
    let (mut last, mut outage) = (None, Outage::default());
    loop {
        match newer(&client, last.as_deref()).await {
            Ok((rows, has_more)) => {
                outage.is_over(context);
                for row in &rows {
                    let own = at(row, "/method") == "GET" && at(row, "/endpoint") == "/logs";
                    if last.is_some() && !own && filter.keeps(row) {
                        pages::item(row, &columns, &fields, context)?;
                    }
                }
                last = rows.last().map(|row| at(row, "/id")).or(last).or(Some(String::new()));
                if has_more {
                    continue;
                }
            }
            Err(Error::Api(error)) if last.is_some() && matches!(error.status.as_u16(), 400 | 404 | 422) => {
                context
                    .out
                    .warn("the service no longer has the last request shown; some requests may be missing");
                last = None;
                continue;
            }
            Err(error) => outage.wait_out(error.into(), context).await?,
        }
        sleep(interval).await;
    }
}

/// The next entries after this one, oldest first, and whether there are more; with `None`, only the newest entry.
async fn newer(client: &Client, seen: Option<&str>) -> idempost::Result<(Vec<Value>, bool)> {
    let list = client.logs().list();
    match seen {
        None => Ok((list.page_size(1).as_json().await?.data, false)),
        // The log was empty: there is no cursor to start from, and pages lead to older entries.
        Some("") => {
            let mut rows: Vec<_> = list.as_json().stream().try_collect().await?;
            rows.reverse();
            Ok((rows, false))
        }
        Some(seen) => {
            let mut page = list.before(seen).page_size(100).as_json().await?;
            page.data.reverse();
            Ok((page.data, page.has_more))
        }
    }
}
