//! `sandbox fail`: what is to go wrong, and for which requests.

use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};

use super::{client, unreachable};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind, at};
use crate::settings::keys;

/// Make requests fail on purpose
///
/// RULE says which: `POST /emails`, `POST`, `/emails`, `'GET /emails/{id}'` with {…} for any one segment; without it every request counts. The
/// next one that fits fails with 500, unless a flag says what goes wrong and how often. Rules are tried in the order in which they were
/// given. They belong to the sandbox as a whole, so they are met by the requests of every key; `sandbox …` itself never meets them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste sandbox fail 'POST /emails' --status 503 --times 2\n  \
    posthaste sandbox fail --rate-limit --retry-after 2 --percent 30\n  \
    posthaste sandbox fail 'POST /emails' --lose --after 5\n  \
    posthaste sandbox fail --rotate-then-lose\n  \
    posthaste sandbox fail --list\n  \
    posthaste sandbox fail --clear")]
pub(crate) struct Args {
    /// Method, path, or both
    #[arg(value_name = "RULE", num_args = 0..=2)]
    rule: Vec<String>,
    /// List the rules that are not used up
    #[arg(long)]
    list: bool,
    /// Take all rules back; =ID takes back one
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    clear: Option<String>,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    often: Often,
}

/// What goes wrong. One of them at most.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What goes wrong")]
#[group(skip)]
#[expect(clippy::struct_excessive_bools, reason = "these are flags of a command line")]
struct What {
    /// It is refused with this status, 500 by default
    #[arg(long, value_name = "N")]
    status: Option<String>,
    /// The name in the body of that refusal
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The connection is lost before anything was done
    #[arg(long)]
    drop: bool,
    /// It is done, but the answer is lost
    #[arg(long)]
    lose: bool,
    /// It is done, and the answer breaks off after so many bytes of its body
    #[arg(long, value_name = "BYTES")]
    truncate: Option<String>,
    /// It is never answered, until somebody gives up
    #[arg(long)]
    stall: bool,
    /// It is done, and the answer is held back for so long
    #[arg(long, value_name = "DURATION")]
    slow: Option<String>,
    /// It is refused with 429
    #[arg(long)]
    rate_limit: bool,
    /// The header `retry-after` of a refusal: seconds, or anything else
    #[arg(long, value_name = "TEXT")]
    retry_after: Option<String>,
    /// The next renewal of a login is done, but its answer is lost: `POST /oauth/token --lose`
    #[arg(long)]
    rotate_then_lose: bool,
}

/// How many requests meet it. One of the first three at most.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How often")]
#[group(skip)]
struct Often {
    /// The next N that fit; 1 by default
    #[arg(long, value_name = "N")]
    times: Option<String>,
    /// So many of a hundred, by chance
    #[arg(long, value_name = "N")]
    percent: Option<String>,
    /// All that fit, until the rule is taken back
    #[arg(long)]
    always: bool,
    /// The first N that fit are spared
    #[arg(long, value_name = "N")]
    after: Option<String>,
}

const COLUMNS: &[Column] = &[
    Column::new("id", "ID", Kind::Text),
    Column::new("method", "METHOD", Kind::Text),
    Column::new("path", "PATH", Kind::Text),
    Column::new("action", "ACTION", Kind::State),
    Column::new("status", "STATUS", Kind::Text),
    Column::new("often", "HOW OFTEN", Kind::Text).of(often),
    Column::new("met", "MET", Kind::Text),
    Column::new("client_gets", "CLIENT GETS", Kind::Shrinks).at("/client_gets/summary"),
];

