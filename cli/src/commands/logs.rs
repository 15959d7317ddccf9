//! `logs`: the service's log of API requests.

mod tail;

use serde_json::Value;

use crate::actions::pages::{self, ListRange, Match, Table};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail};
use crate::input::flags::Flags;
use crate::output::table::{Column, Columns, Kind};
use crate::rows::field::ID;
use crate::rows::operation::{Own, Show};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Logs;

impl Noun for Logs {
    const ABOUT: &'static str = "Show the service's log of API requests";
    const VERBS: &'static [Verb] = &[
        Verb::own("list", &Own(|args: ListArgs, context| Box::pin(list(args, context)))).alias("ls"),
        Verb::new(
            "get",
            "Show one API request with its request and response bodies",
            &Show(|client, ids| client.logs().get(ids[0])),
        )
        .ids(ID)
        .examples(&["logs get 37e4414c-5e25-4dbc-a071-43552a4bd53b --jq .response_body"]),
        Verb::own("tail", &Own(|args: tail::Args, context| Box::pin(tail::run(args, context))))
            .ends_by_signal(),
    ];
}

/// List API requests, newest first
///
/// The service doesn't filter: --status and --method are applied here, to the newest 2,000 entries, or to all of them with --all, until --limit
/// entries match (default 20).
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: created_at, method, endpoint, response_status, user_agent, id\n\n\
    Examples:\n  \
    idempost logs list --limit 50\n  \
    idempost logs list --status 4xx --method POST\n  \
    idempost logs list --all -o ndjson --jq 'select(.response_status >= 500).endpoint'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: pages::Args,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Filter
#[derive(Debug, clap::Args)]
#[group(skip)]
struct FilterArgs {
    /// Only responses with this status: 422, 4xx
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only requests with this method, such as POST
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
}

const TABLE: Table = Table {
    columns: &[
        Column::new("created_at", "TIME", Kind::Time),
        Column::new("method", "METHOD", Kind::Text),
        Column::new("endpoint", "ENDPOINT", Kind::Text),
        Column::new("response_status", "STATUS", Kind::State),
        Column::new("user_agent", "USER AGENT", Kind::Shrinks),
        Column::new("id", "ID", Kind::Id),
    ],
    shown: 5,
    nothing: "no requests yet",
};

/// A validated list request.
#[derive(Debug)]
struct Plan {
    part: ListRange,
    columns: Columns,
    filter: Filter,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Filter {
    /// The first and last status, inclusive.
    status: Option<(u64, u64)>,
    method: Option<String>,
}

impl Filter {
    fn keeps(&self, row: &Value) -> bool {
        let status = row.get("response_status").and_then(Value::as_u64);
        let method = row.get("method").and_then(Value::as_str);
        self.status.is_none_or(|(first, last)| status.is_some_and(|status| (first..=last).contains(&status)))
            && self
                .method
                .as_ref()
                .is_none_or(|wanted| method.is_some_and(|method| method.eq_ignore_ascii_case(wanted)))
    }
}

async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    let Plan { part, columns, filter } = plan(args, context)?;
    let client = context.client()?;
    let matches = |row: &Value| if filter.keeps(row) { Match::Yes } else { Match::No };
    let matches = (filter != Filter::default()).then_some(&matches as pages::Filter<'_>);
    let shown = pages::show(client.logs().list(), &part, matches, &columns, context).await?;
    pages::footer(&shown, if matches.is_some() { "no matching requests" } else { TABLE.nothing }, context);
    Ok(())
}

fn plan(args: ListArgs, context: &Context) -> Result<Plan, Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let part = flags.take(args.part.plan());
    let filter = args.filter.read(&mut flags);
    flags.finish()?;
    let part = part.ok_or_else(|| Fail::Usage(Diagnostics::default()))?;
    Ok(Plan { part, columns, filter })
}

impl FilterArgs {
    fn read(self, flags: &mut Flags) -> Filter {
        let Self { status, method } = self;
        let range = status.as_deref().and_then(statuses);
        if let (Some(text), None) = (&status, range) {
            let rule = "--status must be a number such as 422 or a class such as 4xx";
            flags.wrong("type", rule, "--status", text);
        }
        let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic());
        if let Some(method) = method.as_deref().filter(|method| !word(method)) {
            flags.wrong("type", "--method must be a method such as POST", "--method", method);
        }
        Filter { status: range, method }
    }
}

/// Parses a status: `422` is one, `4xx` a class.
fn statuses(text: &str) -> Option<(u64, u64)> {
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    let number = |text: &str, digits| (text.len() == digits).then(|| text.parse::<u64>().ok()).flatten();
    let (first, last) = match class {
        Some(class) => number(class, 1).map(|class| (class * 100, class * 100 + 99))?,
        None => number(text, 3).map(|status| (status, status))?,
    };
    (100..600).contains(&first).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_filter_is_a_number_or_a_class() {
        assert_eq!(statuses("422"), Some((422, 422)));
        assert_eq!(statuses("4xx"), Some((400, 499)));
        for wrong in ["", "4x", "xx", "600", "0xx", "42", "4xxx", "abc", "-42"] {
            assert_eq!(statuses(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_entry_must_match_every_filter() {
        let filter = Filter { status: statuses("4xx"), method: Some("post".into()) };
        assert!(filter.keeps(&json!({"response_status": 422, "method": "POST"})));
        assert!(!filter.keeps(&json!({"response_status": 200, "method": "POST"})));
        assert!(!filter.keeps(&json!({"response_status": 422, "method": "GET"})));
        assert!(!filter.keeps(&json!({"response_status": "422"})));
    }
}
