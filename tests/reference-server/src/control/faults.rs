//! The fault script over HTTP: `GET /_/faults` lists it, `POST` adds a rule, `DELETE` removes all, and `/_/faults/{id}` is one rule.
//!
//! A rule belongs to the account that adds it, and applies to that account's requests only, so parallel tests with a key each don't disturb one
//! another. A rule with `all_accounts` applies to every request, and a rule for requests without an account (the authorization server's, and
//! SMTP stages before `AUTH`) to all accounts. Both need the password, if the sandbox has one. The sandbox's own routes are exempt.

pub mod client_gets;

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value, json};

use self::client_gets::ClientGets;
use crate::access::{self, password};
use crate::control::body::Body;
use crate::route::{Area, Call, Routes};
use crate::state::faults::{Action, Rule, Scripted, Share, SmtpStage};
use crate::wire::answers::Answer;
use crate::wire::paging::quoted;
use crate::wire::problem::{self, Problem};
use crate::wire::query::Parameters;

/// The maximum number of rules per account, and for all accounts.
const MAX_RULES: usize = 1_000;
/// The maximum delay of a response, in milliseconds.
const MAX_DELAY_MS: u64 = 60 * 60 * 1_000;
const ACTIONS: [&str; 7] = ["answer", "drop", "lose", "truncate", "stall", "slow", "rate_limit"];
/// The actions at a stage of an SMTP session.
const SMTP_ACTIONS: [&str; 5] = ["answer", "drop", "lose", "stall", "slow"];
const ACTION_FIELDS: [&str; 8] =
    ["status", "code", "name", "message", "body", "retry_after", "bytes", "delay_ms"];
const FIELDS: &str = "`method`, `path`, `smtp`, `all_accounts`, `action`, `status`, `code`, `name`, `message`, `body`, `retry_after`, `bytes`, \
    `delay_ms`, `times`, `percent`, `always`, `after`";
/// The maximum length of the text of an SMTP reply; its line has at most 512 (RFC 5321, 4.5.3.1.5).
const MAX_REPLY: usize = 400;

/// The rules for the account: its own, and those for all accounts.
pub fn index(call: &Call<'_>) -> Answer {
    let name = access::name_or_default(call.state, call.request)?;
    let data: Vec<_> = call.state.faults.list_of(&name).iter().map(shown).collect();
    Ok(problem::json(StatusCode::OK, &json!({"object": "list", "data": data, "has_more": false})))
}

pub fn add(call: &Call<'_>) -> Answer {
    let (name, faults) = (access::name_or_default(call.state, call.request)?, &call.state.faults);
    let (rule, all_accounts) = read(call.request.body(), call.routes)?;
    let rule = if all_accounts {
        if let Some(refusal) = password::refusal(call.state, call.request) {
            return Ok(refusal);
        }
        rule
    } else {
        rule.for_account(name.as_str())
    };
    if faults.list().iter().filter(|one| one.rule.account() == rule.account()).count() >= MAX_RULES {
        return Err(Problem::validation(format!(
            "At most {MAX_RULES} rules can be scripted; remove some with DELETE /_/faults."
        )));
    }
    let id = faults.add_by(Some(name), rule.clone());
    Ok(problem::json(StatusCode::CREATED, &shown(&Scripted::new(id, rule))))
}

pub fn show(call: &Call<'_>) -> Answer {
    find(call).map(|one| problem::json(StatusCode::OK, &shown(&one)))
}

pub fn remove(call: &Call<'_>) -> Answer {
    let found = find(call)?;
    if found.added_by != Some(access::name_or_default(call.state, call.request)?)
        && let Some(refusal) = password::refusal(call.state, call.request)
    {
        return Ok(refusal);
    }
    let taken = call.state.faults.take_back(found.id).ok_or_else(|| unknown(call.parameter(0)))?;
    Ok(problem::json(
        StatusCode::OK,
        &json!({"object": "fault", "id": taken.id.to_string(), "deleted": true}),
    ))
}

