//! The fault script over HTTP: `GET /_/faults` lists it, `POST` adds a rule, `DELETE` removes all, and `/_/faults/{id}` is one rule.
//!
//! A rule belongs to the account that adds it, and applies to that account's requests only, so parallel tests, each with its own key, don't interfere
//! with each other. A rule with `all_accounts` applies to every request, and a rule for requests without an account (the authorization server's, and
//! SMTP stages before `AUTH`) to all accounts. Both need the password, if the sandbox has one. The sandbox's own routes are exempt.

pub mod client_gets;

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};

use self::client_gets::ClientResponse;
use crate::access::{self, password};
use crate::route::{Area, Call, Routes};
use crate::state::faults::{Action, Rule, Scripted, Share, SmtpStage};
use crate::wire::answers::DeletedCount;
use crate::wire::{
    Checked, Field, Fields, HandlerResult, Input, Kind, Page, Problem, described, list, problem, quote,
    string, text, words_of,
};

/// The maximum number of rules per account, and for all accounts.
const MAX_RULES: usize = 1_000;
/// The maximum delay of a response, in milliseconds.
const MAX_DELAY_MS: u64 = 60 * 60 * 1_000;
const ACTIONS: [&str; 7] = ["answer", "drop", "lose", "truncate", "stall", "slow", "rate_limit"];
/// The actions at a stage of an SMTP session.
const SMTP_ACTIONS: [&str; 5] = ["answer", "drop", "lose", "stall", "slow"];
/// The parameters of a deletion.
pub const QUERY: &[Input] =
    &[Input::new("all_accounts", Kind::Boolean, "Whether to delete the faults of all accounts")];
/// The fields of a rule.
pub const FIELDS: &[Input] = &[
    Input::new(
        "method",
        Kind::Words(|| vec!["GET", "POST", "PATCH", "DELETE"]),
        "The method; by default any",
    ),
    Input::new(
        "path",
        Kind::Text,
        "A path of the service, such as `/emails` or `/emails/{id}`; by default any",
    ),
    Input::new(
        "smtp",
        Kind::Words(|| words_of(SmtpStage::WORDS)),
        "A stage of SMTP sessions, instead of `method` and `path`",
    ),
    Input::new("all_accounts", Kind::Boolean, "Whether it applies to all accounts"),
    Input::new("action", Kind::Words(|| ACTIONS.to_vec()), "What happens to an affected request").required(),
    TIMES,
    PERCENT,
    Input::new("always", Kind::Boolean, "Whether it affects all requests, until it is deleted"),
    AFTER,
    STATUS,
    CODE,
    Input::new("name", Kind::Text, "The name of the error, for the action `answer`"),
    Input::new(
        "message",
        Kind::Text,
        "The message of the error, or the text of the SMTP reply, for the action `answer`",
    ),
    Input::new(
        "body",
        Kind::Any,
        "The body of the response, for the action `answer`: a string as it is, any other value as JSON",
    ),
    Input::new(
        "retry_after",
        Kind::Either(&[Kind::Integer(0, u64::MAX), Kind::Text]),
        "The header `retry-after`, for the actions `answer` and `rate_limit`",
    ),
    BYTES,
    DELAY_MS,
];
const TIMES: Input =
    Input::new("times", Kind::Integer(1, 1_000_000), "The number of affected requests; by default 1");
const PERCENT: Input = Input::new("percent", Kind::Integer(1, 100), "The percentage of affected requests");
const AFTER: Input =
    Input::new("after", Kind::Integer(0, 1_000_000), "The number of matching requests to skip first");
const STATUS: Input =
    Input::new("status", Kind::Integer(200, 599), "The status, for the action `answer`; by default 500");
const CODE: Input =
    Input::new("code", Kind::Integer(400, 599), "The code of the SMTP reply, for the action `answer`");
const BYTES: Input = Input::new(
    "bytes",
    Kind::Integer(0, 1 << 30),
    "The length of the truncated body, for the action `truncate`; by default 0",
);
const DELAY_MS: Input = Input::new(
    "delay_ms",
    Kind::Integer(0, MAX_DELAY_MS),
    "The delay of the response in milliseconds, for the action `slow`",
);
/// The fields that belong to some actions.
const ACTION_FIELDS: &[Input] = FIELDS.split_at(9).1;
/// The maximum length of the text of an SMTP reply; the line has at most 512 (RFC 5321, 4.5.3.1.5).
const MAX_REPLY: usize = 400;

/// The rules for the account: its own, and those for all accounts.
pub fn index(call: &Call<'_>) -> HandlerResult {
    let name = access::name_or_default(call.state, call.request)?;
    let items = call.state.faults.list_of(&name).iter().map(Fault::new).collect();
    Ok(list(&Page { items, has_more: false }))
}

