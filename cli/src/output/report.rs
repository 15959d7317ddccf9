//! Formats failures as text and JSON.
//!
//! Text: one sentence, every problem with a caret at its location, missing input, and the next command. JSON: one object on the last line of
//! standard error.

use std::borrow::Cow;
use std::error::Error as _;

use annotate_snippets::Level;
use http::StatusCode;
use idempost::auth::AuthError;
use idempost::transport::{TransportError, TransportErrorKind};
use idempost::{
    Outcome,
    error::{ApiError, ApiErrorKind, Recovery},
};
use serde_json::{Value, json};

use super::color;
use super::out::{write_stderr, write_stderr_json};
use super::snippet;
use super::suggestion;
use super::terminal::{Terminal, escape_line, safe_lines, shorten};
use crate::diagnostics::{
    Diagnostic, Diagnostics, Fail, Kind, NextStep, Operation, Origin, line_and_column, repeatable_with,
};

/// Maximum number of problems in text, to fit a screen; JSON contains all.
const MAX_SHOWN: usize = 20;
/// Maximum bytes of a command in text; JSON contains it completely.
const MAX_COMMAND: usize = 2_000;

/// The text for standard error, with its final line feed.
pub(crate) fn render_text(
    fail: &Fail,
    in_flight: Option<&Operation>,
    next: Option<&NextStep>,
    terminal: &Terminal,
    verbose: bool,
) -> String {
    let message = match fail {
        Fail::Usage(report) => return usage(report, terminal),
        Fail::Sdk(idempost::Error::Invalid(problems)) => {
            return usage(&Diagnostics::from_problems(problems), terminal);
        }
        fail => message(fail),
    };
    if message.is_empty() {
        return String::new();
    }
    let mut lines = vec![format_label("error:", color::FAILURE, &safe_lines(&message), terminal)];
    if verbose {
        let mut cause = source(fail);
        while let Some(error) = cause {
            lines.push(format!("  caused by: {}", escape_line(&error.to_string())));
            cause = error.source();
        }
    }
    lines.extend(
        all_hints(fail, in_flight)
            .map(|hint| format_label("help:", color::HINT, &escape_line(&hint), terminal)),
    );
    let next = next.filter(|next| next.command.len() <= MAX_COMMAND);
    lines.extend(next.map(|next| format_label("next:", color::HINT, &safe_lines(&next.command), terminal)));
    lines.join("\n") + "\n"
}

/// A warning about a setting, with its position in the configuration file.
pub(crate) fn warning(found: &Diagnostic, terminal: &Terminal) -> String {
    let title = "unknown setting, ignored";
    let mut lines = vec![snippet::render(Level::WARNING, title, std::slice::from_ref(found), terminal)];
    lines.extend(
        found.hint.iter().map(|hint| format_label("help:", color::HINT, &escape_line(hint), terminal)),
    );
    lines.join("\n") + "\n"
}

fn format_label(label: &str, style: anstyle::Style, text: &str, terminal: &Terminal) -> String {
    format!("{} {text}", color::paint(label, style, terminal.color_stderr))
}

/// The JSON object of a failure.
pub(crate) fn json(fail: &Fail, in_flight: Option<&Operation>, next: Option<&NextStep>) -> Value {
    let report = match fail {
        Fail::Usage(report) => Some(report.clone()),
        Fail::Sdk(idempost::Error::Invalid(problems)) => Some(Diagnostics::from_problems(problems)),
        _ => None,
    };
    let sdk = fail.sdk();
    let found = report.iter().flat_map(|report| &report.found).map(problem_json);
    let missing = report.iter().flat_map(|report| &report.missing).map(|missing| {
        json!({ "path": missing.path, "origin": null, "code": "required", "message": format!("{} is required", missing.what) })
    });
    let problems: Vec<Value> = found.chain(missing).collect();
    let key = sdk.and_then(idempost::Error::idempotency_key).map(|key| key.as_str().to_owned());
    let key = key.or_else(|| in_flight?.idempotency_key.clone());
    let mut error = json!({
        "kind": fail.kind().name(),
        "exit_code": fail.exit_code(),
        "message": report.as_ref().map_or_else(|| message(fail), title),
        "outcome": in_flight.map_or_else(|| outcome_json(fail), |operation| outcome_name(operation.outcome)),
        "retryable": fail.kind() != Kind::CredentialNotSaved && sdk.is_some_and(idempost::Error::is_retryable),
        "recovery": match fail.kind() {
            Kind::CredentialNotSaved => Some(Recovery::Act),
            _ => sdk.map(idempost::Error::recovery),
        }.map(recovery_name),
        "http": sdk.and_then(http),
        "api": sdk.and_then(api),
        "idempotency_key": key,
        "hint": report.as_ref().and_then(hint).or_else(|| all_hints(fail, in_flight).next()),
        "problems": problems,
    });
    if let Some(report) = report {
        if !report.missing.is_empty() {
            error["missing"] = report.missing.iter().map(|missing| missing.what.as_str()).collect();
        }
        if report.omitted > 0 {
            error["problems_omitted"] = json!(report.omitted);
        }
    }
    if let Some(NextStep { command, when }) = next {
        error["next"] = json!([{ "command": command, "when": when }]);
    }
    if let Some(operation) = in_flight.filter(|operation| !operation.ids.is_empty()) {
        error["ids"] = json!(operation.ids);
    }
    json!({ "error": error })
}

