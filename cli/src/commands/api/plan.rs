//! Validates the flags and builds the request; reports all problems together.

use std::collections::BTreeSet;

use http::{HeaderName, HeaderValue, Method};
use serde_json::{Map, Value};

use super::{Args, Plan};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::input::document::Document;
use crate::input::flags::Flags;
use crate::input::json;
use crate::input::source::{self, StdinReaders};

pub(super) fn plan(args: Args, context: &Context) -> Result<Plan, Fail> {
    let Args { method, path, field, json_field, query, header, segment, input, include, all, dry_run } = args;
    let mut flags = Flags::default();
    let mut stdin = context.stdin();

    let method = read_method(&method, &mut flags);
    let path = fill_path(&path, &segment, &mut flags);
    let query = flags.pairs("--query", "NAME=VALUE", &query);
    let query = query.into_iter().map(|pair| (pair.name.to_owned(), pair.value.to_owned())).collect();
    let headers = headers(&header, &mut flags);
    let body = read_body(input.as_deref(), &field, &json_field, &mut stdin, &mut flags);
    if body.is_some() && matches!(method, Method::GET | Method::HEAD) {
        let rule = format!("a {method} request has no body; pass query parameters with -Q");
        flags.reject_at("exclusive", rule, Origin::flag("METHOD", method.as_str()));
    }
    if all && method != Method::GET {
        flags.reject_at("exclusive", "--all requires GET", Origin::flag("METHOD", method.as_str()));
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    Ok(Plan { method, path, query, headers, body, include, all, dry_run })
}

fn read_method(text: &str, flags: &mut Flags) -> Method {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
    let upper = text.to_ascii_uppercase();
    known.into_iter().find(|method| method.as_str() == upper).unwrap_or_else(|| {
        let rule = "METHOD must be GET, POST, PUT, PATCH, DELETE or HEAD";
        flags.reject_at("type", rule, Origin::flag("METHOD", text));
        Method::GET
    })
}

/// Inserts the path segments, each percent-encoded so that it stays one segment.
fn fill_path(path: &str, segments: &[String], flags: &mut Flags) -> String {
    let at_path = |span| Origin::flag_part("PATH", 1, path, span);
    if path.contains("://") || path.starts_with("//") {
        let rule = "PATH must be relative to the service's base URL; set that with --base-url";
        flags.reject_at("url", rule, Origin::flag("PATH", path));
        return "/".to_owned();
    }
    let pairs = flags.pairs("--path", "NAME=VALUE", segments);
    let mut used = BTreeSet::new();
    let mut filled = if path.starts_with('/') { String::new() } else { "/".to_owned() };
    let mut rest = 0;
    while let Some(open) = path[rest..].find('{').map(|at| rest + at) {
        let Some(close) = path[open..].find('}').map(|at| open + at) else { break };
        filled += &path[rest..open];
        rest = close + 1;
        let name = &path[open + 1..close];
        match pairs.iter().find(|pair| pair.name == name) {
            None => {
                flags.reject_at("required", format!("--path {name}=… is missing"), at_path(open..close + 1));
            }
            Some(pair) => {
                used.insert(name);
                match idempost::problem::path_segment(pair.value) {
                    Ok(segment) => filled += &segment,
                    Err(problem) => flags.reject_at(problem.code, problem.message, pair.value_origin()),
                }
            }
        }
    }
    filled += &path[rest..];
    for pair in pairs.iter().filter(|pair| !used.contains(pair.name)) {
        let rule = format!("the path has no placeholder {{{}}}", pair.name);
        flags.reject_at("unknown", rule, pair.name_origin());
    }
    filled
}

fn headers(values: &[String], flags: &mut Flags) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for pair in flags.distinct_pairs("--header", "`NAME: VALUE`", values) {
        let value = pair.value.trim();
        match (HeaderName::try_from(pair.name), HeaderValue::try_from(value)) {
            (Err(_), _) => {
                flags.reject_at("header", "a header must have a valid HTTP name", pair.name_origin());
            }
            (_, Err(_)) => {
                let rule = "a header value must not contain control characters such as line breaks";
                flags.reject_at("header", rule, pair.value_origin());
            }
            (Ok(name), _) if matches!(name.as_str(), "authorization" | "host" | "content-length") => {
                flags.reject_at("reserved", "this header is set by idempost", pair.name_origin());
            }
            (Ok(name), Ok(_)) => {
                if name == "idempotency-key"
                    && let Err(problem) = idempost::IdempotencyKey::new(value)
                {
                    flags.reject_at(problem.code, problem.message, pair.value_origin());
                }
                headers.push((name.as_str().to_owned(), value.to_owned()));
            }
        }
    }
    headers
}

