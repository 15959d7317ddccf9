//! `received`: received emails and their attachments, listed or watched, forwarded and answered.

mod answer;
pub(crate) mod attachments;
pub(crate) mod file_name;
mod forward;
mod get;
mod reply;
mod watch;

use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Read, save, forward and answer received emails
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List received emails, newest first
    #[command(visible_alias = "ls")]
    #[command(
        after_help = "Columns: id, from, subject, created_at, to, received_for, cc, bcc, reply_to, message_id\n\n\
        Examples:\n  \
        idempost received list --limit 20\n  \
        idempost received list --all --jq '.data[] | select(.attachments != []).id'"
    )]
    List(pages::CompleteArgs),
    Get(get::Args),
    Attachments(attachments::Args),
    Forward(forward::Args),
    Reply(reply::Args),
    Watch(watch::Args),
}

impl Command {
    /// Whether the command normally ends by a signal.
    pub(crate) fn ends_by_signal(&self) -> bool {
        matches!(self, Self::Watch(_))
    }
}

/// Columns of a list of received emails; the first four are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("from", "FROM", Kind::Text),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("created_at", "RECEIVED", Kind::Time),
        Column::new("to", "TO", Kind::Text),
        Column::new("received_for", "RECEIVED FOR", Kind::Text),
        Column::new("cc", "CC", Kind::Text),
        Column::new("bcc", "BCC", Kind::Text),
        Column::new("reply_to", "REPLY TO", Kind::Text),
        Column::new("message_id", "MESSAGE ID", Kind::Text),
    ],
    shown: 4,
    nothing: "no received emails yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.received().list()).await,
        Command::Get(args) => get::run(args, context).await,
        Command::Attachments(args) => attachments::run(args, context).await,
        Command::Forward(args) => forward::run(args, context).await,
        Command::Reply(args) => reply::run(args, context).await,
        Command::Watch(args) => watch::run(args, context).await,
    }
}