/// Reports an operation whose result couldn't be written.
pub(crate) fn report_in_flight(operation: &Operation, json: bool) {
    let Operation { outcome, sentence, ids, idempotency_key, .. } = operation;
    if json {
        let note = json!({ "message": sentence, "outcome": outcome_name(*outcome), "ids": ids, "idempotency_key": idempotency_key });
        return write_stderr_json(&json!({ "note": note }));
    }
    write_stderr(&format!("{}\n", escape_line(sentence)));
}

fn usage(report: &Diagnostics, terminal: &Terminal) -> String {
    let shown = &report.found[..report.found.len().min(MAX_SHOWN)];
    let mut lines = vec![snippet::render(Level::ERROR, &safe_lines(&title(report)), shown, terminal)];
    if report.found.len() > MAX_SHOWN {
        let which = if report.omitted > 0 { "the first 1,000" } else { "all" };
        let more = report.found.len() - MAX_SHOWN + report.omitted;
        lines.push(format!("and {more} more problems; for {which}: --json"));
    }
    // Otherwise the headline lists it.
    let is_own_summary = report.summary.as_ref().is_some_and(|summary| *summary != headline(report));
    if !report.missing.is_empty() && (is_own_summary || !report.found.is_empty()) {
        lines.push(format_label(
            "missing:",
            color::FAILURE,
            &escape_line(
                &report.missing.iter().map(|missing| missing.what.as_str()).collect::<Vec<_>>().join(", "),
            ),
            terminal,
        ));
    }
    let mut hints_seen: Vec<&String> = Vec::new();
    for hint in shown.iter().filter_map(|found| found.hint.as_ref()).chain(&report.help) {
        if !hints_seen.contains(&hint) {
            let text = escape_line(&suggestion::complete(hint)).into_owned();
            lines.push(format_label("help:", color::HINT, &text, terminal));
            hints_seen.push(hint);
        }
    }
    lines.join("\n") + "\n"
}

/// The headline, by default with "nothing was sent".
fn title(report: &Diagnostics) -> String {
    report.summary.clone().unwrap_or_else(|| format!("{}; nothing was sent", headline(report)))
}

/// The headline: the only problem, all missing input, or the number of problems.
pub(crate) fn headline(report: &Diagnostics) -> String {
    match (&report.found[..], &report.missing[..]) {
        ([found], []) if report.omitted == 0 => snippet::headline(found),
        ([], missing) if report.omitted == 0 => {
            let missing: Vec<&str> = missing.iter().map(|missing| missing.what.as_str()).collect();
            format!("required input is missing: {}", missing.join(", "))
        }
        (found, missing) => {
            format!("invalid input: {} problems", found.len() + missing.len() + report.omitted)
        }
    }
}

fn hint(report: &Diagnostics) -> Option<String> {
    let hint = report.found.iter().find_map(|found| found.hint.as_ref()).or(report.help.as_ref())?;
    Some(suggestion::complete(hint).into_owned())
}

