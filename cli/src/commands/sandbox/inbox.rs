//! `sandbox inbox`: captured emails, newest first.

mod change;

use std::time::Duration;

use clap::ValueEnum as _;
use http::{Method, StatusCode};
use idempost::transport::RequestDelivery;
use idempost::{Client, Error, call::RetryPolicy, problem::path_segment};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::wait::{deadline, format_limit, max_wait};
use super::{captured_or_received, client, client_without_timeout, unreachable_failure};
use crate::context::Context;
use crate::diagnostics::{Diagnostics, Fail, Origin};
use crate::output::table::text_at;
use crate::output::terminal::{escape_line, safe_lines};
use crate::rows::prelude::*;

noun!(Inbox, "Inspect, mark and delete captured emails", VERBS);

const VERBS: &[Verb] = &[
    Verb::custom("list", &own(list)),
    Verb::custom("get", &own(get)),
    Verb::custom("latest", &own(latest)),
    Verb::custom("wait", &own(wait)),
    Verb::custom("delete", &own(change::delete)),
    Verb::custom("mark", &own(change::mark)),
    Verb::custom("release", &own(release)),
];

/// Filter for captured emails; all given conditions must match.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EmailFilter {
    /// Search, such as 'from:ada has:attachment -"out of office"'; see `idempost help search`
    #[arg(long, value_name = "SEARCH")]
    query: Option<String>,
    /// Part of a recipient's address or name
    #[arg(long, value_name = "TEXT")]
    to: Option<String>,
    /// Part of the sender's address or name
    #[arg(long, value_name = "TEXT")]
    from: Option<String>,
    /// Part of the subject
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// Tag, as NAME or NAME=VALUE
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Option<String>,
}

/// How to show an email.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct DisplayArgs {
    /// Print the message source (RFC 5322), for an .eml file
    #[arg(long)]
    raw: bool,
}

/// The states that `--state` selects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum State {
    /// Captured: would have been sent
    #[default]
    Sent,
    /// Not sent, for any reason
    Unsent,
    /// Scheduled for later
    Scheduled,
    /// Waiting for hosted attachments
    Queued,
    /// Failed before sending
    Failed,
    /// All recipients are suppressed
    Suppressed,
    /// Canceled before sending
    Canceled,
}

/// List captured emails, newest first; with --state, unsent emails
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost sandbox inbox list --to ada@example.com\n  \
    idempost sandbox inbox list --query 'subject:\"your code\" after:10m'\n  \
    idempost sandbox inbox list --state unsent\n  \
    idempost sandbox inbox list --json --jq '.data | length'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    which: EmailFilter,
    /// State of the emails to list
    #[arg(long, value_name = "STATE", value_enum, default_value_t)]
    state: State,
    /// Maximum number of emails
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
}

/// Show one captured email
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost sandbox inbox get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")]
pub(crate) struct GetArgs {
    /// ID in the inbox, or the ID printed when sending it
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    how: DisplayArgs,
}

/// Show the newest captured email
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost sandbox inbox latest --to ada@example.com --json --jq .subject\n  \
        idempost sandbox inbox latest --raw > latest.eml"
)]
pub(crate) struct LatestArgs {
    #[command(flatten)]
    which: EmailFilter,
    #[command(flatten)]
    how: DisplayArgs,
}

/// Wait for an email and show it, or its one-time code or a link
///
/// An email already captured counts, unless --after excludes it. Waits up to --timeout, 30s by default, and exits with 8 on timeout, with 5 if
/// the email has no such code or link.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost sandbox inbox wait --to ada@example.com --subject Welcome --timeout 10s\n  \
        code=$(idempost sandbox inbox wait --to ada@example.com --code)\n  \
        idempost sandbox inbox wait --to ada@example.com --link 'Verify'"
)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    which: EmailFilter,
    /// Only emails captured after this one, or after this time of the sandbox
    #[arg(long, value_name = "ID|TIME")]
    after: Option<String>,
    /// Print only the one-time code
    #[arg(long, conflicts_with_all = ["link", "raw"])]
    code: bool,
    /// Print only the URL of the first link whose text contains this, ignoring case
    #[arg(long, value_name = "TEXT", conflicts_with = "raw")]
    link: Option<String>,
    #[command(flatten)]
    how: DisplayArgs,
}

/// The maximum wait of one request.
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// The pause after a lost connection.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of links in an error, and of characters per link.
const MAX_LISTED: usize = 10;
const MAX_NAME: usize = 60;

/// Send one email to real recipients, through the server of `sandbox serve --smtp-release` or `--smtp`
///
/// Only the recipients given here get it, never those of the email, and --smtp-allow of the sandbox limits them. The email itself is unchanged;
/// Bcc fields are removed. The server's reply is printed; if it rejects the email, the exit code is 3. The timeline of the email shows the result.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost sandbox inbox release 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --to ada@acme.test"
)]
pub(crate) struct ReleaseArgs {
    /// ID of a captured or received email
    #[arg(value_name = "ID")]
    id: String,
    /// Recipient; repeatable
    #[arg(long, value_name = "ADDRESS", required = true)]
    to: Vec<String>,
}

