//! `sandbox fail`: injects failures into matching requests and SMTP sessions.

use std::ops::RangeInclusive;
use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};

use super::{client, control_client, unreachable_failure};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind, text_at};

/// Make requests fail on purpose
///
/// RULE selects requests: `POST /emails`, `POST`, `/emails`, `'GET /emails/{id}'` where {…} matches any one segment; without it every request
/// matches. By default the next matching request fails with 500; flags choose another failure and frequency. Rules are tried in the order in
/// which they were added. They apply to the requests of this account, or with --all-accounts of all accounts, except those of `sandbox …` commands.
///
/// `'SMTP RCPT'` selects a stage of SMTP sessions instead: CONNECT, EHLO, AUTH, MAIL, RCPT, DATA or END-OF-DATA. By default it fails with a
/// temporary error such as 451; --code, --drop, --lose, --stall and --slow choose another failure. CONNECT, EHLO and AUTH, and the paths of the
/// authorization server, don't belong to an account, so rules for them apply to all accounts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost sandbox fail 'POST /emails' --status 503 --times 2\n  \
    idempost sandbox fail --rate-limit --retry-after 2 --percent 30\n  \
    idempost sandbox fail 'POST /emails' --lose --after 5\n  \
    idempost sandbox fail --rotate-then-lose\n  \
    idempost sandbox fail 'SMTP RCPT' --code 451 --percent 30\n  \
    idempost sandbox fail 'SMTP END-OF-DATA' --drop --times 2\n  \
    idempost sandbox fail --status 503 --always --all-accounts\n  \
    idempost sandbox fail --list\n  \
    idempost sandbox fail --clear")]
pub(crate) struct Args {
    /// Method, path, or both; or SMTP and a stage
    #[arg(value_name = "RULE", num_args = 0..=2)]
    rule: Vec<String>,
    /// Apply the rule to the requests of all accounts; with --clear, remove the rules of all. With --auth, the sandbox requires the password
    #[arg(long)]
    all_accounts: bool,
    /// List the account's rules
    #[arg(long)]
    list: bool,
    /// Remove the rules that the account added; =ID removes one
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    clear: Option<String>,
    #[command(flatten)]
    what: Failure,
    #[command(flatten)]
    often: Frequency,
}

/// The kind of failure; at most one flag.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Failure")]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "these are command-line flags")]
struct Failure {
    /// Respond with this status [default: 500]
    #[arg(long, value_name = "N")]
    status: Option<String>,
    /// Reply with this SMTP code, 400 to 599, and the text that servers send with it [default: a temporary error]
    #[arg(long, value_name = "N")]
    code: Option<String>,
    /// Error name in the response body
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Drop the connection before processing the request
    #[arg(long)]
    drop: bool,
    /// Process the request, then drop the connection without a response
    #[arg(long)]
    lose: bool,
    /// Process the request, then cut off the response after N bytes of its body
    #[arg(long, value_name = "BYTES")]
    truncate: Option<String>,
    /// Hold the connection open without responding
    #[arg(long)]
    stall: bool,
    /// Process the request, then delay the response by this time
    #[arg(long, value_name = "DURATION")]
    slow: Option<String>,
    /// Respond with 429
    #[arg(long)]
    rate_limit: bool,
    /// Value of the `retry-after` header of an error response: seconds, or any text
    #[arg(long, value_name = "TEXT")]
    retry_after: Option<String>,
    /// Process the next token refresh but lose its response: `POST /oauth/token --lose`
    #[arg(long)]
    rotate_then_lose: bool,
}

/// How many requests fail; at most one of the first three flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Frequency")]
#[group(skip)]
struct Frequency {
    /// Fail the next N matching requests [default: 1]
    #[arg(long, value_name = "N")]
    times: Option<String>,
    /// Fail this percentage of requests, at random
    #[arg(long, value_name = "N")]
    percent: Option<String>,
    /// Fail all matching requests until the rule is removed
    #[arg(long)]
    always: bool,
    /// Let the first N matching requests succeed
    #[arg(long, value_name = "N")]
    after: Option<String>,
}

