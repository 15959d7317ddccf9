//! `logs`: the service's log of API requests.

use serde_json::Value;

use crate::actions::pages::Match;
use crate::input::flags::Flags;
use crate::output::table::text_at;
use crate::rows::prelude::*;

noun!(Logs, "Show the service's log of API requests", VERBS);

const VERBS: &[Verb] = &[
    Verb::list(
        "List API requests, newest first",
        &TABLE,
        &Filtered(|client| client.logs().list(), read_selection, "no matching requests"),
    )
    .detail("The service doesn't filter: --status and --method are applied by this program to the newest 2,000 entries, or to all of them with --all, until --limit entries match (default 20).")
    .paging_first()
    .fields(&[STATUS, METHOD])
    .examples(&[
        "logs list --limit 50",
        "logs list --status 4xx --method POST",
        "logs list --all -o ndjson --jq 'select(.response_status >= 500).endpoint'",
    ]),
    Verb::new(
        "get",
        "Show one API request with its request and response bodies",
        &Show(|client, ids| client.logs().get(ids[0])),
    )
    .ids(ID)
    .web(Page { dashboard: "logs/{}", inbox: None })
    .examples(&["logs get 37e4414c-5e25-4dbc-a071-43552a4bd53b --jq .response_body"]),
    Verb::new(
        "tail",
        "Follow the log of API requests until Ctrl-C, oldest first",
        &Tail(
            |client| client.logs().list(),
            |given, flags| {
                let selects = read_selection(given, flags);
                let is_own = |row: &Value| text_at(row, "/method") == "GET" && text_at(row, "/endpoint") == "/logs";
                Some(Box::new(move |row| match &selects {
                    _ if is_own(row) => Match::No,
                    Some(selects) => selects(row),
                    None => Match::Yes,
                }))
            },
            "requests",
            &["/created_at", "/method", "/endpoint", "/response_status", "/id"],
        ),
    )
    .detail("Starts with new requests, omits its own, and keeps waiting while the service is unreachable. After Ctrl-C, the exit code is 0.")
    .fields(&[STATUS, METHOD, INTERVAL])
    .table(&TABLE)
    .is(&[Property::UntilSignal])
    .examples(&["logs tail", "logs tail --status 5xx -o ndjson --jq .endpoint"]),
];

const STATUS: Field = Field::new("status", "STATUS", "Only responses with this status: 422, 4xx");
const METHOD: Field = Field::new("method", "METHOD", "Only requests with this method, such as POST");

const TABLE: Table = Table::new(&[
    Column::new("created_at", "TIME", Kind::Time),
    Column::new("method", "METHOD", Kind::Text),
    Column::new("endpoint", "ENDPOINT", Kind::Text),
    Column::new("response_status", "STATUS", Kind::State),
    Column::new("user_agent", "USER AGENT", Kind::Shrinks),
    Column::new("id", "ID", Kind::Id).optional(),
])
.nothing("no requests yet");

/// The entries to show.
#[derive(Debug)]
struct Filter {
    /// The first and last status, inclusive.
    status: Option<(u64, u64)>,
    method: Option<String>,
}

impl Filter {
    fn matches(&self, row: &Value) -> bool {
        let status = row.get("response_status").and_then(Value::as_u64);
        let method = row.get("method").and_then(Value::as_str);
        self.status.is_none_or(|(first, last)| status.is_some_and(|status| (first..=last).contains(&status)))
            && self
                .method
                .as_ref()
                .is_none_or(|wanted| method.is_some_and(|method| method.eq_ignore_ascii_case(wanted)))
    }
}

/// Reads the flags.
fn read_selection(given: &Given<'_>, flags: &mut Flags) -> Option<Selects> {
    // Empty ones are rejected already.
    let [status, method] = ["status", "method"].map(|flag| given.text(flag).filter(|text| !text.is_empty()));
    let range = status.and_then(parse_statuses);
    if let (Some(text), None) = (status, range) {
        let rule = "--status must be a number such as 422 or a class such as 4xx";
        flags.reject("type", rule, "--status", text);
    }
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
    if let Some(method) = method.filter(|method| !is_word(method)) {
        flags.reject("type", "--method must be a method such as POST", "--method", method);
    }
    let filter = Filter { status: range, method: method.map(str::to_owned) };
    let selects = move |row: &Value| if filter.matches(row) { Match::Yes } else { Match::No };
    (status.is_some() || method.is_some()).then(|| Box::new(selects) as _)
}

/// Parses a status: `422` is one, `4xx` a class.
fn parse_statuses(text: &str) -> Option<(u64, u64)> {
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
        assert_eq!(parse_statuses("422"), Some((422, 422)));
        assert_eq!(parse_statuses("4xx"), Some((400, 499)));
        for wrong in ["", "4x", "xx", "600", "0xx", "42", "4xxx", "abc", "-42"] {
            assert_eq!(parse_statuses(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_entry_must_match_every_filter() {
        let filter = Filter { status: parse_statuses("4xx"), method: Some("post".into()) };
        assert!(filter.matches(&json!({"response_status": 422, "method": "POST"})));
        assert!(!filter.matches(&json!({"response_status": 200, "method": "POST"})));
        assert!(!filter.matches(&json!({"response_status": 422, "method": "GET"})));
        assert!(!filter.matches(&json!({"response_status": "422"})));
    }
}
