//! `sandbox inbox delete` and `mark`: change one, several, matching or all mails.

use http::Method;
use idempost::{Call, Client};
use serde_json::{Map, Value, json};

use super::EmailFilter;
use crate::actions::dry_run;
use crate::actions::mutation::DryRunFlag;
use crate::commands::sandbox::{client, confirm_disk_deletion, unreachable_failure};
use crate::context::{Context, Identity};
use crate::diagnostics::Fail;
use crate::input::flags::{DryRun, Flags};
use crate::output::format_count;

/// The mails to change: by ID, by filter, or all.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// ID in the inbox, or the ID printed when sending it
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    which: EmailFilter,
    /// All mails of this key
    #[arg(long)]
    all: bool,
    /// Received emails instead of captured ones
    #[arg(long)]
    received: bool,
}

/// Delete captured or received emails
///
/// A deleted mail can't be restored. What `emails get` shows of a sent email remains, without its attachments; a received email is deleted
/// completely. If the sandbox persists its state (`sandbox serve --data`), the command asks before it deletes by filter or all; --yes skips
/// the question.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost sandbox inbox delete 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  \
    idempost sandbox inbox delete --to worker1@example.com\n  \
    idempost sandbox inbox delete --all")]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Mark captured or received emails as read
///
/// Mails become read when they are opened on the inbox page, or by this command; other commands leave them as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost sandbox inbox mark --all\n  \
    idempost sandbox inbox mark --unread 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")]
pub(crate) struct MarkArgs {
    #[command(flatten)]
    selection: Selection,
    /// Mark them as unread
    #[arg(long)]
    unread: bool,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// A validated request.
struct Change {
    method: Method,
    path: &'static str,
    query: Vec<(&'static str, String)>,
    body: Map<String, Value>,
    dry_run: Option<DryRun>,
}

pub(super) async fn delete(args: DeleteArgs, context: &Context) -> Result<(), Fail> {
    let change = Change::read(Method::DELETE, &args.selection, &args.dry_run, "delete")?;
    if change.dry_run.is_none() && args.selection.ids.is_empty() {
        let which = if args.selection.all { "all" } else { "all matching" };
        let question = format!("Delete {which} emails, including on disk?");
        confirm_disk_deletion(&client(context)?, &question, context).await?;
    }
    change.send("deleted", "deleted", context).await
}

pub(super) async fn mark(args: MarkArgs, context: &Context) -> Result<(), Fail> {
    let mut change = Change::read(Method::PATCH, &args.selection, &args.dry_run, "mark")?;
    change.body.insert("unread".to_owned(), args.unread.into());
    change.send("changed", if args.unread { "marked as unread" } else { "marked as read" }, context).await
}

impl Change {
    fn read(method: Method, from: &Selection, dry_run: &DryRunFlag, command: &str) -> Result<Self, Fail> {
        let query = from.which.query();
        let mut flags = Flags::default();
        flags.help(format!("idempost sandbox inbox {command} --all"));
        for (name, value) in &query {
            if value.trim().is_empty() {
                flags.reject("empty", format!("--{name} must not be empty"), &format!("--{name}"), value);
            }
        }
        for (n, id) in from.ids.iter().enumerate() {
            if uuid::Uuid::try_parse(id).is_err() {
                flags.reject_nth("type", "an ID must be a UUID", "ID", n + 1, id);
            }
        }
        let ways = [!from.ids.is_empty(), !query.is_empty(), from.all];
        match ways.iter().filter(|given| **given).count() {
            0 => flags.add_missing("an ID, a filter such as --to, or --all"),
            1 => {}
            _ if from.all => {
                flags.reject("exclusive", "--all can't be used with IDs or filters", "--all", "");
            }
            _ => {
                let id = from.ids.first().map_or("", String::as_str);
                flags.reject("exclusive", "IDs and filters can't be used together", "ID", id);
            }
        }
        let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
        flags.finish()?;
        let path = if from.received { "/_/received" } else { "/_/messages" };
        let mut body = Map::new();
        if !from.ids.is_empty() {
            body.insert("ids".to_owned(), json!(from.ids));
        }
        Ok(Self { method, path, query, body, dry_run })
    }

    fn call(&self, client: &Client) -> Call<Value> {
        let call = client.request(self.method.clone(), self.path);
        let call = self.query.iter().fold(call, |call, (name, value)| call.query(*name, value));
        if self.body.is_empty() { call } else { call.json(&Value::Object(self.body.clone())) }
    }

    /// Sends the request, or shows it, and reports the number in this field of the response.
    async fn send(&self, field: &str, done: &str, context: &Context) -> Result<(), Fail> {
        let client = client(context)?;
        let call = self.call(&client);
        if let Some(form) = self.dry_run {
            let identity = Identity::for_sandbox(client.base_url());
            return dry_run::show(&call.preview()?, &[], form, &identity, context);
        }
        let response: Value = call.await.map_err(unreachable_failure)?;
        let number = response[field].as_u64().unwrap_or_default();
        context.out.note(&format!("{done}: {}", format_count(number, "mail")));
        context.out.result(&[], &response)
    }
}
