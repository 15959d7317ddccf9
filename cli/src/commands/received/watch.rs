//! `received watch`: every email that comes in, once, as it comes.

mod backlog;
mod cursor;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use posthaste::{Client, Error};
use serde_json::Value;
use tokio::time::sleep;

use self::cursor::Cursor;
use super::TABLE;
use crate::actions::outage::Outage;
use crate::actions::pages;
use crate::actions::shell::Shell;
use crate::actions::{mutation, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Columns, at};
use crate::settings::keys;

/// Print every email that comes in, once and oldest first, until Ctrl-C
///
/// Where it stopped is kept on this machine, for each profile and service, and the next watch goes on from there: what came in between, be
/// it thousands, is printed first. A first watch begins with what comes from now on. An email counts as printed once its line has been
/// written: after a kill or a power cut the lines of the last moment can come again, and none is missing. Two watches need a cursor each.
///
/// Whatever passes is waited for, with pauses of up to a minute: no connection, a service that fails, too many requests. What does not,
/// ends it: a key that is refused is exit code 4. Ctrl-C is how it ends: the exit code is then 0.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, from, subject, created_at, to, received_for, cc, bcc, reply_to, message_id\n\n\
    Examples:\n  \
    posthaste received watch\n  \
    posthaste received watch -o ndjson | while read -r email; do ./ticket.sh \"$email\"; done\n  \
    posthaste received watch --from-start --once --json --jq .id\n  \
    posthaste received watch --exec ./ticket.sh\n  \
    posthaste received watch --limit 1 --interval 1s --from-now"
)]
pub(crate) struct Args {
    /// Forget where the last watch stopped, and begin with what comes from now on
    #[arg(long)]
    from_now: bool,
    /// Forget where the last watch stopped, and begin with the oldest email that there is
    #[arg(long)]
    from_start: bool,
    /// Pause between two looks
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    interval: String,
    /// Print what has come so far, and end
    #[arg(long)]
    once: bool,
    /// End after N emails
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    limit: Option<String>,
    /// Run this command for every email, with its JSON on standard input and its ID in POSTHASTE_EMAIL_ID
    ///
    /// The email counts as printed once the command has succeeded. A command that fails ends the watch with exit code 1, and the next watch
    /// runs it for the same email again. What it writes goes to standard error.
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// Keep the cursor in this file instead
    #[arg(long, value_name = "FILE")]
    cursor: Option<PathBuf>,
}

/// What is to be done.
struct Plan {
    begin: Begin,
    interval: Duration,
    once: bool,
    limit: Option<u64>,
}

/// Where it begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// Where the last one stopped; now, if there was none.
    Cursor,
    Now,
    Oldest,
}

/// Watches.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let plan = plan(&args)?;
    let columns = context.out.columns(TABLE.columns)?;
    let client = context.client()?;
    let mut cursor = if context.global.has_sandbox() {
        // Its service is gone with the command, and so is all that a cursor could name.
        Cursor::in_memory()
    } else {
        Cursor::open(args.cursor.as_deref(), client.base_url(), plan.begin != Begin::Cursor, context)?
    };
    let begins = match plan.begin {
        Begin::Cursor if cursor.is_set() => "going on where the last watch stopped",
        Begin::Oldest => "beginning with the oldest email",
        _ => "beginning with what comes from now on",
    };
    context.out.note(&format!("{begins}; Ctrl-C ends"));
    let outage = Outage::default();
    let mut watch = Watch { context, client, columns, exec: args.exec, left: plan.limit, outage };
    watch.begin(plan.begin, plan.once, &mut cursor).await?;
    loop {
        watch.look(plan.once, &mut cursor).await?;
        if plan.once || watch.left == Some(0) {
            return cursor.save();
        }
        sleep(plan.interval).await;
    }
}

