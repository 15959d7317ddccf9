//! Follows a list: prints the items that are new since the last poll, oldest first, until a signal ends the command.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use idempost::error::PagingError;
use idempost::{Error, List};
use serde_json::Value;

use super::outage::Outage;
use super::pages;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::sleep_while_read;
use crate::output::table::{Columns, text_at};

/// The default polling interval.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(2);

/// Reads `--interval`.
pub(crate) fn parse_interval(text: Option<&str>, flags: &mut Flags) -> Duration {
    text.and_then(|text| flags.parse_duration("--interval", text)).unwrap_or(DEFAULT_INTERVAL)
}

/// How to show new items.
#[derive(Debug)]
pub(crate) struct View<'a> {
    /// The plural noun of the items: `requests`.
    pub(crate) items: &'static str,
    pub(crate) columns: &'a Columns,
    /// The fields of an item's line at a terminal.
    pub(crate) fields: &'static [&'static str],
    pub(crate) interval: Duration,
}

/// Prints new items that match, and keeps waiting while the service is unreachable.
pub(crate) async fn follow(
    list: &dyn Fn() -> List<Value>,
    matches: &dyn Fn(&Value) -> bool,
    view: &View<'_>,
    context: &Context,
) -> Result<(), Fail> {
    context.out.note(&format!("waiting for new {}; stop with Ctrl-C", view.items));
    let (mut seen, mut outage) = (None, Outage::default());
    loop {
        match fetch_newer(list(), seen.as_deref()).await {
            Ok((rows, has_more)) => {
                outage.is_over(context);
                for row in rows.iter().filter(|row| seen.is_some() && matches(row)) {
                    pages::print_item(row, view.columns, view.fields, context)?;
                }
                seen = rows.last().map(|row| text_at(row, "/id")).or(seen).or(Some(String::new()));
                if has_more {
                    continue;
                }
            }
            Err(Error::Api(error)) if seen.is_some() && matches!(error.status.as_u16(), 400 | 404 | 422) => {
                let items = view.items;
                context.out.warn(&format!(
                    "the service no longer lists the last of the {items}; some may be missing"
                ));
                seen = None;
                continue;
            }
            Err(error) => outage.wait_out(error.into(), context).await?,
        }
        sleep_while_read(view.interval).await?;
    }
}

/// The next items after this one, oldest first, and whether there are more; with `None`, only the newest item.
async fn fetch_newer(list: List<Value>, seen: Option<&str>) -> idempost::Result<(Vec<Value>, bool)> {
    match seen {
        None => Ok((list.page_size(1).await?.data, false)),
        // The list was empty, so there is no cursor, and pages only lead to older items.
        Some("") => {
            let mut rows: Vec<_> = list.stream().try_collect().await?;
            rows.reverse();
            Ok((rows, false))
        }
        Some(seen) => {
            let mut page = list.before(seen).page_size(100).await?;
            match page.data.first() {
                None if page.has_more => return Err(PagingError::EmptyPage.into()),
                Some(newest) if text_at(newest, "/id") == seen => {
                    return Err(PagingError::Repeated(seen.to_owned()).into());
                }
                _ => page.data.reverse(),
            }
            Ok((page.data, page.has_more))
        }
    }
}