/// The failure as one sentence.
pub(crate) fn message(fail: &Fail) -> String {
    match fail {
        Fail::Sdk(error) | Fail::Repeatable(error) | Fail::UnknownOutcome { error, .. } => sdk_message(error),
        Fail::RejectedChange(error) => {
            format!("{}; nothing was done", sdk_message(error).trim_end_matches('.'))
        }
        Fail::Own { message, source: Some(source), .. } => format!("{message}: {source}"),
        Fail::Usage(report) => title(report),
        Fail::Child { message, .. } => message.clone().unwrap_or_default(),
        told => told.message_and_hint().map_or_else(String::new, |(message, _)| message.to_owned()),
    }
}

/// The error's message with its relevant causes.
pub(crate) fn sdk_message(error: &idempost::Error) -> String {
    match error {
        idempost::Error::Unreachable(lost) | idempost::Error::OutcomeUnknown(lost) => {
            format!("{error}: {}", transport_reason(lost))
        }
        error => error_chain(error),
    }
}

/// An error followed by its causes. Of a failed request, the innermost one says why.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(failure) = error.downcast_ref::<TransportError>() {
            return format!("{text}: {}", with_cause(&failure.to_string(), failure));
        }
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Why a request failed, without its host: how far it got, the system's error, and the number of attempts.
pub(crate) fn transport_reason(lost: &idempost::error::TransportFailure) -> String {
    let attempts =
        if lost.attempts() > 1 { format!(" ({} attempts)", lost.attempts()) } else { String::new() };
    format!("{}{attempts}", with_cause(lost.transport.reason(), &lost.transport))
}

/// A description of the failure, and the system's error.
pub(crate) fn with_cause(description: &str, failure: &TransportError) -> String {
    let cause = failure.source().map(innermost_cause).unwrap_or_default();
    match &*plain_reason(&cause) {
        "" => description.to_owned(),
        reason => format!("{description}: {reason}"),
    }
}

/// The innermost cause, as worded by a library or the system: `Connection refused (os error 111)`.
pub(crate) fn innermost_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => innermost_cause(cause),
        None => error.to_string(),
    }
}

/// A library's reason in plain words; empty if redundant.
fn plain_reason(reason: &str) -> Cow<'_, str> {
    let Some(certificate) = reason.strip_prefix("invalid peer certificate: ") else {
        return if reason.starts_with("tunnel error") { "" } else { reason }.into();
    };
    // The failure's description names the host.
    let names = certificate.strip_prefix("certificate not valid for name ");
    if let Some((_, valid)) = names.and_then(|names| names.split_once("; certificate is ")) {
        return format!("its certificate is {valid}").into();
    }
    match certificate {
        "UnknownIssuer" => "its certificate is from an unknown authority",
        "BadSignature" => "the signature of its certificate is invalid",
        "Revoked" => "its certificate is revoked",
        other if other.contains("CaUsedAsEndEntity") => {
            "its certificate belongs to a certificate authority, not to a server"
        }
        other => other,
    }
    .into()
}

/// The causes that the sentence omits, for `-v`.
fn source(fail: &Fail) -> Option<&(dyn std::error::Error + 'static)> {
    if let Some(idempost::Error::Unreachable(lost) | idempost::Error::OutcomeUnknown(lost)) = fail.sdk() {
        return lost.transport.source();
    }
    match fail {
        Fail::Own { source: Some(source), .. } => source.source(),
        _ => None,
    }
}

/// Whether a login was rejected because of its scope.
fn is_send_only(error: &idempost::Error) -> bool {
    matches!(error, idempost::Error::Api(api) if api.name == "invalid_permission")
}

/// The effect of the operation that was in flight, and the hints.
fn all_hints(fail: &Fail, in_flight: Option<&Operation>) -> impl Iterator<Item = String> {
    let sentence = in_flight.map(|operation| operation.sentence.clone());
    sentence.into_iter().chain(hints(fail)).map(|hint| suggestion::complete(&hint).into_owned())
}

/// Whether the service had accepted a different request with the same idempotency key.
fn is_key_used(error: &idempost::Error) -> bool {
    matches!(error, idempost::Error::Api(api) if api.name == "invalid_idempotent_request")
}