fn plan(args: &Args) -> Result<Plan, Fail> {
    let mut flags = Flags::default();
    if args.from_now && args.from_start {
        let rule = "--from-now and --from-start exclude each other";
        flags.wrong("exclusive", rule, "--from-start", "--from-start");
    }
    let interval = keys::duration(&args.interval).unwrap_or_else(|rule| {
        flags.wrong("type", format!("--interval {rule}"), "--interval", &args.interval);
        Duration::ZERO
    });
    let limit = args.limit.as_ref().and_then(|text| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|&number: &u64| digits && number > 0);
        if number.is_none() {
            flags.wrong("range", "--limit is a whole number above 0", "--limit", text);
        }
        number
    });
    flags.finish()?;
    let begin = match (args.from_now, args.from_start) {
        (true, _) => Begin::Now,
        (_, true) => Begin::Oldest,
        _ => Begin::Cursor,
    };
    Ok(Plan { begin, interval, once: args.once, limit })
}

struct Watch<'a> {
    context: &'a Context,
    client: Client,
    columns: Columns,
    exec: Option<String>,
    /// How many more are to be printed, if not all.
    left: Option<u64>,
    outage: Outage,
}

impl Watch<'_> {
    /// Finds the place where a watch without a cursor begins, and keeps it.
    async fn begin(&mut self, begin: Begin, once: bool, cursor: &mut Cursor) -> Result<(), Fail> {
        match begin {
            Begin::Cursor if cursor.is_set() => return Ok(()),
            Begin::Oldest => cursor.begin_at(None),
            Begin::Cursor | Begin::Now => {
                let newest = loop {
                    match self.client.received().list().page_size(1).as_json().await {
                        Ok(page) => break page.data.into_iter().next(),
                        Err(error) => self.wait_out(error.into(), once).await?,
                    }
                };
                self.outage.is_over(self.context);
                cursor.begin_at(newest.as_ref());
            }
        }
        cursor.save()
    }

    /// Prints what has come since the last look.
    async fn look(&mut self, once: bool, cursor: &mut Cursor) -> Result<(), Fail> {
        loop {
            let looked = backlog::walk(self, cursor).await;
            // Also what was printed before a failure stays printed.
            cursor.save()?;
            match looked {
                Ok(()) => {
                    self.outage.is_over(self.context);
                    return Ok(());
                }
                Err(fail) => self.wait_out(fail, once).await?,
            }
        }
    }

    /// Prints one email after its command has run; breaks when enough have been printed.
    async fn print(&mut self, row: &Value, cursor: &mut Cursor) -> Result<ControlFlow<()>, Fail> {
        self.outage.is_over(self.context);
        if at(row, "/id").is_empty() {
            return Err(Fail::Local {
                message: "the service lists an email without an id, so it can't be known again".to_owned(),
                source: None,
                hint: None,
            });
        }
        if let Some(command) = &self.exec {
            let id = at(row, "/id");
            let email = match trace::carry_out(self.context, || self.client.received().get(id.as_str())).await
            {
                Ok(email) => mutation::document(&email),
                // It was deleted a moment ago: what the list had of it.
                Err(Error::Api(error)) if error.status == http::StatusCode::NOT_FOUND => row.clone(),
                Err(error) => return Err(error.into()),
            };
            Shell::feed(command, email.to_string().as_bytes(), ("POSTHASTE_EMAIL_ID", &id)).await.map_err(
                |why| Fail::Local {
                    message: format!("--exec, received email {id}: {why}"),
                    source: None,
                    hint: Some("the next watch begins with this email".to_owned()),
                },
            )?;
        }
        let fields = ["/created_at", "/from", "/subject", "/id"];
        pages::item(row, &self.columns, &fields, self.context)?;
        cursor.moved_to(row);
        cursor.save_now_and_then()?;
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Waits a while after a failure that passes; any other one is handed back.
    async fn wait_out(&mut self, fail: Fail, once: bool) -> Result<(), Fail> {
        if once { Err(fail) } else { self.outage.wait_out(fail, self.context).await }
    }
}