/// The stages of an SMTP session.
const STAGES: [&str; 7] = ["CONNECT", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "END-OF-DATA"];

const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Text),
    Column::new("method", "METHOD", Kind::Text).format_with(|fault| rule_target(fault).0),
    Column::new("path", "PATH", Kind::Text).format_with(|fault| rule_target(fault).1),
    Column::new("action", "ACTION", Kind::State),
    Column::new("status", "STATUS", Kind::Text)
        .format_with(|fault| text_at(fault, "/status") + &text_at(fault, "/code")),
    Column::new("often", "FREQUENCY", Kind::Text).format_with(describe_frequency),
    Column::new("met", "MATCHES", Kind::Text),
    Column::new("client_gets", "CLIENT GETS", Kind::Shrinks).pointer("/client_gets/summary"),
])
.nothing("no rules");

/// Adds a rule, lists the rules or removes them.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let plan = plan(&args, &mut flags);
    flags.finish()?;
    let client = if args.all_accounts || plan.is_for_all_accounts() {
        control_client(context)?
    } else {
        client(context)?
    };
    match plan {
        Plan::List => {
            let columns = TABLE.columns(context)?;
            let list = client.request(Method::GET, "/_/faults").await.map_err(unreachable_failure)?;
            TABLE.print(&list, &columns, context)
        }
        Plan::Remove(id) => {
            let path = match &id {
                Some(id) => format!("/_/faults/{id}"),
                None if args.all_accounts => "/_/faults?all_accounts=true".to_owned(),
                None => "/_/faults".to_owned(),
            };
            let response = client.request(Method::DELETE, path).await.map_err(unreachable_failure)?;
            context.out.note(match id {
                Some(_) => "rule removed",
                None if args.all_accounts => "the rules of all accounts removed",
                None => "the account's rules removed",
            });
            context.out.result(&[], &response)
        }
        Plan::Add(rule) => {
            let call = client.request(Method::POST, "/_/faults").json(&Value::Object(rule));
            let fault = call.await.map_err(unreachable_failure)?;
            context.out.note(&format!(
                "{}: {}",
                describe_rule(&fault),
                text_at(&fault, "/client_gets/summary")
            ));
            context.out.result(&[text_at(&fault, "/id")], &fault)
        }
    }
}

enum Plan {
    List,
    Remove(Option<String>),
    Add(Map<String, Value>),
}

impl Plan {
    /// Whether the rule selects requests that belong to no account.
    fn is_for_all_accounts(&self) -> bool {
        let Self::Add(rule) = self else { return false };
        let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
        STAGES[..3].contains(&text("smtp")) || text("path").starts_with("/oauth/")
    }
}

fn plan(args: &Args, flags: &mut Flags) -> Plan {
    let Args { rule, what, often, list, clear, all_accounts } = args;
    let mut wanted = Map::new();
    if *all_accounts {
        wanted.insert("all_accounts".to_owned(), true.into());
    }
    read_requests(rule, what.rotate_then_lose, &mut wanted, flags);
    let asked = read_action(what, &mut wanted, flags);
    if let Some(code) = what.code.as_ref().filter(|_| !wanted.contains_key("smtp")) {
        flags.reject("exclusive", "--code requires an SMTP stage, such as 'SMTP RCPT'", "--code", code);
    }
    if let Some(status) = what.status.as_ref().filter(|_| wanted.contains_key("smtp")) {
        let rule = "--status applies to requests; for an SMTP stage, use --code";
        flags.reject("exclusive", rule, "--status", status);
    }
    let counted = read_frequency(often, &mut wanted, flags);
    let given = !rule.is_empty() || asked || counted;
    if *list && (given || clear.is_some()) {
        flags.reject("exclusive", "--list can't be used with a rule or other flags", "--list", "--list");
    }
    if let Some(id) = clear {
        if given {
            let rule = "--clear can't be used with a rule or other flags; to remove one rule, use --clear=ID";
            flags.reject("exclusive", rule, "--clear", id);
        }
        if !id.bytes().all(|byte| byte.is_ascii_digit()) {
            flags.reject("type", "the ID must be a number, as shown by --list", "--clear", id);
        }
        return Plan::Remove(Some(id.clone()).filter(|id| !id.is_empty()));
    }
    if *list { Plan::List } else { Plan::Add(wanted) }
}

