//! `received`: emails that came in, and what is attached to them, one by one or as they come.

mod attachments;
pub(crate) mod file_name;
mod watch;

use crate::change;
use crate::context::Context;
use crate::fail::Fail;
use crate::output::table::{Column, Kind, at};
use crate::paging::{self, Table};

/// Read emails that came in, and save what is attached to them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
    Attachments(attachments::Args),
    Watch(watch::Args),
}

impl Command {
    /// Whether a signal is how it ends, and no failure.
    pub(crate) fn ends_by_signal(&self) -> bool {
        matches!(self, Self::Watch(_))
    }
}

/// List received emails, newest first
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, from, subject, created_at, to, received_for, cc, bcc, reply_to, message_id\n\n\
    Examples:\n  \
    posthaste received list --limit 20\n  \
    posthaste received list --all --jq '.data[] | select(.attachments != []).id'"
)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: paging::Args,
}

/// Show one received email with its bodies
///
/// A stranger wrote it: the sender that it names may be anybody.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c\n  \
    posthaste received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --json=text,headers")]
pub(crate) struct GetArgs {
    /// Id of the email
    #[arg(value_name = "ID")]
    id: String,
}

/// What a list of received emails can show; the first four by itself.
const TABLE: Table = Table {
    columns: &[
        Column { name: "id", header: "ID", get: |row| at(row, "/id"), kind: Kind::Id },
        Column { name: "from", header: "FROM", get: |row| at(row, "/from"), kind: Kind::Text },
        Column { name: "subject", header: "SUBJECT", get: |row| at(row, "/subject"), kind: Kind::Shrinks },
        Column {
            name: "created_at",
            header: "RECEIVED",
            get: |row| at(row, "/created_at"),
            kind: Kind::Time,
        },
        Column { name: "to", header: "TO", get: |row| at(row, "/to"), kind: Kind::Text },
        Column {
            name: "received_for",
            header: "RECEIVED FOR",
            get: |row| at(row, "/received_for"),
            kind: Kind::Text,
        },
        Column { name: "cc", header: "CC", get: |row| at(row, "/cc"), kind: Kind::Text },
        Column { name: "bcc", header: "BCC", get: |row| at(row, "/bcc"), kind: Kind::Text },
        Column { name: "reply_to", header: "REPLY TO", get: |row| at(row, "/reply_to"), kind: Kind::Text },
        Column {
            name: "message_id",
            header: "MESSAGE ID",
            get: |row| at(row, "/message_id"),
            kind: Kind::Text,
        },
    ],
    shown: 4,
    nothing: "nothing was received yet",
};

/// Runs one of them.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(args) => {
            paging::list(args.part, &TABLE, context, |client| client.received().list()).await
        }
        Command::Get(args) => change::show(context, |client| client.received().get(args.id.as_str())).await,
        Command::Attachments(args) => attachments::run(args, context).await,
        Command::Watch(args) => watch::run(args, context).await,
    }
}
