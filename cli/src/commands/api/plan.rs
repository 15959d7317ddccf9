//! Validates the flags and builds the request; reports all problems at once.

use std::collections::BTreeSet;

use http::{HeaderName, HeaderValue, Method};
use serde_json::{Map, Value};

use super::{Args, Plan};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Diagnostics, Fail, Origin, Problem};
use crate::input::flags::DryRun;
use crate::input::{
    body_builder::{flag_origin, flag_span},
    json,
    json_spans::{self, Target},
    pair::Pair,
    source::{self, StdinReaders},
};

#[derive(Default)]
struct Problems(Vec<Diagnostic>);

impl Problems {
    fn add(&mut self, code: &'static str, rule: impl Into<String>, origin: Origin) {
        self.0.push(Diagnostic { problem: Problem::new("", code, rule), origin: Some(origin), hint: None });
    }

    fn pairs<'a>(
        &mut self,
        flag: &str,
        form: &str,
        values: &'a [String],
        separator: char,
    ) -> Vec<(usize, Pair<'a>)> {
        let mut pairs = Vec::new();
        for (i, text) in values.iter().enumerate() {
            match Pair::read(text, separator).filter(|pair| !pair.name.is_empty()) {
                Some(pair) => pairs.push((i, pair)),
                None => self.add("type", format!("{flag} must be {form}"), flag_origin(flag, i + 1, text)),
            }
        }
        pairs
    }
}

pub(super) fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let Args { method, path, field, json_field, query, header, segment, input, include, all, dry_run } = args;
    let mut problems = Problems::default();
    let mut stdin = context.stdin();

    let method = read_method(&method, &mut problems);
    let path = fill(&path, &segment, &mut problems);
    let query = problems.pairs("--query", "NAME=VALUE", &query, '=');
    let query = query.into_iter().map(|(_, pair)| (pair.name.to_owned(), pair.value.to_owned())).collect();
    let headers = headers(&header, &mut problems);
    let body = body(input.as_deref(), &field, &json_field, &mut stdin, &mut problems);
    if body.is_some() && matches!(method, Method::GET | Method::HEAD) {
        let rule = format!("a {method} request has no body; pass query parameters with -Q");
        problems.add("exclusive", rule, flag_origin("METHOD", 1, method.as_str()));
    }
    if all && method != Method::GET {
        problems.add("exclusive", "--all requires GET", flag_origin("METHOD", 1, method.as_str()));
    }
    let dry_run = dry_run.and_then(|form| {
        let read = DryRun::read(&form);
        if read.is_none() {
            problems.add("type", "--dry-run must be json or curl", flag_origin("--dry-run", 1, &form));
        }
        read
    });
    if problems.0.is_empty() {
        return Ok(Plan { method, path, query, headers, body, include, all, dry_run });
    }
    Err(Fail::Usage(Diagnostics { found: problems.0, ..Diagnostics::default() }))
}

fn read_method(text: &str, problems: &mut Problems) -> Method {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
    let upper = text.to_ascii_uppercase();
    known.into_iter().find(|method| method.as_str() == upper).unwrap_or_else(|| {
        problems.add(
            "type",
            "METHOD must be GET, POST, PUT, PATCH, DELETE or HEAD",
            flag_origin("METHOD", 1, text),
        );
        Method::GET
    })
}

/// Inserts the path segments, each percent-encoded so that it stays one segment.
fn fill(path: &str, segments: &[String], problems: &mut Problems) -> String {
    let at_path = |span| flag_span("PATH", 1, path, span);
    if path.contains("://") || path.starts_with("//") {
        let rule = "PATH must be relative to the service's base URL; set that with --base-url";
        problems.add("url", rule, flag_origin("PATH", 1, path));
        return "/".to_owned();
    }
    let pairs = problems.pairs("--path", "NAME=VALUE", segments, '=');
    let mut used = BTreeSet::new();
    let mut filled = if path.starts_with('/') { String::new() } else { "/".to_owned() };
    let mut rest = 0;
    while let Some(open) = path[rest..].find('{').map(|at| rest + at) {
        let Some(close) = path[open..].find('}').map(|at| open + at) else { break };
        filled += &path[rest..open];
        rest = close + 1;
        let name = &path[open + 1..close];
        match pairs.iter().find(|(_, pair)| pair.name == name) {
            None => problems.add("required", format!("--path {name}=… is missing"), at_path(open..close + 1)),
            Some((i, pair)) => {
                used.insert(name);
                match idempost::problem::path_segment(pair.value) {
                    Ok(segment) => filled += &segment,
                    Err(problem) => {
                        let origin = flag_span("--path", i + 1, &segments[*i], pair.value_at.clone());
                        problems.add(problem.code, problem.message, origin);
                    }
                }
            }
        }
    }
    filled += &path[rest..];
    for (i, pair) in pairs.iter().filter(|(_, pair)| !used.contains(pair.name)) {
        let rule = format!("there is no {{{}}} in the path", pair.name);
        problems.add("unknown", rule, flag_span("--path", i + 1, &segments[*i], pair.name_at()));
    }
    filled
}