fn read_requests(rule: &[String], renewal: bool, wanted: &mut Map<String, Value>, flags: &mut Flags) {
    let text = rule.join(" ");
    if renewal {
        if !text.is_empty() {
            let rule = "--rotate-then-lose applies to `POST /oauth/token` and can't be used with a rule";
            flags.reject("exclusive", rule, "RULE", &text);
        }
        wanted.extend([("method".to_owned(), json!("POST")), ("path".to_owned(), json!("/oauth/token"))]);
        return;
    }
    let words: Vec<_> = text.split_whitespace().collect();
    let (method, path) = match words.as_slice() {
        [] => (None, None),
        [smtp, stage @ ..] if smtp.eq_ignore_ascii_case("smtp") => {
            let stage = stage.join(" ").to_ascii_uppercase();
            if !STAGES.contains(&stage.as_str()) {
                let rule = format!("SMTP must be followed by a stage: {}", STAGES.join(", "));
                flags.reject("type", rule, "RULE", &text);
            }
            wanted.insert("smtp".to_owned(), stage.into());
            return;
        }
        [path] if path.starts_with('/') => (None, Some(*path)),
        [method] => (Some(*method), None),
        [method, path] => (Some(*method), Some(*path)),
        _ => {
            let rule = "a rule must be a method, a path, or both: POST /emails";
            return flags.reject("type", rule, "RULE", &text);
        }
    };
    if let Some(path) = path.filter(|path| !path.starts_with('/')) {
        flags.reject("type", format!("a path must start with /; found `{path}`"), "RULE", &text);
    }
    if let Some(method) = method {
        let method = method.to_ascii_uppercase();
        if !["GET", "POST", "PATCH", "PUT", "DELETE"].contains(&method.as_str()) {
            let rule = "the method must be GET, POST, PATCH or DELETE, and the path must start with /";
            flags.reject("type", rule, "RULE", &text);
        }
        wanted.insert("method".to_owned(), method.into());
    }
    if let Some(path) = path {
        wanted.insert("path".to_owned(), path.into());
    }
}

