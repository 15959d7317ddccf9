//! `doctor`: checks whether everything is ready to send. Prints one line per check, with a hint if it fails.

mod stored;

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use idempost::transport::{Transport as _, TransportErrorKind, TransportRequest};
use idempost::{Client, call::RetryPolicy, error::ApiErrorKind};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::commands::usage::format_usage;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin, line_and_column};
use crate::output::terminal::escape_line;
use crate::output::{color, report, snippet, suggestion};
use crate::settings::{Setting, Settings, keys, paths};

/// Beyond this clock skew, signatures and schedules fail.
const MAX_CLOCK_SKEW: i64 = 60;
/// A service that takes longer is reported as unreachable.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The variable that names a sandbox on another machine.
const SANDBOX_URL: &str = "IDEMPOST_SANDBOX_URL";
/// The states of a check.
const OK: &str = "ok";
const WARNING: &str = "warning";
const ERROR: &str = "error";
const PROXY_HINT: &str = "change the proxy, or list the host in NO_PROXY to reach it directly";

/// Check the settings, the credential and the connection to the service
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost doctor\n  idempost doctor --jq '.checks[] | select(.state != \"ok\") | .message'"
)]
pub(crate) struct Args {
    /// Check only this machine; send nothing
    #[arg(long)]
    offline: bool,
}

/// The outcome of one check.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: &'static str,
    message: String,
    hint: Option<String>,
}

#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.add(name, OK, message, None);
    }

    fn add(
        &mut self,
        name: &'static str,
        state: &'static str,
        message: impl Into<String>,
        hint: Option<&str>,
    ) {
        self.0.push(Check {
            name,
            state,
            message: message.into(),
            hint: hint.map(|hint| suggestion::complete(hint).into_owned()),
        });
    }
}

/// Runs all checks; exits with 1 if one fails.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut checks = Checks::default();
    match context.settings() {
        Err(fail) => {
            add_failures(&fail, &mut checks);
            report_proxies(&args, context, &mut checks).await;
        }
        Ok(settings) => {
            check_config(settings, context, &mut checks);
            check_service(settings, context, &mut checks).await;
            check_certificates(settings, context, &mut checks);
            report_proxies(&args, context, &mut checks).await;
            if !args.offline {
                check_network(context, &mut checks).await;
            }
        }
    }
    let Checks(checks) = checks;
    show(&checks, context)?;
    match checks.iter().filter(|check| check.state == ERROR).count() {
        0 => Ok(()),
        failed => Err(Fail::error(format!("{failed} of {} checks failed", checks.len()))),
    }
}

/// Settings that can't be used.
fn add_failures(fail: &Fail, checks: &mut Checks) {
    match fail {
        Fail::Usage(report) => add_problems(&report.found, ERROR, checks),
        fail => checks.add("config", ERROR, report::message(fail), None),
    }
}

/// Reports each problem with its source.
fn add_problems(found: &[Diagnostic], state: &'static str, checks: &mut Checks) {
    for found in found {
        let text = snippet::render_line(found);
        let (name, message, hint) = match &found.origin {
            Some(Origin::Env { name }) => ("environment", text, Some(format!("change or unset {name}"))),
            Some(Origin::Flag { name, .. }) => ("command line", format!("{name}: {text}"), None),
            Some(Origin::Config { path, text: file, span }) => {
                let line = line_and_column(file, span.start).0;
                (
                    "config",
                    format!("{}:{line}: {text}", path.display()),
                    Some("idempost config edit".to_owned()),
                )
            }
            _ => ("config", text, None),
        };
        checks.add(name, state, message, found.hint.as_deref().or(hint.as_deref()));
    }
}

/// Checks the configuration file: whether it exists, has unknown settings, or is writable by others.
fn check_config(settings: &Settings, context: &Context, checks: &mut Checks) {
    let Ok(Some(path)) = paths::config_file(&context.env) else {
        let hint = Some("set IDEMPOST_CONFIG_DIR");
        return checks.add("config", WARNING, "there is no home directory", hint);
    };
    let shown = path.display();
    let message = if settings.file.is_some() { shown.to_string() } else { format!("{shown} (none yet)") };
    let profile = settings
        .profile
        .as_ref()
        .map(|profile| format!(", profile `{}` ({})", profile.value, profile.source));
    checks.ok("config", message + profile.unwrap_or_default().as_str());
    add_problems(&settings.warnings, WARNING, checks);
    // It contains no secrets, so others may read it; but with write access, they could redirect the credential.
    if let Some(mode) = paths::permission_bits(&path).filter(|mode| mode & 0o022 != 0) {
        let message = format!("{shown} is writable by others (mode {mode:03o})");
        checks.add("file modes", WARNING, message, Some(&format!("chmod go-w {shown}")));
    }
}

