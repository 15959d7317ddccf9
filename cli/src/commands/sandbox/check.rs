//! `sandbox check`: reports problems that recipients would see, with an exit code.

use http::Method;
use idempost::Client;
use idempost_sandbox::check;
use serde_json::{Value, json};

use super::inbox::{EmailFilter, find_newest};
use super::{captured_or_received, client, client_without_timeout};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::format_count;
use crate::output::table::{Column, Kind, text_at};
use crate::settings::keys::most_similar;

/// The values of `--fail-on`, strictest first.
const LEVELS: &[&str] = &["note", "warning", "error", "never"];

/// Check an email: unsupported HTML, links, missing text, leftover placeholders
///
/// Checks the newest captured email, or one by its ID, or a message file, which needs no sandbox. Nothing is fetched without --fetch-links.
///
/// The exit code is 3 if any finding is at or above the --fail-on severity, otherwise 0. The codes of all findings
/// are in docs/sandbox.md; the data about mail clients is from caniemail.com.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost sandbox check --to ada@example.com\n  \
    idempost sandbox check mail.eml --fail-on warning --ignore link_placeholder,css-gap\n  \
    idempost sandbox check --fetch-links --ignore link_denied\n  \
    idempost sandbox check --json --jq '.findings[].code'")]
pub(crate) struct Args {
    /// ID of a captured or received email, or a message file (.eml); - reads standard input [default: the newest captured email]
    #[arg(value_name = "ID|FILE", conflicts_with_all = ["to", "from", "subject", "tag"])]
    mail: Option<String>,
    #[command(flatten)]
    which: EmailFilter,
    /// Let the sandbox request the links (public addresses only), and report broken and unreachable ones
    ///
    /// Each of the first 100 links is requested once, without its content (HEAD, or GET if the server doesn't support that), which takes at
    /// most 30 seconds. This may use up one-time links. Links that may unsubscribe the recipient aren't requested.
    #[arg(long)]
    fetch_links: bool,
    /// Lowest severity that fails: note, warning, error, or never
    #[arg(long, value_name = "SEVERITY", default_value = "error", value_parser = Choices(LEVELS), hide_possible_values = true)]
    fail_on: String,
    /// Code of findings to ignore, or name of an HTML or CSS feature; repeatable
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    ignore: Vec<String>,
}

const TABLE: Table = Table::new(&[
    Column::new("severity", "SEVERITY", Kind::State),
    Column::new("code", "CODE", Kind::Id),
    Column::new("count", "COUNT", Kind::Id),
    Column::new("place", "PLACE", Kind::Id).format_with(format_position),
    Column::new("message", "MESSAGE", Kind::Shrinks),
    Column::new("excerpt", "EXCERPT", Kind::Text).pointer("/places/0/excerpt").optional(),
    Column::new("feature", "FEATURE", Kind::Text).optional(),
])
.nothing("no findings");

/// Checks the email.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let lowest = LEVELS.iter().position(|level| *level == args.fail_on);
    let rule = "the severity must be note, warning, error or never";
    let lowest = flags.accept(lowest, "unknown", rule, "--fail-on", &args.fail_on);
    for (n, code) in args.ignore.iter().enumerate() {
        let known = check::RULES.iter().map(|rule| rule.code).chain(check::features());
        if !known.clone().any(|known| known == code) {
            let meant = most_similar(code, known)
                .map(|meant| format!("; did you mean `{meant}`?"))
                .unwrap_or_default();
            flags.reject_nth("unknown", format!("no finding has this code{meant}"), "--ignore", n + 1, code);
        }
    }
    let file = args.mail.as_ref().filter(|mail| !is_id(mail));
    let of_file = file.and_then(|file| flags.take(context.stdin().bytes("ID|FILE", file)));
    if let Some(file) = file.filter(|_| args.fetch_links) {
        let rule = "only links of emails in the sandbox can be requested; first add the file: idempost sandbox receive FILE";
        flags.reject("conflict", rule, "--fetch-links", file);
    }
    flags.finish()?;
    let client = || if args.fetch_links { client_without_timeout(context) } else { client(context) };
    let mut report = match (&args.mail, of_file) {
        (_, Some(bytes)) => serde_json::to_value(check::message(&bytes))
            .map_err(|error| Fail::local("the findings can't be written as JSON", error))?,
        (Some(id), None) => check_by_id(id, args.fetch_links, &client()?).await?,
        (None, None) => {
            let client = client()?;
            let id = find_newest(&client, &args.which.query()).await?;
            check_by_id(&id, args.fetch_links, &client).await?
        }
    };
    if let Some(findings) = report["findings"].as_array_mut() {
        findings.retain(|finding| {
            !["/code", "/feature"].iter().any(|field| args.ignore.contains(&text_at(finding, field)))
        });
    }
    show(&report, context)?;
    let level = |finding: &Value| LEVELS.iter().position(|level| finding["severity"] == **level);
    let findings = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let failed = findings.iter().filter(|finding| level(finding) >= lowest).count();
    if failed == 0 {
        return Ok(());
    }
    Err(Fail::rejected(format!("the check found {}", summarize(findings)))
        .hint("to accept a finding: idempost sandbox check --ignore CODE"))
}

fn show(report: &Value, context: &Context) -> Result<(), Fail> {
    if context.out.is_json() && context.global.columns.is_empty() {
        return context.out.document(report);
    }
    let columns = TABLE.columns(context)?;
    let findings = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    context.out.note(&if findings.is_empty() { TABLE.nothing.to_owned() } else { summarize(findings) });
    if let Some(links) = report.get("links") {
        context.out.note(&summarize_links(links));
    }
    context.out.list(&json!({ "object": "list", "data": findings, "has_more": false }), &columns)
}

/// `1 error, 2 warnings, 3 notes`.
fn summarize(findings: &[Value]) -> String {
    let of = |severity: &str| findings.iter().filter(|finding| finding["severity"] == severity).count();
    let counted = ["error", "warning", "note"].map(|severity| (of(severity), severity));
    let parts: Vec<_> = counted
        .iter()
        .filter(|(found, _)| *found > 0)
        .map(|(found, severity)| format_count(*found, severity))
        .collect();
    parts.join(", ")
}

/// `3 of 5 links checked`.
fn summarize_links(links: &Value) -> String {
    let data = links["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let skipped = data.iter().filter(|link| link["state"] == "skipped").count();
    let total = &links["total"];
    format!("{} of {total} links checked", data.len() - skipped)
}

/// `html:12:5`, or the part alone.
fn format_position(finding: &Value) -> String {
    let Some(place) = finding.pointer("/places/0") else { return String::new() };
    match (&place["line"], &place["column"]) {
        (Value::Number(line), Value::Number(column)) => {
            format!("{}:{line}:{column}", text_at(place, "/part"))
        }
        _ => text_at(place, "/part"),
    }
}

async fn check_by_id(id: &str, fetch_links: bool, client: &Client) -> Result<Value, Fail> {
    let method = if fetch_links { Method::POST } else { Method::GET };
    captured_or_received(|folder| client.request(method.clone(), format!("/_/{folder}/{id}/check"))).await
}

/// Whether this is an ID, in the form of a UUID. A file of this name can be given as `./…`.
fn is_id(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}
