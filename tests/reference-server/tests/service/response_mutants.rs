//! Response mutants: wrong responses, each of which a test should detect. `tests/response-mutants` records the mutants that each test
//! receives, and runs the tests again with one at a time.
//!
//! A mutant is a response, a change and a part, such as `GET /emails 200|null|/data/*/subject`: where the contract doesn't allow null, a
//! string is shortened, a number increased and a boolean negated instead. It applies after the comparison with the contract.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::sync::{LazyLock, Mutex};

use http::{HeaderName, Method, StatusCode};
use idempost_conformance::contract::{Answer, Contract};
use idempost_reference_server::Service;
use serde_json::{Value, json};

/// The mutant to apply.
static MUTANT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("IDEMPOST_MUTANT").ok());

/// The file that mutants are recorded in.
static RECORD: LazyLock<Option<File>> =
    LazyLock::new(|| std::env::var_os("IDEMPOST_MUTANTS_RECORD").map(|path| File::create(path).unwrap()));

/// The tests and parts that the file contains.
static RECORDED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The headers that belong to one response; the others are the same in all.
const HEADERS: [HeaderName; 3] = [http::header::ALLOW, http::header::LOCATION, http::header::RETRY_AFTER];

/// Errors that are the same on every route, so one mutant changes all.
const SHARED: [&str; 6] = [
    "beta_disabled",
    "invalid_access_token",
    "invalid_api_key",
    "invalid_permission",
    "missing_api_key",
    "restricted_api_key",
];

/// Whether a mutant applies to this run, which then doesn't need the contract: compiling it takes seconds.
pub(crate) fn is_active() -> bool {
    MUTANT.is_some()
}

/// Records the mutants of a response, or returns it as the mutant of this run changes it.
pub(crate) fn apply(method: &Method, path: &str, answer: Answer) -> Answer {
    thread_local!(static APPLIED: Cell<u32> = const { Cell::new(0) });
    if let Some(file) = &*RECORD {
        record_mutants(file, method, path, &answer);
    }
    let Some(mutant) = &*MUTANT else { return answer };
    let mut parts = mutant.splitn(3, '|');
    let [response, change, part] = std::array::from_fn(|_| parts.next().unwrap());
    if response != name(method, path, &answer) {
        return answer;
    }
    APPLIED.set(APPLIED.get() + 1);
    assert!(APPLIED.get() < 7_000, "the test requests pages without end");
    changed(&answer, change, part).unwrap_or(answer)
}

/// The route with the status and the error of a response.
fn name(method: &Method, path: &str, answer: &Answer) -> String {
    let fits = |route: &&str| {
        let (parts, segments) = (route.split('/'), path.split('/'));
        parts.clone().count() == segments.clone().count()
            && parts.zip(segments).all(|(part, segment)| part.starts_with('{') || part == segment)
    };
    let routes = Service::routes().filter(|(allowed, _)| allowed == method).map(|(_, route)| route);
    let route = routes.filter(fits).min_by_key(|route| route.matches('{').count()).unwrap_or("*");
    let status = answer.status.as_u16();
    match answer.error_name() {
        Some(error) if SHARED.contains(&&*error) => format!("* {status} {error}"),
        Some(error) => format!("{method} {route} {status} {error}"),
        None => format!("{method} {route} {status}"),
    }
}

/// Writes a line for each mutant of a response: the test, the mutant, and whether the contract allows it.
fn record_mutants(mut file: &File, method: &Method, path: &str, answer: &Answer) {
    let mut recorded = RECORDED.lock().unwrap();
    let is_valid = |answer: &Answer| Contract::get().breaches_of_answer(method, path, answer).is_empty();
    let thread = std::thread::current();
    // Threads that a test starts have no name, and the sandbox's own routes another contract.
    let Some(test) = thread.name().filter(|_| is_valid(answer)) else { return };
    let response = name(method, path, answer);
    // An error has no null.
    let changes = if answer.error_name().is_some() { &["changed"][..] } else { &["null", "changed"] };
    for part in parts(answer) {
        if recorded.contains(&format!("{test}\t{response}|{part}")) {
            continue;
        }
        let mutants = changes.iter().filter_map(|change| Some((change, changed(answer, change, &part)?)));
        let mutants: Vec<_> = mutants.map(|(change, answer)| (change, is_valid(&answer))).collect();
        if let Some((change, valid)) = mutants.iter().find(|(_, valid)| *valid).or(mutants.first()) {
            let verdict = if *valid { "valid" } else { "invalid" };
            writeln!(file, "{test}\t{response}|{change}|{part}\t{verdict}").unwrap();
            recorded.insert(format!("{test}\t{response}|{part}"));
        }
    }
}

/// The parts of a response: its status, some headers, and the values of its body.
fn parts(answer: &Answer) -> Vec<String> {
    let headers = HEADERS.iter().filter(|name| answer.headers.contains_key(*name));
    let mut parts: Vec<_> = headers.map(ToString::to_string).chain(["status".to_owned()]).collect();
    if let Ok(mut body) = serde_json::from_slice(&answer.body) {
        // `statusCode` repeats the status.
        visit(&mut body, "", &mut |at, _| parts.extend((at != "/statusCode").then(|| at.to_owned())));
    }
    parts
}

/// The response with another value of a part; `None` if this change doesn't apply to it.
fn changed(answer: &Answer, change: &str, part: &str) -> Option<Answer> {
    let mut answer = answer.clone();
    if part.starts_with('/') {
        let is_message = part == "/message" && answer.error_name().is_some();
        let mut body = serde_json::from_slice(&answer.body).ok()?;
        let mut any = false;
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
        Value::Number(value) => Some(value.as_i64().map_or_else(|| json!(1.25), |value| json!(value + 1))),
        Value::String(text) if !text.is_empty() => Some(json!(shortened(text))),
        Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text without its last word, or without its last character if it is one word.
fn shortened(text: &str) -> &str {
    let end = text.char_indices().next_back().map_or(0, |(last, _)| last);
    text.rsplit_once(' ').map_or(&text[..end], |(words, _)| words)
}

/// Calls a function with each leaf and its JSON pointer, in which `*` is any index, and any name with other characters than a field's.
fn visit(value: &mut Value, at: &str, call: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let is_field = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                visit(field, &format!("{at}/{}", if is_field { name } else { "*" }), call);
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