/// Checks the base URL and the credential, as far as possible offline.
async fn check_service(settings: &Settings, context: &Context, checks: &mut Checks) {
    if context.global.sandbox {
        return checks.ok("base url", "the sandbox of this command");
    }
    if let Some(set) = &settings.base_url {
        checks.ok("base url", format!("{} ({})", set.value, set.source));
    } else {
        let hint = "idempost config set base_url https://…, or IDEMPOST_BASE_URL";
        checks.add("base url", ERROR, "the base URL isn't set", Some(hint));
    }
    if let Some(passed_over) = &settings.passed_over {
        let (variable, by) = (&passed_over.variable, &passed_over.profile.source);
        let profile = &passed_over.profile.value;
        if passed_over.is_ambiguous() {
            let message = format!("{by} (profile `{profile}`) and {variable} select different accounts");
            return checks.add("credential", ERROR, message, Some("unset one of them"));
        }
        let message = format!("{variable} is ignored: {by} selects profile `{profile}`");
        checks.ok("environment", message);
    }
    match &settings.credential {
        Some(set) => checks.ok("credential", format!("found ({})", set.source)),
        None => stored::checks(settings, context, checks).await,
    }
}

/// Checks the files of certificates.
fn check_certificates(settings: &Settings, context: &Context, checks: &mut Checks) {
    if let Err(fail) = context.transport() {
        return add_failures(&fail, checks);
    }
    let files = [
        (&settings.cacert, "is trusted in addition to the system's"),
        (&settings.client_cert, "is the client's certificate"),
    ];
    for (setting, purpose) in files {
        let Some(Setting { value, source }) = setting else { continue };
        let message = format!("{} {purpose} ({source})", value.display());
        checks.ok("certificates", message);
    }
}

/// The addresses that commands connect to: the service, and a sandbox on another machine.
fn addresses(context: &Context) -> Vec<Url> {
    let sandbox = context.env.get(SANDBOX_URL).and_then(|url| keys::http_url(url).ok());
    let mut addresses: Vec<_> = context.base_url().ok().cloned().into_iter().chain(sandbox).collect();
    addresses.dedup_by(|a, b| a.origin() == b.origin());
    addresses
}

/// Reports which proxy each address is reached through, and whether it connects.
async fn report_proxies(args: &Args, context: &Context, checks: &mut Checks) {
    let setting = context.settings().ok().and_then(|settings| settings.proxy.as_ref());
    let routes: Vec<_> = context.transport().map_or_else(
        |_| Vec::new(),
        |transport| addresses(context).into_iter().map(|url| (transport.proxy_for(&url), url)).collect(),
    );
    if routes.iter().all(|(proxy, _)| proxy.is_none()) {
        return checks.ok("proxy", no_proxy_message(context));
    }
    for (proxy, url) in routes {
        let host = url.host_str().unwrap_or_default();
        let Some((proxy, variable)) = proxy else {
            checks.ok("proxy", format!("connecting to {host} directly"));
            continue;
        };
        let source = setting.map_or_else(|| variable.to_owned(), |setting| setting.source.to_string());
        let route = format!("{host} is reached through {proxy} ({source})");
        if args.offline {
            checks.ok("proxy", route);
            continue;
        }
        match check_connection(&url, context).await {
            Ok(()) => checks.ok("proxy", format!("{route}; connected")),
            Err(why) => {
                let message = format!("{route}, but {why}");
                checks.add("proxy", ERROR, message, Some(PROXY_HINT));
            }
        }
    }
}

/// The message if no address has a proxy. The values of variables may contain passwords.
fn no_proxy_message(context: &Context) -> String {
    let names = [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ];
    let set: Vec<_> = names.into_iter().filter(|name| context.env.raw(name).is_some()).collect();
    if set.is_empty() {
        return "none".to_owned();
    }
    format!("none for the base URL; {} set (not used for loopback addresses)", set.join(", "))
}

/// Whether a request without a credential gets through the proxy. A response or certificate from beyond the proxy shows that it does.
async fn check_connection(url: &Url, context: &Context) -> Result<(), String> {
    let transport = context.transport().map_err(|fail| report::message(&fail))?;
    let request = TransportRequest::new(Method::HEAD, url.clone());
    let answer = tokio::time::timeout(TIMEOUT, transport.send(request)).await;
    match answer {
        Ok(Ok(response)) if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Err("it requires a user and a password".to_owned())
        }
        Ok(Err(error)) if error.kind() != TransportErrorKind::Tls => {
            Err(report::with_cause(error.reason(), &error))
        }
        Ok(_) => Ok(()),
        Err(_) => Err(format!("no response arrived within {} s", TIMEOUT.as_secs())),
    }
}