/// Scripts it, lists the script, or takes it back.
pub(super) async fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let plan = plan(args, &mut flags);
    flags.finish()?;
    match plan {
        Plan::List => {
            let columns = context.out.columns(COLUMNS)?;
            let list = client(context)?.request(Method::GET, "/_/faults").await.map_err(unreachable)?;
            if list["data"].as_array().is_some_and(Vec::is_empty) {
                context.out.note("nothing is to go wrong");
            }
            context.out.list(&list, &columns)
        }
        Plan::TakeBack(id) => {
            let path = match &id {
                Some(id) => format!("/_/faults/{id}"),
                None => "/_/faults".to_owned(),
            };
            let answer = client(context)?.request(Method::DELETE, path).await.map_err(unreachable)?;
            context.out.note(match id {
                Some(_) => "the rule is taken back",
                None => "nothing is to go wrong any more",
            });
            context.out.result(&[], &answer)
        }
        Plan::Add(rule) => {
            let call = client(context)?.request(Method::POST, "/_/faults").json(&Value::Object(rule));
            let fault = call.await.map_err(unreachable)?;
            context.out.note(&format!("{}: {}", which(&fault), at(&fault, "/client_gets/summary")));
            context.out.result(&[at(&fault, "/id")], &fault)
        }
    }
}

enum Plan {
    List,
    TakeBack(Option<String>),
    Add(Map<String, Value>),
}

fn plan(args: &Args, flags: &mut Flags) -> Plan {
    let Args { rule, what, often, list, clear } = args;
    let mut wanted = Map::new();
    requests(rule, what.rotate_then_lose, &mut wanted, flags);
    let asked = action(what, &mut wanted, flags);
    let counted = count(often, &mut wanted, flags);
    let given = !rule.is_empty() || asked || counted;
    if *list && (given || clear.is_some()) {
        flags.wrong("exclusive", "--list goes with no other flag and no rule", "--list", "--list");
    }
    if let Some(id) = clear {
        if given {
            flags.wrong(
                "exclusive",
                "--clear goes with no other flag and no rule; one rule is --clear=ID",
                "--clear",
                id,
            );
        }
        if !id.bytes().all(|byte| byte.is_ascii_digit()) {
            flags.wrong("type", "an id is a number, as --list shows it", "--clear", id);
        }
        return Plan::TakeBack(Some(id.clone()).filter(|id| !id.is_empty()));
    }
    if *list { Plan::List } else { Plan::Add(wanted) }
}

fn requests(rule: &[String], renewal: bool, wanted: &mut Map<String, Value>, flags: &mut Flags) {
    let text = rule.join(" ");
    if renewal {
        if !text.is_empty() {
            flags.wrong(
                "exclusive",
                "--rotate-then-lose is about `POST /oauth/token` and takes no rule",
                "RULE",
                &text,
            );
        }
        wanted.extend([("method".to_owned(), json!("POST")), ("path".to_owned(), json!("/oauth/token"))]);
        return;
    }
    let words: Vec<_> = text.split_whitespace().collect();
    let (method, path) = match words.as_slice() {
        [] => (None, None),
        [path] if path.starts_with('/') => (None, Some(*path)),
        [method] => (Some(*method), None),
        [method, path] => (Some(*method), Some(*path)),
        _ => return flags.wrong("type", "a rule is a method, a path, or both: POST /emails", "RULE", &text),
    };
    if let Some(path) = path.filter(|path| !path.starts_with('/')) {
        flags.wrong("type", format!("a path begins with /; found `{path}`"), "RULE", &text);
    }
    if let Some(method) = method {
        let method = method.to_ascii_uppercase();
        if !["GET", "POST", "PATCH", "PUT", "DELETE"].contains(&method.as_str()) {
            flags.wrong(
                "type",
                "a method is GET, POST, PATCH or DELETE, and a path begins with /",
                "RULE",
                &text,
            );
        }
        wanted.insert("method".to_owned(), method.into());
    }
    if let Some(path) = path {
        wanted.insert("path".to_owned(), path.into());
    }
}