/// Removes the rules that the account added, or with `?all_accounts=true` the rules of all.
pub fn clear(call: &Call<'_>) -> Answer {
    let (name, faults) = (access::name_or_default(call.state, call.request)?, &call.state.faults);
    let deleted = if Parameters::of(call.query()).flag("all_accounts")? {
        if let Some(refusal) = password::refusal(call.state, call.request) {
            return Ok(refusal);
        }
        let deleted = faults.pending();
        faults.clear();
        deleted
    } else {
        faults.clear_of(&name)
    };
    Ok(problem::json(StatusCode::OK, &json!({"deleted": deleted})))
}

/// The rule that the path names, if the account meets it.
fn find(call: &Call<'_>) -> Result<Scripted, Problem> {
    let (name, id) = (access::name_or_default(call.state, call.request)?, call.parameter(0));
    let found = call.state.faults.list_of(&name).into_iter().find(|one| one.id.to_string() == id);
    found.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("There is no fault {}, or it was used up.", quoted(id)))
}

/// A rule in the list: its input, its remaining counts, and the response to an affected request.
fn shown(one: &Scripted) -> Value {
    let rule = &one.rule;
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
    put("object", "fault".into());
    put("id", one.id.to_string().into());
    put("method", rule.method().map(Method::as_str).into());
    put("path", rule.path().into());
    if let Some(stage) = rule.smtp() {
        put("smtp", stage.as_str().into());
    }
    put("all_accounts", rule.account().is_none().into());
    match rule.action() {
        Action::Answer { status, headers, body } => {
            put("action", "answer".into());
            put("status", status.as_u16().into());
            let body: Option<Value> = serde_json::from_slice(body).ok();
            let name = body.as_ref().and_then(|body| body.get("name"));
            put("name", name.cloned().unwrap_or_default());
            let pause = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            put("retry_after", pause.into());
        }
        Action::DropBefore => put("action", "drop".into()),
        Action::DropAfter => put("action", "lose".into()),
        Action::Stall => put("action", "stall".into()),
        Action::Truncate(bytes) => {
            put("action", "truncate".into());
            put("bytes", (*bytes).into());
        }
        Action::Delay(by) => {
            put("action", "slow".into());
            put("delay_ms", u64::try_from(by.as_millis()).unwrap_or(u64::MAX).into());
        }
        Action::TooMany { retry_after } => {
            put("action", "rate_limit".into());
            put("retry_after", retry_after.as_deref().into());
        }
        Action::Reply { code, text } => {
            put("action", "answer".into());
            put("code", (*code).into());
            put("message", text.as_ref().into());
        }
    }
    put("after", rule.spared().into());
    match rule.share() {
        Share::Times(left) => put("left", left.into()),
        Share::Percent(percent) => put("percent", percent.into()),
        Share::Always => put("always", true.into()),
    }
    put("met", one.met.into());
    put("client_gets", json!(ClientGets::of(rule)));
    Value::Object(shown)
}

/// Reads a rule, and whether it is for all accounts.
fn read(body: &[u8], routes: &'static Routes) -> Result<(Rule, bool), Problem> {
    let mut body = Body::read(body)?;
    let method = body.text("method").and_then(|text| method(&text, routes, &mut body));
    let path = body.text("path").and_then(|text| path(text, routes, &mut body));
    let stage = body.text("smtp").and_then(|text| stage(&text, &mut body));
    if stage.is_some() && (method.is_some() || path.is_some()) {
        body.wrong("`smtp` selects a stage of SMTP sessions, and can't be given with `method` or `path`.");
    }
    let of_no_account = stage.is_some_and(SmtpStage::is_before_login)
        || path.as_ref().is_some_and(|path| routes.find(&Method::GET, path).table.area == Area::OAuth);
    let all_accounts = body.flag("all_accounts") || of_no_account;
    let action = action(stage, &mut body);
    let share = share(&mut body);
    let after = body.integer("after", 0, 1_000_000).unwrap_or(0);
    if let (Some(method), Some(path)) = (&method, &path)
        && !routes.operations().any(|route| route.method == *method && overlaps(path, route.path))
    {
        body.wrong(format!("No route of the service is {method} {path}, so this rule would never apply."));
    }
    body.finish(FIELDS)?;
    // Without an action there is a problem already.
    let action = action.ok_or_else(|| Problem::validation("Missing `action` field."))?;
    let mut rule = Rule::new(action).after(usize::try_from(after).unwrap_or(usize::MAX));
    if let Some(method) = method {
        rule = rule.on_method(method);
    }
    if let Some(path) = path {
        rule = rule.on_path(path);
    }
    if let Some(stage) = stage {
        rule = rule.on_smtp(stage);
    }
    let rule = match share {
        Share::Times(times) => rule.times(times),
        Share::Percent(percent) => rule.percent(percent),
        Share::Always => rule.always(),
    };
    Ok((rule, all_accounts))
}