fn headers(values: &[String], problems: &mut Problems) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for (i, pair) in problems.pairs("--header", "`NAME: VALUE`", values, ':') {
        let (name, value) = (pair.name, pair.value.trim());
        let origin = |span| flag_span("--header", i + 1, &values[i], span);
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            (Err(_), _) => {
                problems.add("header", "a header must have a valid HTTP name", origin(pair.name_at()));
            }
            (_, Err(_)) => {
                problems.add(
                    "header",
                    "a header value must not contain control characters such as line breaks",
                    origin(pair.value_at),
                );
            }
            (Ok(name), _) if matches!(name.as_str(), "authorization" | "host" | "content-length") => {
                problems.add("reserved", "this header is set by idempost", origin(pair.name_at()));
            }
            (Ok(name), Ok(_)) if name == "idempotency-key" => match idempost::IdempotencyKey::new(value) {
                Ok(_) => headers.push((name.as_str().to_owned(), value.to_owned())),
                Err(problem) => problems.add(problem.code, problem.message, origin(pair.value_at)),
            },
            (Ok(name), Ok(_)) => headers.push((name.as_str().to_owned(), value.to_owned())),
        }
    }
    headers
}

fn body(
    input: Option<&str>,
    fields: &[String],
    json_fields: &[String],
    stdin: &mut StdinReaders,
    problems: &mut Problems,
) -> Option<Value> {
    let mut body = input.and_then(|name| document(name, stdin, problems));
    if fields.is_empty() && json_fields.is_empty() {
        return body;
    }
    let mut object = match body.take() {
        None => Map::new(),
        Some(Value::Object(object)) => object,
        Some(other) => {
            let rule = "fields can only be added to a JSON object";
            problems.add("type", rule, flag_origin("--input", 1, input.unwrap_or_default()));
            return Some(other);
        }
    };
    for (_, pair) in problems.pairs("--field", "NAME=TEXT", fields, '=') {
        object.insert(pair.name.to_owned(), pair.value.into());
    }
    for (i, pair) in problems.pairs("--json-field", "NAME=JSON", json_fields, '=') {
        let origin = flag_span("--json-field", i + 1, &json_fields[i], pair.value_at.clone());
        if let Some(path) = source::named_in(pair.value) {
            let source = match stdin.claim("--json-field", path) {
                Ok(source) => source,
                Err(found) => {
                    problems.0.push(*found);
                    continue;
                }
            };
            match source.text() {
                Ok(text) => drop(object.insert(pair.name.to_owned(), (*text).into())),
                Err(rule) => problems.add("file", format!("couldn't read {source}: {rule}"), origin),
            }
            continue;
        }
        match json::read(pair.value) {
            Ok(document) => drop(object.insert(pair.name.to_owned(), document.value)),
            Err(error) => problems.0.push(Diagnostic {
                problem: Problem::new("", "json", error.message),
                origin: Some(origin),
                hint: Some(format!("for text, use -f {}=…", pair.name)),
            }),
        }
    }
    Some(Value::Object(object))
}

fn document(name: &str, stdin: &mut StdinReaders, problems: &mut Problems) -> Option<Value> {
    let source = match stdin.claim("--input", name) {
        Ok(source) => source,
        Err(found) => {
            problems.0.push(*found);
            return None;
        }
    };
    let text = match source.text() {
        Ok(text) => text,
        Err(rule) => {
            problems.add("file", format!("couldn't read {source}: {rule}"), flag_origin("--input", 1, name));
            return None;
        }
    };
    match json::read(&text) {
        Ok(document) => {
            let spans = json_spans::find(
                &text,
                document.repeated.iter().map(|pointer| (pointer.as_str(), Target::Key)),
            );
            for (pointer, span) in document.repeated.iter().zip(spans) {
                let problem = Problem::new(pointer.as_str(), "repeated", "this key is repeated");
                problems.0.push(Diagnostic { problem, origin: Some(source.origin(&text, span)), hint: None });
            }
            Some(document.value)
        }
        Err(error) => {
            let end = text.ceil_char_boundary((error.at + 1).min(text.len()));
            problems.add("json", error.message, source.origin(&text, error.at..end));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(path: &str, segments: &[&str]) -> Result<String, Vec<String>> {
        let segments: Vec<String> = segments.iter().map(|&text| text.to_owned()).collect();
        let mut problems = Problems::default();
        let path = fill(path, &segments, &mut problems);
        if problems.0.is_empty() {
            Ok(path)
        } else {
            Err(problems.0.into_iter().map(|found| found.problem.message).collect())
        }
    }

    #[test]
    fn a_value_stays_one_segment_of_the_path() {
        //
        assert_eq!(filled("emails", &[]), Ok("/emails".into()));
        assert_eq!(
            filled("/emails/{id}", &["id=a/b?c#d %2F é"]),
            Ok("/emails/a%2Fb%3Fc%23d%20%252F%20%C3%A9".into())
        );
        assert_eq!(filled("/a/{x}/b/{y}", &["y=2", "x=1"]), Ok("/a/1/b/2".into()));
        for wrong in ["id=", "id=.", "id=.."] {
            assert_eq!(filled("/emails/{id}", &[wrong]).unwrap_err().len(), 1, "{wrong}");
        }
    }

    #[test]
    fn each_missing_and_each_unknown_path_parameter_is_reported() {
        assert_eq!(
            filled("/emails/{id}", &["ID=1"]).unwrap_err(),
            ["--path id=… is missing", "there is no {ID} in the path"]
        );
    }

    #[test]
    fn a_path_with_another_host_is_refused() {
        for wrong in ["https://evil.test/emails", "//evil.test/emails"] {
            assert_eq!(filled(wrong, &[]).unwrap_err().len(), 1);
        }
    }
}