/// Reads the kind of failure; returns whether a flag set it.
fn read_action(what: &Failure, wanted: &mut Map<String, Value>, flags: &mut Flags) -> bool {
    let Failure {
        status,
        code,
        name,
        drop,
        lose,
        truncate,
        stall,
        slow,
        rate_limit,
        retry_after,
        rotate_then_lose,
    } = what;
    let answered = status.is_some() || name.is_some();
    let given: Vec<_> = [
        (answered, if status.is_some() { "--status" } else { "--name" }, "answer"),
        (code.is_some(), "--code", "answer"),
        (*drop, "--drop", "drop"),
        (*lose, "--lose", "lose"),
        (truncate.is_some(), "--truncate", "truncate"),
        (*stall, "--stall", "stall"),
        (slow.is_some(), "--slow", "slow"),
        (*rate_limit, "--rate-limit", "rate_limit"),
        (*rotate_then_lose, "--rotate-then-lose", "lose"),
    ]
    .into_iter()
    .filter(|(given, ..)| *given)
    .collect();
    for (_, flag, _) in given.iter().skip(1) {
        flags.reject("exclusive", format!("{flag} and {} can't be used together", given[0].1), flag, flag);
    }
    let action = given.first().map_or("answer", |(.., action)| action);
    wanted.insert("action".to_owned(), action.into());
    let given_numbers = [
        ("status", "--status", status, 200..=599),
        ("code", "--code", code, 400..=599),
        ("bytes", "--truncate", truncate, 0..=1 << 30),
    ];
    read_numbers(given_numbers, wanted, flags);
    if let Some(name) = name {
        wanted.insert("name".to_owned(), name.as_str().into());
    }
    if let Some(text) = slow {
        let by = flags.parse_duration("--slow", text).unwrap_or_default();
        if by > Duration::from_hours(1) {
            flags.reject("range", "--slow must be at most 1h", "--slow", text);
        }
        wanted.insert("delay_ms".to_owned(), u64::try_from(by.as_millis()).unwrap_or(u64::MAX).into());
    }
    if let Some(text) = retry_after {
        if given.first().is_some_and(|(.., action)| !matches!(*action, "answer" | "rate_limit")) {
            let rule = "--retry-after requires --status or --rate-limit";
            flags.reject("exclusive", rule, "--retry-after", text);
        }
        wanted.insert("retry_after".to_owned(), text.as_str().into());
    }
    !given.is_empty() || retry_after.is_some()
}

/// Reads the frequency; returns whether a flag set it.
fn read_frequency(often: &Frequency, wanted: &mut Map<String, Value>, flags: &mut Flags) -> bool {
    let Frequency { times, percent, always, after } = often;
    let given: Vec<_> =
        [(times.is_some(), "--times"), (percent.is_some(), "--percent"), (*always, "--always")]
            .into_iter()
            .filter_map(|(given, flag)| given.then_some(flag))
            .collect();
    for flag in given.iter().skip(1) {
        flags.reject("exclusive", format!("{flag} and {} can't be used together", given[0]), flag, flag);
    }
    let given_numbers = [
        ("times", "--times", times, 1..=1_000_000),
        ("percent", "--percent", percent, 1..=100),
        ("after", "--after", after, 0..=1_000_000),
    ];
    read_numbers(given_numbers, wanted, flags);
    if *always {
        wanted.insert("always".to_owned(), true.into());
    }
    !given.is_empty() || after.is_some()
}

/// Reads the numbers that are given: the name of the field, its flag, the text and its limits.
fn read_numbers(
    given: [(&str, &str, &Option<String>, RangeInclusive<u64>); 3],
    wanted: &mut Map<String, Value>,
    flags: &mut Flags,
) {
    for (field, flag, text, limits) in given {
        if let Some(number) = text.as_ref().and_then(|text| flags.parse_number(flag, text, limits)) {
            wanted.insert(field.to_owned(), number.into());
        }
    }
}

/// Describes a rule: `the next 2 of POST /emails`.
fn describe_rule(fault: &Value) -> String {
    let of: [_; 2] = rule_target(fault).into();
    let of = of.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let of = if of.is_empty() { "all requests".to_owned() } else { of };
    let spared = match fault["after"].as_u64().unwrap_or_default() {
        0 => String::new(),
        spared => format!(", after {spared} that succeed"),
    };
    let whose = if fault["all_accounts"] == true { ", of all accounts" } else { "" };
    format!("{} of {of}{whose}{spared}", describe_frequency(fault))
}

/// The method and path that a rule selects, or `SMTP` and the stage.
fn rule_target(fault: &Value) -> (String, String) {
    match text_at(fault, "/smtp") {
        stage if !stage.is_empty() => ("SMTP".to_owned(), stage),
        _ => (text_at(fault, "/method"), text_at(fault, "/path")),
    }
}

fn describe_frequency(fault: &Value) -> String {
    match (fault["left"].as_u64(), fault["percent"].as_u64()) {
        (Some(left), _) => format!("the next {left}"),
        (_, Some(percent)) => format!("{percent}%"),
        _ => "all".to_owned(),
    }
}