fn method(text: &str, routes: &'static Routes, body: &mut Body) -> Option<Method> {
    let method =
        routes.operations().map(|route| &route.method).find(|method| method.as_str() == text).cloned();
    if method.is_none() {
        body.wrong(format!("`method` must be one of GET, POST, PATCH, DELETE; found {}.", quoted(text)));
    }
    method
}

fn stage(text: &str, body: &mut Body) -> Option<SmtpStage> {
    let stage = SmtpStage::named(text);
    if stage.is_none() {
        let stages = SmtpStage::ALL.map(SmtpStage::as_str).join(", ");
        body.wrong(format!("`smtp` must be one of {stages}; found {}.", quoted(text)));
    }
    stage
}

fn path(text: String, routes: &'static Routes, body: &mut Body) -> Option<String> {
    if routes.find(&Method::GET, &text).table.area == Area::Own {
        body.wrong("`path` must be one of the service's; what is under `/_/` never meets a fault.");
        return None;
    }
    if !text.starts_with('/') || !routes.operations().any(|route| overlaps(&text, route.path)) {
        body.wrong(format!(
            "`path` must be a path of the service such as `/emails` or `/emails/{{id}}`; found {}.",
            quoted(&text)
        ));
        return None;
    }
    Some(text)
}

/// Whether any path matches both patterns.
fn overlaps(one: &str, other: &str) -> bool {
    let segments = |path: &str| path.trim_matches('/').split('/').map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (segments(one), segments(other));
    let any = |segment: &str| segment.starts_with('{');
    one.len() == other.len()
        && one.iter().zip(&other).all(|(a, b)| a == b || any(a) || (any(b) && !a.is_empty()))
}

fn action(stage: Option<SmtpStage>, body: &mut Body) -> Option<Action> {
    let known: &[&str] = if stage.is_some() { &SMTP_ACTIONS } else { &ACTIONS };
    if !body.has("action") {
        body.wrong(format!("Missing `action` field; it is one of {}.", known.join(", ")));
    }
    let word = body.text("action")?;
    if !known.contains(&word.as_str()) {
        let rule =
            if stage.is_some() { "With `smtp`, `action` must be one of" } else { "`action` must be one of" };
        body.wrong(format!("{rule} {}; found {}.", known.join(", "), quoted(&word)));
        return None;
    }
    let own: &[&str] = match word.as_str() {
        "answer" if stage.is_some() => &["code", "message"],
        "answer" => &["status", "name", "message", "body", "retry_after"],
        "rate_limit" => &["retry_after"],
        "truncate" => &["bytes"],
        "slow" => &["delay_ms"],
        _ => &[],
    };
    let action = match (word.as_str(), stage) {
        ("answer", Some(stage)) => reply(stage, body),
        (word, _) => http_action(word, body),
    };
    for field in ACTION_FIELDS {
        if !own.contains(&field) && body.take(field).is_some() {
            let of = if stage.is_some() { " at an SMTP stage" } else { "" };
            body.wrong(format!("`{field}` does not go with the action `{word}`{of}."));
        }
    }
    action
}

/// A scripted SMTP reply. Missing fields get the usual values of servers.
fn reply(stage: SmtpStage, body: &mut Body) -> Option<Action> {
    let code = if body.has("code") { body.integer("code", 400, 599)? } else { stage.default_code().into() };
    let code = u16::try_from(code).ok()?;
    let (enhanced, usual) = stage.usual_reply(code);
    let text = body.text("message");
    let line = |text: &str| text.len() <= MAX_REPLY && !text.chars().any(char::is_control);
    if let Some(text) = text.as_ref().filter(|text| !line(text)) {
        return body.refuse("message", "a line of at most 400 bytes", &text.as_str().into());
    }
    Some(Action::reply(code, format!("{enhanced} {}", text.as_deref().unwrap_or(usual))))
}