/// What goes wrong; gives whether a flag said so.
fn action(what: &What, wanted: &mut Map<String, Value>, flags: &mut Flags) -> bool {
    let What { status, name, drop, lose, truncate, stall, slow, rate_limit, retry_after, rotate_then_lose } =
        what;
    let answered = status.is_some() || name.is_some();
    let given: Vec<_> = [
        (answered, if status.is_some() { "--status" } else { "--name" }, "answer"),
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
        flags.wrong(
            "exclusive",
            format!("one thing goes wrong at a time: {flag} or {}", given[0].1),
            flag,
            flag,
        );
    }
    let action = given.first().map_or("answer", |(.., action)| action);
    wanted.insert("action".to_owned(), action.into());
    if let Some(text) = status {
        wanted.extend(number("--status", text, 200, 599, flags).map(|n| ("status".to_owned(), n.into())));
    }
    if let Some(name) = name {
        wanted.insert("name".to_owned(), name.as_str().into());
    }
    if let Some(text) = truncate {
        wanted.extend(number("--truncate", text, 0, 1 << 30, flags).map(|n| ("bytes".to_owned(), n.into())));
    }
    if let Some(text) = slow {
        let longest = Duration::from_hours(1);
        match keys::duration(text) {
            Ok(by) if by <= longest => {
                let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
                wanted.insert("delay_ms".to_owned(), by.into());
            }
            Ok(_) => flags.wrong("range", "an answer is held back for an hour at most", "--slow", text),
            Err(rule) => flags.wrong("type", format!("--slow {rule}"), "--slow", text),
        }
    }
    if let Some(text) = retry_after {
        if given.first().is_some_and(|(.., action)| !matches!(*action, "answer" | "rate_limit")) {
            let rule = "--retry-after goes with a refusal: --status or --rate-limit";
            flags.wrong("exclusive", rule, "--retry-after", text);
        }
        wanted.insert("retry_after".to_owned(), text.as_str().into());
    }
    !given.is_empty() || retry_after.is_some()
}

/// How often; gives whether a flag said so.
fn count(often: &Often, wanted: &mut Map<String, Value>, flags: &mut Flags) -> bool {
    let Often { times, percent, always, after } = often;
    let given: Vec<_> =
        [(times.is_some(), "--times"), (percent.is_some(), "--percent"), (*always, "--always")]
            .into_iter()
            .filter_map(|(given, flag)| given.then_some(flag))
            .collect();
    for flag in given.iter().skip(1) {
        flags.wrong("exclusive", format!("{flag} and {} exclude each other", given[0]), flag, flag);
    }
    for (field, flag, text, least, most) in [
        ("times", "--times", times, 1, 1_000_000),
        ("percent", "--percent", percent, 1, 100),
        ("after", "--after", after, 0, 1_000_000),
    ] {
        if let Some(number) = text.as_ref().and_then(|text| number(flag, text, least, most, flags)) {
            wanted.insert(field.to_owned(), number.into());
        }
    }
    if *always {
        wanted.insert("always".to_owned(), true.into());
    }
    !given.is_empty() || after.is_some()
}

fn number(flag: &str, text: &str, least: u64, most: u64, flags: &mut Flags) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && (least..=most).contains(number));
    if number.is_none() {
        flags.wrong("range", format!("{flag} is a whole number from {least} to {most}"), flag, text);
    }
    number
}

/// `the next 2 of POST /emails`.
fn which(fault: &Value) -> String {
    let of = [at(fault, "/method"), at(fault, "/path")];
    let of = of.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let of = if of.is_empty() { "all requests".to_owned() } else { of };
    let spared = match fault["after"].as_u64().unwrap_or_default() {
        0 => String::new(),
        spared => format!(", after {spared} that are spared"),
    };
    format!("{} of {of}{spared}", often(fault))
}

fn often(fault: &Value) -> String {
    match (fault["left"].as_u64(), fault["percent"].as_u64()) {
        (Some(left), _) => format!("the next {left}"),
        (_, Some(percent)) => format!("{percent} in 100"),
        _ => "all".to_owned(),
    }
}