/// The hints, one per line.
fn hints(fail: &Fail) -> Vec<String> {
    let given = match fail {
        Fail::UnknownOutcome { unknown_outcome, .. } => Some(unknown_outcome.clone()),
        told => told.message_and_hint().and_then(|(_, hint)| hint.map(str::to_owned)),
    };
    let mut hints: Vec<String> = given.into_iter().collect();
    let Some(error) = fail.sdk() else { return hints };
    let is_page = error.response().is_some_and(ApiError::is_html);
    let accepted =
        if error.outcome() == Outcome::Accepted { "it was accepted" } else { "it may have been accepted" };
    match (fail.kind(), error.idempotency_key()) {
        (Kind::Unknown, Some(key)) if hints.is_empty() => {
            hints.push(repeatable_with(accepted, key));
        }
        (Kind::Unknown, None) if hints.is_empty() => {
            hints.push("the request may have been processed; check before you retry it".to_owned());
        }
        (_, Some(_)) if matches!(fail, Fail::Repeatable(_)) => {
            hints.push(format!("{accepted}; its idempotency key makes the same command safe to repeat"));
        }
        (Kind::Rejected, Some(_)) if is_key_used(error) => hints.push(
            "a different request with this idempotency key was accepted within the last 24 hours; choose another key for this one"
                .to_owned(),
        ),
        (Kind::Unavailable, Some(key)) if error.is_retryable() => {
            hints.push(format!("to retry without sending twice: --idempotency-key {}", key.as_str()));
        }
        (Kind::Limited, _) => hints.extend(
            error.retry_after().map(|pause| format!("retry after {} s", pause.as_secs())),
        ),
        (Kind::CredentialNotSaved, _) => hints.push(
            "the service accepts only the new token, so this login is lost: free disk space or fix the permissions, then run idempost auth login"
                .to_owned(),
        ),
        (Kind::Auth, _) if is_page => {}
        (Kind::Auth, _) if is_send_only(error) => {
            hints.push("this login may only send emails; for all commands: idempost auth login --scope full_access".to_owned());
        }
        (Kind::Auth, _) => {
            hints.extend(has_unknown_issuer(error).then(|| CA_HINT.to_owned()));
            hints.extend(lacks_certificate(error).then(|| IDENTIFY.to_owned()));
            hints.extend(suggested_change(error).map(str::to_owned));
        }
        _ => {}
    }
    let is_unrecognized = matches!(error, idempost::Error::Decode(_)) && error.outcome() != Outcome::Accepted;
    if is_page || is_unrecognized {
        hints.push(CHECK_RESPONDER.to_owned());
    }
    if let idempost::Error::Decode(unreadable) = error
        && !unreadable.sample.is_empty()
    {
        hints.push(format!("the response started with: {}", unreadable.sample));
    }
    if matches!(error, idempost::Error::Api(api) if api.kind() == ApiErrorKind::Redirect) {
        hints.push(
            "check --base-url; redirects aren't followed, so that the key isn't sent elsewhere".to_owned(),
        );
    }
    if let Some(id) = error.request_id() {
        hints.push(format!("request ID: {id}"));
    }
    hints
}

/// The change that the same command needs to succeed.
fn suggested_change(error: &idempost::Error) -> Option<&'static str> {
    use idempost::Error;
    match error {
        Error::Api(api) => match api.kind() {
            _ if api.name == "password_required" => Some(SANDBOX_PASSWORD),
            ApiErrorKind::Authentication | ApiErrorKind::Permission => Some(LOG_IN),
            // Has its own hint.
            ApiErrorKind::Redirect => None,
            // A proxy or a network's login page.
            _ if api.status != StatusCode::FORBIDDEN => Some(CHECK_CONNECTION),
            _ => Some(
                "check the account and the sending domain (idempost domains list), then run the command again",
            ),
        },
        Error::Auth(auth) => match **auth {
            AuthError::Throttled { .. } => None,
            AuthError::UnexpectedResponse { status, .. } => Some(responder_hint(status)),
            AuthError::Unreachable(_) | AuthError::NotOAuthEndpoint { .. } => Some(CHECK_CONNECTION),
            _ => Some(LOG_IN),
        },
        _ => Some(CHECK_CONNECTION),
    }
}

/// What to check after a response that isn't an authorization server's.
pub(crate) fn responder_hint(status: u16) -> &'static str {
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED.as_u16() {
        CHECK_CONNECTION
    } else {
        CHECK_RESPONDER
    }
}

/// Whether no known authority has signed the service's certificate. Other systems don't say why they reject one.
fn has_unknown_issuer(error: &idempost::Error) -> bool {
    let idempost::Error::Unreachable(lost) = error else { return false };
    lost.transport.kind() == TransportErrorKind::Tls
        && (cfg!(not(target_os = "linux")) || innermost_cause(&lost.transport).contains("UnknownIssuer"))
}