/// Columns of captured emails.
const CAPTURED: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("to", "TO", Kind::Text),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("last_event", "LAST EVENT", Kind::State),
    Column::new("created_at", "CAPTURED", Kind::Time),
    Column::new("email_id", "EMAIL", Kind::Id).optional(),
    Column::new("from", "FROM", Kind::Text).optional(),
    Column::new("cc", "CC", Kind::Text).optional(),
    Column::new("bcc", "BCC", Kind::Text).optional(),
    Column::new("size", "SIZE", Kind::Text).optional(),
])
.nothing("no emails");

/// Columns of unsent emails.
const UNSENT: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("to", "TO", Kind::Text),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("state", "STATE", Kind::State),
    Column::new("reason", "REASON", Kind::Text),
    Column::new("scheduled_at", "SCHEDULED", Kind::Time),
    Column::new("created_at", "ACCEPTED", Kind::Time),
    Column::new("from", "FROM", Kind::Text).optional(),
    Column::new("cc", "CC", Kind::Text).optional(),
    Column::new("bcc", "BCC", Kind::Text).optional(),
    Column::new("last_event", "LAST EVENT", Kind::State).optional(),
])
.nothing("no emails");

async fn get(args: GetArgs, context: &Context) -> Result<(), Fail> {
    show(&args.id, args.how, &client(context)?, context).await
}

async fn latest(args: LatestArgs, context: &Context) -> Result<(), Fail> {
    let client = client(context)?;
    let id = find_newest(&client, &args.which.query()).await?;
    show(&id, args.how, &client, context).await
}

async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    let sent = args.state == State::Sent;
    let table = if sent { CAPTURED } else { UNSENT };
    let columns = table.columns(context)?;
    let mut query = args.which.query();
    query.push(("limit", args.limit.to_string()));
    if let Some(state) = args.state.to_possible_value().filter(|_| !sent) {
        query.push(("state", state.get_name().to_owned()));
    }
    let list = fetch_messages(&client(context)?, &query).await?;
    table.print(&list, &columns, context)
}

async fn wait(args: WaitArgs, context: &Context) -> Result<(), Fail> {
    let client = client_without_timeout(context)?;
    let limit = max_wait(context)?;
    let mut query = args.which.query();
    query.extend(args.after.clone().map(|after| ("after", after)));
    let end = deadline(limit);
    let mail = loop {
        let left = end.saturating_duration_since(Instant::now());
        let call = client.request(Method::GET, "/_/messages/wait");
        let call = query.iter().fold(call, |call, (name, value)| call.query(*name, value));
        let timeout = left.min(MAX_TIMEOUT).as_secs_f64().to_string();
        // 408 ends the wait and isn't retried.
        match call.query("timeout", timeout).retry(RetryPolicy::never()).await {
            Ok(mail) => break mail,
            Err(Error::Api(error)) if error.status == StatusCode::REQUEST_TIMEOUT => {
                if left <= MAX_TIMEOUT {
                    return Err(Fail::pending(format!(
                        "timed out after {} waiting for a matching email",
                        format_limit(limit)
                    ))
                    .hint("idempost sandbox inbox list"));
                }
            }
            // A proxy may cut idle connections.
            Err(error) if is_cut(&error) && !left.is_zero() => sleep(PAUSE.min(left)).await,
            Err(error) => return Err(unreachable_failure(error)),
        }
    };
    if args.code {
        return show_code(&mail, context);
    }
    match &args.link {
        Some(wanted) => show_link(&mail, wanted, context),
        None if args.how.raw => show(&text_at(&mail, "/id"), args.how, &client, context).await,
        None => show_mail(&mail, context),
    }
}

