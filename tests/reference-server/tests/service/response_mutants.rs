//! Response mutants: wrong responses, each of which a test should detect. `tests/response-mutants` records the mutants that each test
//! receives, and runs the tests again with one at a time.
//!
//! A mutant is a response, a change and a part, such as `GET /emails 200|null|/data/*/subject`: wherever a string, a number or a boolean
//! can't be null, it is shortened, increased or negated instead. The contract has accepted the original response before.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex};

use http::{HeaderName, Method, StatusCode};
use idempost_conformance::contract::{Answer, Contract};
use idempost_reference_server::Service;
use serde_json::{Value, json};

/// The mutant to apply.
static MUTANT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("IDEMPOST_MUTANT").ok());

/// The file to record mutants in, and those that it contains.
static RECORD: LazyLock<Option<Mutex<(File, HashSet<String>)>>> = LazyLock::new(|| {
    let path = std::env::var_os("IDEMPOST_MUTANTS_RECORD")?;
    Some(Mutex::new((File::create(path).unwrap(), HashSet::new())))
});

/// The headers that belong to one response; the others are the same in all.
const HEADERS: [HeaderName; 3] = [http::header::ALLOW, http::header::LOCATION, http::header::RETRY_AFTER];

/// Whether this run applies a mutant. Such runs don't need the contract, which takes seconds to compile.
pub(crate) fn active() -> bool {
    MUTANT.is_some()
}

/// The errors that routes share: a mutant changes them on all.
const SHARED: [&str; 6] = [
    "beta_disabled",
    "invalid_access_token",
    "invalid_api_key",
    "invalid_permission",
    "missing_api_key",
    "restricted_api_key",
];

/// Returns the response as the mutant changes it: unchanged if it concerns another response, or if there is none.
pub(crate) fn apply(method: &Method, path: &str, answer: Answer) -> Answer {
    thread_local!(static APPLIED: Cell<u32> = const { Cell::new(0) });
    if let Some(record) = &*RECORD {
        let (file, recorded) = &mut *record.lock().unwrap();
        record_mutants(file, recorded, method, path, &answer);
    }
    let Some([response, change, part]) = MUTANT.as_ref().map(|mutant| {
        let mut parts = mutant.splitn(3, '|');
        std::array::from_fn(|_| parts.next().unwrap())
    }) else {
        return answer;
    };
    if response != name(method, path, &answer) {
        return answer;
    }
    APPLIED.set(APPLIED.get() + 1);
    assert!(APPLIED.get() < 7_000, "the test requests pages without end");
    changed(&answer, change, part).unwrap_or(answer)
}

/// The route with the status and the error of a response.
fn name(method: &Method, path: &str, answer: &Answer) -> String {
    let matches = |route: &&str| {
        let mut segments = path.split('/');
        let matched = route
            .split('/')
            .all(|part| segments.next().is_some_and(|segment| part.starts_with('{') || part == segment));
        matched && segments.next().is_none()
    };
    let routes = Service::routes().filter(|(allowed, _)| allowed == method).map(|(_, route)| route);
    let route = routes.filter(matches).min_by_key(|route| route.matches('{').count()).unwrap_or("*");
    let status = answer.status.as_u16();
    match answer.error_name() {
        Some(error) if SHARED.contains(&&*error) => format!("* {status} {error}"),
        Some(error) => format!("{method} {route} {status} {error}"),
        None => format!("{method} {route} {status}"),
    }
}

/// Writes a line for each mutant of a response: the test, the mutant, and whether it violates the contract.
fn record_mutants(
    file: &mut File,
    recorded: &mut HashSet<String>,
    method: &Method,
    path: &str,
    answer: &Answer,
) {
    let thread = std::thread::current();
    // Only libtest's own threads have the name of a test.
    let Some(test) = thread.name().filter(|name| name.contains("::")) else { return };
    let is_valid = |answer: &Answer| Contract::get().breaches_of_answer(method, path, answer).is_empty();
    // The sandbox's own routes are in another contract.
    if !is_valid(answer) {
        return;
    }
    let response = name(method, path, answer);
    for part in parts(answer) {
        if !recorded.insert(format!("{test} {response} {part}")) {
            continue;
        }
        // An error's name and message become others.
        let changes = if answer.error_name().is_some() { &["changed"][..] } else { &["null", "changed"] };
        let mutants: Vec<_> = changes
            .iter()
            .filter_map(|change| {
                let changed = changed(answer, change, &part)?;
                Some((*change, is_valid(&changed)))
            })
            .collect();
        // If the contract rejects both, the tests must detect the simpler one.
        if let Some((change, valid)) = mutants.iter().find(|(_, valid)| *valid).or(mutants.first()) {
            let verdict = if *valid { "valid" } else { "invalid" };
            writeln!(file, "{test}\t{response}|{change}|{part}\t{verdict}").unwrap();
        }
    }
}

/// The parts of a response that a mutant can change.
fn parts(answer: &Answer) -> Vec<String> {
    let headers = HEADERS.iter().filter(|name| answer.headers.contains_key(*name));
    let mut parts: Vec<_> = headers.map(ToString::to_string).chain(["status".to_owned()]).collect();
    if let Ok(mut body) = serde_json::from_slice(&answer.body) {
        // The status in the body of an error is that of the response.
        visit(&mut body, "", &mut |at, _| parts.extend((at != "/statusCode").then(|| at.to_owned())));
    }
    parts
}

/// The response with another value of a part; `None` if this change can't be applied to it.
fn changed(answer: &Answer, change: &str, part: &str) -> Option<Answer> {
    let mut answer = answer.clone();
    if part.starts_with('/') {
        let mut body = serde_json::from_slice(&answer.body).ok()?;
        let mut any = false;
        let is_message = answer.error_name().is_some() && part == "/message";
        visit(&mut body, "", &mut |at, value| {
            let other = if is_message { Some(json!("Another message.")) } else { another(value, change) };
            if let Some(other) = other.filter(|_| at == part) {
                *value = other;
                any = true;
            }
        });
        answer.body = any.then(|| body.to_string().into())?;
    } else if change == "null" {
        return None;
    } else if part == "status" {
        // Another one of the same class.
        let (status, class) = (answer.status.as_u16(), answer.status.as_u16() / 100 * 100);
        answer.status = StatusCode::from_u16(class + u16::from(status == class)).unwrap();
    } else {
        let header = answer.headers.get_mut(part)?;
        *header = shortened(header.to_str().unwrap()).parse().unwrap();
    }
    Some(answer)
}

fn another(value: &Value, change: &str) -> Option<Value> {
    match value {
        Value::Null => None,
        _ if change == "null" => Some(Value::Null),
        Value::Bool(value) => Some(json!(!value)),
        Value::Number(value) => Some(
            value.as_i64().map_or_else(|| json!(value.as_f64().unwrap() + 1.0), |value| json!(value + 1)),
        ),
        Value::String(text) => Some(json!(shortened(text))),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text without its last word, or without its last character if it is one word.
fn shortened(text: &str) -> &str {
    let end = text.char_indices().next_back().map_or(0, |(last, _)| last);
    text.rsplit_once(' ').map_or(&text[..end], |(words, _)| words)
}

/// Calls a function with each leaf and its JSON pointer, in which the index of an array, or a name that is data, is `*`.
fn visit(value: &mut Value, at: &str, call: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                // A name with other characters is data, such as an ID.
                let is_own = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let name = if is_own { name } else { "*" };
                visit(field, &format!("{at}/{name}"), call);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                visit(item, &format!("{at}/*"), call);
            }
        }
        leaf => call(at, leaf),
    }
}
