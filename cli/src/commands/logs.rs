//! `logs`: the service's log of API requests.

use std::ops::RangeInclusive;

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

/// Whether an entry has this status and method.
fn matches(row: &Value, status: Option<&RangeInclusive<u64>>, method: Option<&str>) -> bool {
    let own = (row["response_status"].as_u64(), row["method"].as_str());
    status.is_none_or(|status| own.0.is_some_and(|own| status.contains(&own)))
        && method.is_none_or(|method| own.1.is_some_and(|own| own.eq_ignore_ascii_case(method)))
}

/// Reads the flags.
fn read_selection(given: &Given<'_>, flags: &mut Flags) -> Option<Selects> {
    // Empty ones are rejected already.
    let [status, method] = ["status", "method"].map(|flag| given.text(flag).filter(|text| !text.is_empty()));
    let range = status.and_then(|text| {
        let rule = "--status must be a number such as 422 or a class such as 4xx";
        flags.accept(parse_statuses(text), "type", rule, "--status", text)
    });
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
    if let Some(method) = method.filter(|method| !is_word(method)) {
        flags.reject("type", "--method must be a method such as POST", "--method", method);
    }
    let is_filtered = status.is_some() || method.is_some();
    let method = method.map(str::to_owned);
    let selects = move |row: &Value| {
        if matches(row, range.as_ref(), method.as_deref()) { Match::Yes } else { Match::No }
    };
    is_filtered.then(|| Box::new(selects) as _)
}

/// Parses a status: `422` is one, `4xx` a class.
fn parse_statuses(text: &str) -> Option<RangeInclusive<u64>> {
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    let number = |text: &str, digits| (text.len() == digits).then(|| text.parse::<u64>().ok()).flatten();
    let statuses = match class {
        Some(class) => number(class, 1).map(|class| class * 100..=class * 100 + 99)?,
        None => number(text, 3).map(|status| status..=status)?,
    };
    (100..600).contains(statuses.start()).then_some(statuses)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_filter_is_a_number_or_a_class() {
        assert_eq!(parse_statuses("422"), Some(422..=422));
        assert_eq!(parse_statuses("4xx"), Some(400..=499));
        for wrong in ["", "4x", "xx", "600", "0xx", "42", "4xxx", "abc", "-42"] {
            assert_eq!(parse_statuses(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_entry_must_match_every_filter() {
        let is_shown = |entry: Value| matches(&entry, parse_statuses("4xx").as_ref(), Some("post"));
        assert!(is_shown(json!({"response_status": 422, "method": "POST"})));
        assert!(!is_shown(json!({"response_status": 200, "method": "POST"})));
        assert!(!is_shown(json!({"response_status": 422, "method": "GET"})));
        assert!(!is_shown(json!({"response_status": "422"})));
    }
}