pub fn add(call: &Call<'_>) -> HandlerResult {
    let (name, faults) = (access::name_or_default(call.state, call.request)?, &call.state.faults);
    let (rule, all_accounts) = call.body(|fields| read(fields, call.routes))?;
    let rule = if all_accounts {
        password::require(call.state, call.request)?;
        rule
    } else {
        rule.for_account(name.as_str())
    };
    if faults.list().iter().filter(|one| one.rule.account == rule.account).count() >= MAX_RULES {
        return Err(Problem::validation(format!(
            "At most {MAX_RULES} rules can be scripted; remove some with DELETE /_/faults."
        )));
    }
    let id = faults.add_by(Some(name), rule.clone());
    Ok(problem::json(StatusCode::CREATED, &Fault::new(&Scripted::new(id, rule))))
}

pub fn show(call: &Call<'_>) -> HandlerResult {
    find(call).map(|one| problem::json(StatusCode::OK, &Fault::new(&one)))
}

pub fn remove(call: &Call<'_>) -> HandlerResult {
    let found = find(call)?;
    if found.added_by != Some(access::name_or_default(call.state, call.request)?) {
        password::require(call.state, call.request)?;
    }
    let taken = call.state.faults.remove(found.id).ok_or_else(|| unknown_rule(&call.parameter(0)))?;
    let deleted = DeletedFault { object: "fault", id: taken.id.to_string(), deleted: true };
    Ok(problem::json(StatusCode::OK, &deleted))
}

/// Removes the rules that the account added, or with `?all_accounts=true` all rules.
pub fn clear(call: &Call<'_>) -> HandlerResult {
    let (name, faults) = (access::name_or_default(call.state, call.request)?, &call.state.faults);
    let deleted = if call.parameters().flag("all_accounts")? {
        password::require(call.state, call.request)?;
        let deleted = faults.pending();
        faults.clear();
        deleted
    } else {
        faults.clear_account(&name)
    };
    Ok(problem::json(StatusCode::OK, &DeletedCount { deleted }))
}

/// The rule that the path names, if it applies to the account.
fn find(call: &Call<'_>) -> Result<Scripted, Problem> {
    let (name, id) = (access::name_or_default(call.state, call.request)?, call.parameter(0));
    let found = call.state.faults.list_of(&name).into_iter().find(|one| one.id.to_string() == id);
    found.ok_or_else(|| unknown_rule(&id))
}

fn unknown_rule(id: &str) -> Problem {
    Problem::not_found(format!("There is no fault {}, or it has been used up.", quote(id)))
}

described! {
    /// A scripted fault: its input, its remaining counts, and the response to an affected request.
    #[derive(Default)]
    pub struct Fault {
        object: &'static str,
        id: String,
        method: Option<String>,
        path: Option<String>,
        /// The stage of SMTP sessions.
        #[serde(skip_serializing_if = "Option::is_none")]
        smtp: Option<&'static str>,
        /// Whether it applies to all accounts.
        all_accounts: bool,
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The name of the error in the body.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after: Option<Option<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bytes: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_ms: Option<u64>,
        /// The code of the SMTP reply.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
        /// The text of the SMTP reply.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The number of matching requests that are still to be skipped.
        after: usize,
        /// The number of requests that are still to be affected.
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        percent: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        always: Option<bool>,
        /// The number of affected requests.
        met: u64,
        client_gets: ClientResponse,
    }

    /// A deleted fault.
    pub struct DeletedFault {
        object: &'static str,
        id: String,
        deleted: bool,
    }
}

impl Fault {
    fn new(one: &Scripted) -> Self {
        let rule = &one.rule;
        let fault = Self {
            object: "fault",
            id: one.id.to_string(),
            method: rule.method.as_ref().map(Method::to_string),
            path: rule.path.clone(),
            smtp: rule.smtp.map(SmtpStage::as_str),
            all_accounts: rule.account.is_none(),
            after: rule.after,
            met: one.met,
            client_gets: ClientResponse::from_rule(rule),
            ..Self::default()
        };
        let fault = match rule.share {
            Share::Times(left) => Self { left: Some(left), ..fault },
            Share::Percent(percent) => Self { percent: Some(percent), ..fault },
            Share::Always => Self { always: Some(true), ..fault },
        };
        match &rule.action {
            Action::Answer { status, headers, body } => {
                let body: Option<Value> = serde_json::from_slice(body).ok();
                let name = body.as_ref().and_then(|body| body.get("name"));
                let pause = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
                Self {
                    action: "answer",
                    status: Some(status.as_u16()),
                    name: Some(name.cloned().unwrap_or_default()),
                    retry_after: Some(pause.map(str::to_owned)),
                    ..fault
                }
            }
            Action::DropBefore => Self { action: "drop", ..fault },
            Action::DropAfter => Self { action: "lose", ..fault },
            Action::Stall => Self { action: "stall", ..fault },
            Action::Truncate(bytes) => Self { action: "truncate", bytes: Some(*bytes), ..fault },
            Action::Delay(by) => {
                let delay_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
                Self { action: "slow", delay_ms: Some(delay_ms), ..fault }
            }
            Action::TooMany { retry_after } => {
                Self { action: "rate_limit", retry_after: Some(retry_after.clone()), ..fault }
            }
            Action::Reply { code, text } => {
                Self { action: "answer", code: Some(*code), message: Some(text.to_string()), ..fault }
            }
        }
    }
}