/// Whether the connection was cut before the response, directly or by a proxy.
fn is_cut(error: &Error) -> bool {
    match error {
        Error::Unreachable(lost) | Error::OutcomeUnknown(lost) => {
            lost.transport.delivery() == RequestDelivery::Unknown
        }
        Error::Api(error) => {
            let gateway =
                [StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
            gateway.contains(&error.status)
        }
        _ => false,
    }
}

/// Prints the most likely one-time code of an email.
fn show_code(mail: &Value, context: &Context) -> Result<(), Fail> {
    let Some(code) = mail["codes"][0].as_str() else {
        return Err(Fail::not_found(format!(
            "the email has no one-time code; its subject is `{}`",
            escape_line(&text_at(mail, "/subject"))
        ))
        .hint(format!("idempost sandbox inbox get {}", text_at(mail, "/id"))));
    };
    let document =
        json!({ "code": code, "codes": mail["codes"], "id": mail["id"], "email_id": mail["email_id"] });
    context.out.result(&[code.to_owned()], &document)
}

/// Prints the first link of an email whose text contains this.
fn show_link(mail: &Value, wanted: &str, context: &Context) -> Result<(), Fail> {
    let links = mail["links"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |link: &Value| text_at(link, "/text").to_lowercase();
    let Some(link) = links.iter().find(|link| text(link).contains(&wanted.to_lowercase())) else {
        let there: Vec<_> = links.iter().take(MAX_LISTED).map(describe_link).collect();
        let more = links.len().saturating_sub(MAX_LISTED);
        return Err(Fail::not_found(match there.as_slice() {
            [] => format!("no link contains `{wanted}`: the email has no links"),
            _ if more > 0 => {
                format!("no link contains `{wanted}`; there are {}, and {more} more", there.join(", "))
            }
            _ => format!("no link contains `{wanted}`; there are {}", there.join(", ")),
        })
        .hint(format!("idempost sandbox inbox get {} --json=links", text_at(mail, "/id"))));
    };
    let document = json!({ "link": link, "id": mail["id"], "email_id": mail["email_id"] });
    context.out.result(&[text_at(link, "/url")], &document)
}

/// The text of a link, shortened, for a message.
fn describe_link(link: &Value) -> String {
    let text = escape_line(&text_at(link, "/text")).into_owned();
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

async fn release(args: ReleaseArgs, context: &Context) -> Result<(), Fail> {
    let (client, id) = (client_without_timeout(context)?, encode_id(&args.id)?);
    let released = captured_or_received(|folder| {
        client.request(Method::POST, format!("/_/{folder}/{id}/release")).json(&json!({ "to": args.to }))
    })
    .await?;
    context.out.note(&format!("released to {}", args.to.join(", ")));
    context.out.result(&[text_at(&released, "/reply")], &released)
}

/// An ID as a segment of a path.
fn encode_id(id: &str) -> Result<String, Fail> {
    path_segment(id)
        .map_err(|problem| Diagnostics::from_problem(problem, Some(Origin::flag("ID", id))).into())
}

impl EmailFilter {
    pub(super) fn query(&self) -> Vec<(&'static str, String)> {
        let Self { query, to, from, subject, tag } = self;
        let given = [("query", query), ("to", to), ("from", from), ("subject", subject), ("tag", tag)];
        given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}

pub(super) async fn fetch_messages(client: &Client, query: &[(&str, String)]) -> Result<Value, Fail> {
    let call = client.request(Method::GET, "/_/messages");
    let call = query.iter().fold(call, |call, (name, value)| call.query(*name, value));
    call.await.map_err(unreachable_failure)
}

/// The ID of the newest matching email.
pub(super) async fn find_newest(client: &Client, query: &[(&str, String)]) -> Result<String, Fail> {
    let mut query = query.to_vec();
    query.push(("limit", "1".to_owned()));
    let list = fetch_messages(client, &query).await?;
    let none = || Fail::not_found("no captured email matches").hint("idempost sandbox inbox list");
    list["data"][0]["id"].as_str().map(str::to_owned).ok_or_else(none)
}

async fn show(id: &str, how: DisplayArgs, client: &Client, context: &Context) -> Result<(), Fail> {
    let path = format!("/_/messages/{}", encode_id(id)?);
    if how.raw {
        let mail =
            client.request(Method::GET, format!("{path}/raw")).bytes().await.map_err(unreachable_failure)?;
        return context.out.print_untrusted(&mail);
    }
    let mail = client.request(Method::GET, path).await.map_err(unreachable_failure)?;
    show_mail(&mail, context)
}

fn show_mail(mail: &Value, context: &Context) -> Result<(), Fail> {
    context.out.result(&[render_email(mail)], mail)
}

/// Renders an email: headers, then text.
fn render_email(mail: &Value) -> String {
    let tags = mail["tags"].as_array().into_iter().flatten();
    let tags =
        tags.map(|tag| format!("{}={}", text_at(tag, "/name"), text_at(tag, "/value"))).collect::<Vec<_>>();
    let attached = mail["attachments"].as_array().into_iter().flatten();
    let attached = attached.map(|file| {
        format!(
            "{} ({}, {} bytes)",
            text_at(file, "/filename"),
            text_at(file, "/content_type"),
            text_at(file, "/size")
        )
    });
    let codes = mail["codes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let lines = [
        ("From", text_at(mail, "/from")),
        ("To", text_at(mail, "/to")),
        ("Cc", text_at(mail, "/cc")),
        ("Bcc", text_at(mail, "/bcc")),
        ("Subject", text_at(mail, "/subject")),
        ("Captured", text_at(mail, "/created_at")),
        ("State", text_at(mail, "/last_event")),
        ("Tags", tags.join(", ")),
        ("Attached", attached.collect::<Vec<_>>().join(", ")),
        ("Codes", codes.collect::<Vec<_>>().join(", ")),
        ("Size", format!("{} bytes", text_at(mail, "/size"))),
        ("Email ID", text_at(mail, "/email_id")),
        ("ID", text_at(mail, "/id")),
    ];
    let head = lines.iter().filter(|(_, value)| !value.is_empty());
    let head = head
        .map(|(name, value)| format!("{:<10}{}", format!("{name}:"), escape_line(value)))
        .collect::<Vec<_>>();
    let text = text_at(mail, "/text");
    let text = if text.trim().is_empty() && !text_at(mail, "/html").is_empty() {
        "(HTML only: --json --jq .html)".to_owned()
    } else {
        safe_lines(&text).trim_end().to_owned()
    };
    format!("{}\n\n{text}", head.join("\n")).trim_end().to_owned()
}
