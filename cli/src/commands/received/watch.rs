//! `received watch`: prints every received email once, as it arrives.

mod backlog;
pub(crate) mod cursor;

use std::ops::ControlFlow;
use std::path::PathBuf;

use idempost::{Client, Error};
use serde_json::Value;

use self::cursor::Cursor;
use super::TABLE;
use crate::actions::outage::Outage;
use crate::actions::pages;
use crate::actions::shell::Shell;
use crate::actions::{mutation, tail, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::sleep_while_read;
use crate::output::table::{Columns, text_at};

/// Print received emails as they arrive, once each and oldest first, until Ctrl-C
///
/// The position is stored on this machine, per profile and service, and the next watch resumes from it: emails that arrived in between are
/// printed first. The first watch starts with new emails. An email counts as printed once its line has been written: after a crash or power
/// failure the last lines may be repeated, but none are lost. The position of another account is rejected. Two concurrent watches need separate
/// cursor files.
///
/// Temporary failures are retried with delays of up to a minute: lost connections, service errors, rate limits. Permanent ones end the
/// watch: a rejected key exits with 4. After Ctrl-C, the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, from, subject, created_at, to, received_for, cc, bcc, reply_to, message_id\n\n\
    Examples:\n  \
    idempost received watch\n  \
    idempost received watch -o ndjson | while read -r email; do ./ticket.sh \"$email\"; done\n  \
    idempost received watch --from-start --once --json --jq .id\n  \
    idempost received watch --exec ./ticket.sh\n  \
    idempost received watch --limit 1 --interval 1s --from-now"
)]
pub(crate) struct Args {
    /// Discard the stored position and start with new emails
    #[arg(long)]
    from_now: bool,
    /// Discard the stored position and start with the oldest email
    #[arg(long)]
    from_start: bool,
    /// Polling interval
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    interval: String,
    /// Print the emails received so far, then exit
    #[arg(long)]
    once: bool,
    /// Exit after N emails
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    limit: Option<String>,
    /// Command to run for each email, with its JSON on standard input and its ID in IDEMPOST_EMAIL_ID
    ///
    /// The email counts as printed once the command succeeds. If it fails, the watch exits with 1, and the next watch runs it for the same
    /// email again. Its output goes to standard error.
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// File to store the position in
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { from_now, from_start, once, .. } = args;
    let mut flags = Flags::default();
    if from_now && from_start {
        let rule = "--from-now and --from-start can't be used together";
        flags.reject("exclusive", rule, "--from-start", "--from-start");
    }
    let interval = tail::parse_interval(Some(&args.interval), &mut flags);
    let left = args.limit.as_ref().and_then(|text| flags.parse_positive("--limit", text));
    flags.finish()?;
    let columns = TABLE.columns(context)?;
    let client = context.client()?;
    let mut cursor = if context.global.sandbox {
        // The sandbox of `--sandbox` ends with the command, so a cursor would be useless.
        Cursor::in_memory()
    } else {
        Cursor::open(args.cursor.as_deref(), client.base_url(), from_now || from_start, context)?
    };
    let start = match (from_start, cursor.is_set) {
        (true, _) => "starting with the oldest email",
        (false, true) => "resuming where the last watch stopped",
        (false, false) => "waiting for new emails",
    };
    context.out.note(&format!("{start}; stop with Ctrl-C"));
    let outage = Outage::default();
    let mut watch = Watch { context, client, columns, exec: args.exec, once, left, outage };
    if from_start {
        cursor.start_after(None);
    } else if !cursor.is_set {
        let newest = watch.find_newest().await?;
        cursor.start_after(newest.as_ref());
    }
    cursor.save()?;
    loop {
        watch.poll(&mut cursor).await?;
        if once || watch.left == Some(0) {
            return cursor.save();
        }
        sleep_while_read(interval).await?;
    }
}

struct Watch<'a> {
    context: &'a Context,
    client: Client,
    columns: Columns,
    exec: Option<String>,
    once: bool,
    /// How many more emails to print; `None` for no limit.
    left: Option<u64>,
    outage: Outage,
}

impl Watch<'_> {
    /// The newest email, after which a watch without a position starts.
    async fn find_newest(&mut self) -> Result<Option<Value>, Fail> {
        loop {
            match self.client.received().list().page_size(1).as_json().await {
                Ok(page) => {
                    self.outage.is_over(self.context);
                    return Ok(page.data.into_iter().next());
                }
                Err(error) => self.wait_out(error.into()).await?,
            }
        }
    }

    /// Prints the emails that arrived since the last poll.
    async fn poll(&mut self, cursor: &mut Cursor) -> Result<(), Fail> {
        loop {
            let looked = backlog::print_all(self, cursor).await;
            // Emails printed before a failure aren't printed again.
            cursor.save()?;
            match looked {
                Ok(()) => {
                    self.outage.is_over(self.context);
                    return Ok(());
                }
                Err(fail) => self.wait_out(fail).await?,
            }
        }
    }

    /// Prints one email after its command succeeded; breaks after the last one to print.
    async fn print(&mut self, row: &Value, cursor: &mut Cursor) -> Result<ControlFlow<()>, Fail> {
        self.outage.is_over(self.context);
        if text_at(row, "/id").is_empty() {
            return Err(Fail::error("the service listed an email without an ID, which can't be tracked"));
        }
        if let Some(command) = &self.exec {
            let id = text_at(row, "/id");
            let email = match trace::execute(self.context, || self.client.received().get(id.as_str())).await {
                Ok(email) => mutation::document(&email),
                // The email was just deleted: use the list item.
                Err(Error::Api(error)) if error.status == http::StatusCode::NOT_FOUND => row.clone(),
                Err(error) => return Err(error.into()),
            };
            Shell::run_with_input(command, email.to_string().as_bytes(), &[("IDEMPOST_EMAIL_ID", &id)])
                .await
                .map_err(|why| {
                    Fail::error(format!("--exec, received email {id}: {why}"))
                        .hint("the next watch starts with this email")
                })?;
        }
        let fields = ["/created_at", "/from", "/subject", "/id"];
        pages::print_item(row, &self.columns, &fields, self.context)?;
        cursor.advance(row);
        cursor.save_if_due()?;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Waits after a temporary failure; returns any other.
    async fn wait_out(&mut self, fail: Fail) -> Result<(), Fail> {
        if self.once { Err(fail) } else { self.outage.wait_out(fail, self.context).await }
    }
}