/// Reads a rule, and whether it is for all accounts.
fn read(fields: &mut Fields<'_>, routes: &'static Routes) -> Checked<(Rule, bool)> {
    let smtp_only = fields.has("smtp") && (fields.has("method") || fields.has("path"));
    let method = fields.optional("method", |field| read_method(field, routes));
    let path = fields.optional("path", |field| read_path(field, routes));
    let stage = fields.optional("smtp", read_stage);
    if smtp_only {
        let problem = "`smtp` selects a stage of SMTP sessions and can't be used with `method` or `path`.";
        fields.report().report(problem);
    }
    let all_accounts = fields.flag("all_accounts");
    let action = read_action(stage.ok().flatten(), fields);
    let share = read_share(fields);
    let after = fields.integer(&AFTER);
    if let (Ok(Some(method)), Ok(Some(path))) = (&method, &path)
        && !routes.operations().any(|route| route.method == *method && patterns_overlap(path, route.path))
    {
        let rule = format_args!("The service has no route {method} {path}, so this rule would never apply.");
        fields.report().report(rule);
    }
    let (method, path, smtp) = (method?, path?, stage?);
    let of_no_account = smtp.is_some_and(SmtpStage::is_before_login)
        || path.as_ref().is_some_and(|path| routes.find(&Method::GET, path).table.area == Area::OAuth);
    let after = after?.unwrap_or(0);
    let rule = Rule { method, path, smtp, share: share?, after, ..Rule::new(action?) };
    Ok((rule, all_accounts? || of_no_account))
}

fn read_method(field: &Field<'_>, routes: &'static Routes) -> Checked<Method> {
    field.parse_with(|text| {
        let mut methods = routes.operations().map(|route| &route.method);
        let method = methods.find(|method| method.as_str() == text).cloned();
        method.ok_or("must be one of GET, POST, PATCH, DELETE")
    })
}

fn read_stage(field: &Field<'_>) -> Checked<SmtpStage> {
    field.parse_with(|text| {
        let known = SmtpStage::WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        known
            .map(|(_, stage)| *stage)
            .ok_or_else(|| format!("must be one of {}", words_of(SmtpStage::WORDS).join(", ")))
    })
}

fn read_path(field: &Field<'_>, routes: &'static Routes) -> Checked<String> {
    field.parse_with(|text| {
        if routes.find(&Method::GET, text).table.area == Area::Own {
            return Err("must be a path of the service; faults don't affect routes under `/_/`");
        }
        if !text.starts_with('/') || !routes.operations().any(|route| patterns_overlap(text, route.path)) {
            return Err("must be a path of the service such as `/emails` or `/emails/{id}`");
        }
        Ok(text.to_owned())
    })
}

/// Whether any path matches both patterns.
fn patterns_overlap(one: &str, other: &str) -> bool {
    let segments = |path: &str| path.trim_matches('/').split('/').map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (segments(one), segments(other));
    let any = |segment: &str| segment.starts_with('{');
    one.len() == other.len()
        && one.iter().zip(&other).all(|(a, b)| a == b || any(a) || (any(b) && !a.is_empty()))
}