/// Whether the service or a gateway before it requires a client certificate.
fn lacks_certificate(error: &idempost::Error) -> bool {
    let idempost::Error::Unreachable(lost) = error else { return false };
    lost.transport.kind() == TransportErrorKind::Tls && transport_reason(lost).contains("CertificateRequired")
}

const IDENTIFY: &str = "it requires a client certificate: --client-cert FILE (PEM, with its private key)";
const CA_HINT: &str = "to trust the authority that signed the service's certificate: --cacert FILE (PEM)";
/// For a response that isn't the service's.
const CHECK_RESPONDER: &str =
    "check --base-url, and whether a proxy or the network's login page responds: idempost doctor";
const CHECK_CONNECTION: &str = "check --base-url, the proxy and the certificates: idempost doctor";
const SANDBOX_PASSWORD: &str = "set IDEMPOST_SANDBOX_AUTH to the sandbox's password";
const LOG_IN: &str = "log in: idempost auth login; or set IDEMPOST_API_KEY, or pass --api-key-file PATH; to check: idempost doctor";

fn recovery_name(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Wait => "wait",
        Recovery::Act => "act",
        _ => "never",
    }
}

fn outcome_json(fail: &Fail) -> Value {
    let outcome = match fail {
        Fail::Usage(_) | Fail::Own { kind: Kind::Auth, .. } => Outcome::NotSent,
        Fail::Own { kind: Kind::Unknown, .. } => Outcome::Unknown,
        fail => match fail.sdk() {
            Some(error) => error.outcome(),
            None => return Value::Null,
        },
    };
    outcome_name(outcome)
}

fn outcome_name(outcome: Outcome) -> Value {
    match outcome {
        Outcome::NotSent => "not_sent".into(),
        Outcome::Rejected => "rejected".into(),
        Outcome::Accepted => "accepted".into(),
        _ => "unknown".into(),
    }
}

fn http(error: &idempost::Error) -> Option<Value> {
    Some(json!({
        "status": error.status()?.as_u16(),
        "request_id": error.request_id(),
        "retry_after": error.retry_after().map(|pause| pause.as_secs()),
    }))
}

fn api(error: &idempost::Error) -> Option<Value> {
    let idempost::Error::Api(error) = error else { return None };
    let text = String::from_utf8_lossy(&error.body);
    let body = serde_json::from_slice(&error.body).unwrap_or_else(|_| Value::String(text.into_owned()));
    Some(json!({ "name": error.name, "message": error.message, "body": body }))
}

/// A problem as JSON.
pub(crate) fn problem_json(found: &Diagnostic) -> Value {
    let mut object = json!({
        "path": shorten(&found.problem.path),
        "origin": found.origin.as_ref().map(origin_json),
        "code": found.problem.code,
        "message": shorten(&found.problem.message),
    });
    if let Some(what) = &found.problem.found {
        object["found"] = json!(shorten(what));
    }
    if let Some(hint) = &found.hint {
        object["hint"] = json!(suggestion::complete(hint));
    }
    object
}

fn origin_json(origin: &Origin) -> Value {
    match origin {
        Origin::Flag { name, n, .. } => json!({ "flag": name, "n": n }),
        Origin::Env { name } => json!({ "env": name }),
        Origin::File { path, text, span } => {
            position_json("file", &path.display().to_string(), text, span.start)
        }
        Origin::Config { path, text, span } => {
            position_json("config", &path.display().to_string(), text, span.start)
        }
        Origin::Stdin { text, span } => position_json("stdin", "-", text, span.start),
    }
}

fn position_json(key: &str, name: &str, text: &str, at: usize) -> Value {
    let (line, column) = line_and_column(text, at);
    json!({ key: name, "line": line, "column": column })
}

#[cfg(test)]
mod tests {
    use super::plain_reason;

    #[test]
    fn the_reason_of_a_library_is_in_plain_words() {
        for (reason, expected) in [
            ("invalid peer certificate: UnknownIssuer", "its certificate is from an unknown authority"),
            (
                "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
                "its certificate belongs to a certificate authority, not to a server",
            ),
            ("tunnel error: unsuccessful", ""),
            ("Connection refused (os error 111)", "Connection refused (os error 111)"),
        ] {
            assert_eq!(plain_reason(reason), expected);
        }
    }
}