fn read_body(
    input: Option<&str>,
    fields: &[String],
    json_fields: &[String],
    stdin: &mut StdinReaders,
    flags: &mut Flags,
) -> Option<Value> {
    let mut body = input.and_then(|name| read_document(name, stdin, flags));
    if fields.is_empty() && json_fields.is_empty() {
        return body;
    }
    let mut object = match body.take() {
        None => Map::new(),
        Some(Value::Object(object)) => object,
        Some(other) => {
            let rule = "fields can only be added to a JSON object";
            flags.reject_at("type", rule, Origin::flag("--input", input.unwrap_or_default()));
            return Some(other);
        }
    };
    for pair in flags.pairs("--field", "NAME=TEXT", fields) {
        object.insert(pair.name.to_owned(), pair.value.into());
    }
    for pair in flags.pairs("--json-field", "NAME=JSON", json_fields) {
        let origin = pair.value_origin();
        if let Some(path) = source::input_name(pair.value) {
            let Some(source) = flags.take(stdin.claim("--json-field", path)) else { continue };
            match source.text() {
                Ok(text) => drop(object.insert(pair.name.to_owned(), (*text).into())),
                Err(rule) => flags.reject_at("file", format!("couldn't read {source}: {rule}"), origin),
            }
            continue;
        }
        match json::read(pair.value) {
            Ok(document) => drop(object.insert(pair.name.to_owned(), document.value)),
            Err(error) => {
                let hint = Some(format!("for text, use -f {}=…", pair.name));
                flags.push(Diagnostic { hint, ..Diagnostic::new("json", error.message, Some(origin)) });
            }
        }
    }
    Some(Value::Object(object))
}

fn read_document(name: &str, stdin: &mut StdinReaders, flags: &mut Flags) -> Option<Value> {
    let read = stdin.claim("--input", name).and_then(|source| Document::read(source, "--input"));
    let (_, value, repeated) = read.map_err(|found| flags.push(*found)).ok()?;
    flags.take::<()>(Err(repeated));
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill_test_path(path: &str, segments: &[&str]) -> Result<String, Vec<String>> {
        let segments: Vec<String> = segments.iter().map(|&text| text.to_owned()).collect();
        let mut flags = Flags::default();
        let path = fill_path(path, &segments, &mut flags);
        match flags.finish() {
            Err(Fail::Usage(report)) => {
                Err(report.found.into_iter().map(|found| found.problem.message).collect())
            }
            _ => Ok(path),
        }
    }

    #[test]
    fn a_value_stays_one_segment_of_the_path() {
        //
        assert_eq!(fill_test_path("emails", &[]), Ok("/emails".into()));
        assert_eq!(
            fill_test_path("/emails/{id}", &["id=a/b?c#d %2F é"]),
            Ok("/emails/a%2Fb%3Fc%23d%20%252F%20%C3%A9".into())
        );
        assert_eq!(fill_test_path("/a/{x}/b/{y}", &["y=2", "x=1"]), Ok("/a/1/b/2".into()));
        for wrong in ["id=", "id=.", "id=.."] {
            assert_eq!(fill_test_path("/emails/{id}", &[wrong]).unwrap_err().len(), 1, "{wrong}");
        }
    }

    #[test]
    fn each_missing_and_each_unknown_path_parameter_is_reported() {
        assert_eq!(
            fill_test_path("/emails/{id}", &["ID=1"]).unwrap_err(),
            ["--path id=… is missing", "the path has no placeholder {ID}"]
        );
    }

    #[test]
    fn a_path_with_another_host_is_refused() {
        for wrong in ["https://evil.test/emails", "//evil.test/emails"] {
            assert_eq!(fill_test_path(wrong, &[]).unwrap_err().len(), 1);
        }
    }
}