fn read_action(stage: Option<SmtpStage>, fields: &mut Fields<'_>) -> Checked<Action> {
    let (known, at): (&[&'static str], _) =
        if stage.is_some() { (&SMTP_ACTIONS, " at an SMTP stage") } else { (&ACTIONS, "") };
    if !fields.has("action") {
        let problem = format_args!("Missing `action` field; it must be one of {}.", known.join(", "));
        return Err(fields.report().report(problem));
    }
    let word = fields.required("action", |field| {
        field.parse_with(|text| {
            let word = known.iter().copied().find(|word| *word == text);
            word.ok_or_else(|| format!("must be one of {}{at}", known.join(", ")))
        })
    })?;
    let own: &[&str] = match word {
        "answer" if stage.is_some() => &["code", "message"],
        "answer" => &["status", "name", "message", "body", "retry_after"],
        "rate_limit" => &["retry_after"],
        "truncate" => &["bytes"],
        "slow" => &["delay_ms"],
        _ => &[],
    };
    let action = match (word, stage) {
        ("answer", Some(stage)) => read_smtp_action(stage, fields),
        ("answer", None) => read_http_action(fields),
        ("drop", _) => Ok(Action::DropBefore),
        ("lose", _) => Ok(Action::DropAfter),
        ("stall", _) => Ok(Action::Stall),
        ("truncate", _) => {
            let bytes = fields.integer(&BYTES);
            bytes.map(|bytes| Action::Truncate(bytes.unwrap_or(0)))
        }
        ("slow", _) => {
            fields.require(&[DELAY_MS.name]);
            let delay = fields.integer(&DELAY_MS).map(Option::unwrap_or_default);
            delay.map(|delay| Action::Delay(Duration::from_millis(delay)))
        }
        _ => retry_after(fields).map(|retry_after| Action::TooMany { retry_after }),
    };
    for field in ACTION_FIELDS.iter().map(|field| field.name).filter(|field| !own.contains(field)) {
        fields.forbid(field, format_args!("can't be used with the action `{word}`{at}"));
    }
    action
}

/// A scripted SMTP reply. Missing fields default to the values that servers usually send.
fn read_smtp_action(stage: SmtpStage, fields: &mut Fields<'_>) -> Checked<Action> {
    let code = fields.integer(&CODE);
    let text = fields.optional("message", |field| {
        field.parse_with(|text| {
            let is_line = text.len() <= MAX_REPLY && !text.chars().any(char::is_control);
            if is_line { Ok(text.to_owned()) } else { Err("must be a line of at most 400 bytes") }
        })
    });
    let code = code?.unwrap_or(stage.default_code());
    let (enhanced, usual) = stage.default_reply(code);
    Ok(Action::smtp_reply(code, format!("{enhanced} {}", text?.as_deref().unwrap_or(usual))))
}

/// The header's value: seconds, or any text that is a valid header value, so that it may be malformed.
fn retry_after(fields: &mut Fields<'_>) -> Checked<Option<String>> {
    fields.optional("retry_after", |field| {
        let text = match field.value() {
            Some(Value::Number(number)) if number.is_u64() => Some(number.to_string()),
            Some(Value::String(text)) if HeaderValue::from_str(&text).is_ok() => Some(text),
            _ => None,
        };
        text.ok_or_else(|| field.reject_type("seconds or the text of a header"))
    })
}

/// A scripted response. Missing fields default to the service's own values.
fn read_http_action(fields: &mut Fields<'_>) -> Checked<Action> {
    if fields.has("name") && fields.has("body") {
        fields.report().report("Only one of `name` and `body` may be given.");
    }
    let status = fields.integer(&STATUS);
    let name = fields.optional("name", string);
    let message = fields.optional("message", string);
    // Any text, not necessarily JSON.
    let body =
        fields.optional("body", |field| Ok(text(field.json()).map_or(field.json().into(), Cow::into_owned)));
    let pause = retry_after(fields);
    let status = status?.unwrap_or(500);
    let name = name?.unwrap_or_else(|| default_name(status).to_owned());
    let message = message?.unwrap_or_else(|| "A scripted fault caused this response.".to_owned());
    let usual = || json!({"statusCode": status, "name": name, "message": message}).to_string();
    let mut action = Action::http_response(status, body?.unwrap_or_else(usual));
    if let Some(pause) = pause? {
        action = action.header("retry-after", &pause);
    }
    if name == "invalid_access_token" {
        action = action.header("www-authenticate", "Bearer error=\"invalid_token\"");
    }
    Ok(action)
}

/// The service's error name for this status.
fn default_name(status: u16) -> &'static str {
    match status {
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

fn read_share(fields: &mut Fields<'_>) -> Checked<Share> {
    if ["times", "percent", "always"].into_iter().filter(|field| fields.has(field)).count() > 1 {
        fields.report().report("Only one of `times`, `percent` and `always` may be given.");
    }
    let times = fields.integer(&TIMES);
    let percent = fields.integer(&PERCENT);
    let always = fields.flag("always");
    Ok(match (times?, percent?) {
        _ if always? => Share::Always,
        (_, Some(percent)) => Share::Percent(percent),
        (times, None) => Share::Times(times.unwrap_or(1)),
    })
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
            assert_eq!(patterns_overlap(one, other), expected, "{one} {other}");
        }
    }
}