fn http_action(word: &str, body: &mut Body) -> Option<Action> {
    match word {
        "answer" => answer(body),
        "drop" => Some(Action::DropBefore),
        "lose" => Some(Action::DropAfter),
        "stall" => Some(Action::Stall),
        "truncate" => {
            let bytes = body.integer("bytes", 0, 1 << 30).unwrap_or(0);
            Some(Action::Truncate(usize::try_from(bytes).unwrap_or(usize::MAX)))
        }
        "slow" => {
            if !body.has("delay_ms") {
                body.wrong("Missing `delay_ms` field; `slow` needs it.");
            }
            body.integer("delay_ms", 0, MAX_DELAY_MS).map(Duration::from_millis).map(Action::Delay)
        }
        "rate_limit" => Some(Action::TooMany { retry_after: retry_after(body) }),
        _ => None,
    }
}

/// The header's value: seconds, or any text that is a valid header value, so that it may be malformed.
fn retry_after(body: &mut Body) -> Option<String> {
    let value = body.take("retry_after")?;
    let text = match &value {
        Value::Number(number) if number.is_u64() => number.to_string(),
        Value::String(text) if HeaderValue::from_str(text).is_ok() => text.clone(),
        other => return body.refuse("retry_after", "seconds or the text of a header", other),
    };
    Some(text)
}

/// A scripted response. Missing fields have the service's own values.
fn answer(body: &mut Body) -> Option<Action> {
    let status = if body.has("status") { body.integer("status", 200, 599) } else { Some(500) };
    let name = body.text("name");
    let message = body.text("message").unwrap_or_else(|| "A scripted fault caused this response.".to_owned());
    let body_text = body.take("body");
    if body_text.is_some() && name.is_some() {
        body.wrong("Only one of `name` and `body` may be given.");
    }
    let pause = retry_after(body);
    let status = StatusCode::from_u16(u16::try_from(status?).ok()?).ok()?;
    let name = name.unwrap_or_else(|| default_name(status).to_owned());
    let bytes = match body_text {
        None => json!({"statusCode": status.as_u16(), "name": name, "message": message}).to_string(),
        // Any text, not necessarily JSON.
        Some(Value::String(text)) => text,
        Some(json) => json.to_string(),
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    if let Some(pause) = pause.and_then(|pause| HeaderValue::try_from(pause).ok()) {
        headers.insert(header::RETRY_AFTER, pause);
    }
    if name == "invalid_access_token" {
        let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    Some(Action::Answer { status, headers, body: bytes.into() })
}

/// The service's error name for this status.
fn default_name(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "invalid_access_token",
        403 => "invalid_api_key",
        404 => "not_found",
        405 => "method_not_allowed",
        409 => "concurrent_idempotent_requests",
        429 => "rate_limit_exceeded",
        500..=599 => "application_error",
        _ => "validation_error",
    }
}

fn share(body: &mut Body) -> Share {
    let given = ["times", "percent", "always"].into_iter().filter(|field| body.has(field)).count();
    let times = body.integer("times", 1, 1_000_000);
    let percent = body.integer("percent", 1, 100);
    let always = body.flag("always");
    if given > 1 {
        body.wrong("Only one of `times`, `percent` and `always` may be given.");
    }
    match (times, percent) {
        _ if always => Share::Always,
        (_, Some(percent)) => Share::Percent(u8::try_from(percent).unwrap_or(100)),
        (times, None) => Share::Times(usize::try_from(times.unwrap_or(1)).unwrap_or(usize::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_overlap_if_a_path_matches_both() {
        for (one, other, expected) in [
            ("/emails", "/emails", true),
            ("/emails/", "/emails", true),
            ("/emails/{id}", "/emails/{email_id}", true),
            ("/emails/x", "/emails/{email_id}", true),
            ("/emails/{id}", "/emails/batch", true),
            ("/email", "/emails", false),
            ("/emails/x/y", "/emails/{email_id}", false),
        ] {
            assert_eq!(overlaps(one, other), expected, "{one} {other}");
        }
    }
}