/// One small request shows whether the service is reachable, accepts the credential, and agrees on the time.
async fn check_network(context: &Context, checks: &mut Checks) {
    let Ok(client) = context.client() else { return };
    let asked = client
        .request(Method::GET, "/emails")
        .query("limit", "1")
        .retry(RetryPolicy::never())
        .timeout(TIMEOUT);
    let before = Timestamp::now();
    let answer = asked.with_response().await;
    let middle = before + Timestamp::now().duration_since(before) / 2;
    let is_reachable = matches!(&answer, Ok(_) | Err(idempost::Error::Api(_)));
    match &answer {
        Ok(raw) => {
            checks.ok("service", format!("reachable ({})", raw.status.as_u16()));
            check_clock_skew(&raw.headers, middle, checks);
        }
        Err(idempost::Error::Api(error)) => {
            // A sending-only key is rejected here, but is valid.
            let sends = error.kind() == ApiErrorKind::Permission
                && matches!(error.name.as_str(), "restricted_api_key" | "invalid_permission");
            match error.kind() {
                _ if sends => checks.ok("service", "reachable; the credential may only send"),
                ApiErrorKind::Authentication | ApiErrorKind::Permission => {
                    let hint = "check that the key is complete and belongs to this service";
                    let message = format!("the credential was rejected: {error}");
                    checks.add("service", ERROR, message, Some(hint));
                }
                _ => {
                    let message = format!("the service returned an error: {error}");
                    checks.add("service", ERROR, message, Some("check the base URL"));
                }
            }
            check_clock_skew(&error.headers, middle, checks);
        }
        Err(error) => {
            let hint = "check the base URL and the network";
            checks.add("service", ERROR, report::sdk_message(error), Some(hint));
        }
    }
    if is_reachable {
        check_usage(&client, checks).await;
    }
}

/// Checks the quotas of emails. Services without `GET /usage` report no quotas.
async fn check_usage(client: &Client, checks: &mut Checks) {
    let asked = client.usage().get().retry(RetryPolicy::never()).timeout(TIMEOUT);
    let Ok(usage) = asked.await else { return };
    let quotas = [("today", usage.emails.daily), ("this month", usage.emails.monthly)];
    let shown: Vec<_> = quotas
        .iter()
        .map(|(period, quota)| format!("{period} {}", format_usage(quota.used, quota.limit)))
        .collect();
    let message = format!("emails: {}", shown.join("; "));
    let left =
        quotas.iter().filter_map(|(_, quota)| Some((quota.remaining()?, quota.limit?))).collect::<Vec<_>>();
    let (state, hint) = quota_state(&left);
    checks.add("usage", state, message, hint);
}

/// The state of the scarcest quota. Items are pairs of remainder and limit.
fn quota_state(quotas: &[(u64, u64)]) -> (&'static str, Option<&'static str>) {
    if quotas.iter().any(|(left, _)| *left == 0) {
        return (
            ERROR,
            Some("the quota is exhausted: no email can be sent until it resets; see idempost usage"),
        );
    }
    if quotas.iter().any(|(left, limit)| *left <= limit / 10) {
        return (WARNING, Some("at most 10% of a quota is left; see idempost usage"));
    }
    (OK, None)
}

fn check_clock_skew(headers: &HeaderMap, now: Timestamp, checks: &mut Checks) {
    let date = headers.get(http::header::DATE).and_then(|date| date.to_str().ok());
    let Some(date) = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()) else { return };
    let seconds = now.as_second() - date.timestamp().as_second();
    if seconds.abs() <= MAX_CLOCK_SKEW {
        return checks.ok("clock", "agrees with the service's clock");
    }
    let side = if seconds > 0 { "ahead of" } else { "behind" };
    let message = format!("this machine's clock is {} s {side} the service's", seconds.abs());
    let hint = Some("correct the clock: schedules and signatures depend on it");
    checks.add("clock", WARNING, message, hint);
}

fn show(checks: &[Check], context: &Context) -> Result<(), Fail> {
    let colored = context.out.terminal.color_stdout;
    if context.out.is_json() {
        return context.out.document(&json!({ "checks": checks }));
    }
    let lines: Vec<String> = checks
        .iter()
        .map(|check| {
            let word = check.state;
            let style = color::state_style(word).unwrap_or_default();
            let hint = check
                .hint
                .as_ref()
                .map(|hint| format!("\n{:24}{}", "", escape_line(hint)))
                .unwrap_or_default();
            let gap = " ".repeat(10_usize.saturating_sub(word.len()));
            let word = color::paint(word, style, colored);
            format!("{word}{gap}{:<14}{}{hint}", check.name, escape_line(&check.message))
        })
        .collect();
    context.out.line(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quota_counts() {
        for (quotas, expected) in [
            (&[(50, 100), (60, 3_000)][..], WARNING),
            (&[(50, 100), (0, 3_000)], ERROR),
            (&[(11, 100), (301, 3_000)], OK),
            (&[], OK),
        ] {
            assert_eq!(quota_state(quotas).0, expected, "{quotas:?}");
        }
    }
}
