//! `emails`: send, list, reschedule and cancel emails.

mod attachments;
pub(crate) mod batch;
pub(crate) mod get;
pub(crate) mod list;
mod metrics;
pub(crate) mod schedule;
pub(crate) mod send;
mod share;

use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Send emails and inspect sent ones
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Send(Box<send::Args>),
    Batch(batch::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    Get(get::Args),
    Attachments(attachments::Args),
    Share(share::Args),
    Update(schedule::UpdateArgs),
    Cancel(schedule::CancelArgs),
    Metrics(Box<metrics::Args>),
    /// Read received emails; same as `received`
    #[command(subcommand, hide = true)]
    Receiving(super::received::Command),
}

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Send(args) => send::run(send::plan(*args, context).await?, context).await,
        Command::Batch(args) => batch::run(batch::plan(args, context).await?, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Get(args) => get::run(args, context).await,
        Command::Attachments(args) => attachments::run(args, context).await,
        Command::Share(args) => share::run(args, context).await,
        Command::Update(args) => schedule::update(args, context).await,
        Command::Cancel(args) => schedule::cancel(args, context).await,
        Command::Metrics(args) => metrics::run(*args, context).await,
        Command::Receiving(command) => super::received::run(command, context).await,
    }
}

/// Columns of a list of emails; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("to", "TO", Kind::Text),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("last_event", "LAST EVENT", Kind::State),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("from", "FROM", Kind::Text),
        Column::new("cc", "CC", Kind::Text),
        Column::new("bcc", "BCC", Kind::Text),
        Column::new("reply_to", "REPLY TO", Kind::Text),
        Column::new("message_id", "MESSAGE ID", Kind::Text),
        Column::new("scheduled_at", "SCHEDULED", Kind::Time),
    ],
    shown: 5,
    nothing: "no emails yet",
};

/// `1 recipient`, `2 recipients`.
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
