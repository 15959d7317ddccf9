//! `emails`: send one, send a batch, look at those that were sent, change those that wait for their time.

pub(crate) mod batch;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod schedule;
pub(crate) mod send;

use crate::context::Context;
use crate::fail::Fail;
use crate::output::table::{Column, Kind, at};
use crate::paging::Table;

/// Send emails, and look at those that were sent
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Send(Box<send::Args>),
    Batch(batch::Args),
    #[command(visible_alias = "ls")]
    List(list::Args),
    Get(get::Args),
    Update(schedule::UpdateArgs),
    Cancel(schedule::CancelArgs),
    /// Read emails that came in: the same as `received`
    #[command(subcommand, hide = true)]
    Receiving(super::received::Command),
}

/// Runs one of them.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Send(args) => send::run(send::plan(*args, context).await?, context).await,
        Command::Batch(args) => batch::run(batch::plan(args, context)?, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Get(args) => get::run(args, context).await,
        Command::Update(args) => schedule::update(args, context).await,
        Command::Cancel(args) => schedule::cancel(args, context).await,
        Command::Receiving(command) => super::received::run(command, context).await,
    }
}

/// What a list of emails can show; the first five by itself.
const TABLE: Table = Table {
    columns: &[
        Column { name: "id", header: "ID", get: |row| at(row, "/id"), kind: Kind::Id },
        Column { name: "to", header: "TO", get: |row| at(row, "/to"), kind: Kind::Text },
        Column { name: "subject", header: "SUBJECT", get: |row| at(row, "/subject"), kind: Kind::Shrinks },
        Column {
            name: "last_event",
            header: "LAST EVENT",
            get: |row| at(row, "/last_event"),
            kind: Kind::State,
        },
        Column { name: "created_at", header: "SENT", get: |row| at(row, "/created_at"), kind: Kind::Time },
        Column { name: "from", header: "FROM", get: |row| at(row, "/from"), kind: Kind::Text },
        Column { name: "cc", header: "CC", get: |row| at(row, "/cc"), kind: Kind::Text },
        Column { name: "bcc", header: "BCC", get: |row| at(row, "/bcc"), kind: Kind::Text },
        Column { name: "reply_to", header: "REPLY TO", get: |row| at(row, "/reply_to"), kind: Kind::Text },
        Column {
            name: "message_id",
            header: "MESSAGE ID",
            get: |row| at(row, "/message_id"),
            kind: Kind::Text,
        },
        Column {
            name: "scheduled_at",
            header: "SCHEDULED",
            get: |row| at(row, "/scheduled_at"),
            kind: Kind::Time,
        },
    ],
    shown: 5,
    nothing: "no emails yet",
};

/// `1 recipient`, `2 recipients`.
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
