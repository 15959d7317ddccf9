//! `broadcasts`: one email for all contacts of a segment.

mod confirm_send;
mod content;
mod create;
mod recipients;
mod send;
mod update;

use idempost::Client;

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation;
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Send one email to all contacts of a segment, now or later
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(Box<create::Args>),
    /// List broadcasts, newest first
    ///
    /// Without --limit, the service returns all of them.
    #[command(visible_alias = "ls")]
    #[command(
        after_help = "Columns: id, name, status, scheduled_at, sent_at, segment_id, topic_id, created_at\n\n\
        Examples:\n  \
        idempost broadcasts list --limit 10\n  \
        idempost broadcasts list --jq '.data[] | select(.status == \"draft\").id'"
    )]
    List(pages::CompleteArgs),
    /// Show one broadcast with its content
    #[command(
        after_help = "Example:\n  idempost broadcasts get 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --jq .status"
    )]
    Get(ById),
    Update(Box<update::Args>),
    Send(send::Args),
    /// Cancel a broadcast before it is sent
    ///
    /// A scheduled broadcast becomes a draft again. A broadcast being sent stops, permanently. Drafts and sent broadcasts can't be canceled.
    #[command(after_help = "Example:\n  idempost broadcasts cancel 559ac32e-9ef5-46fb-82a1-b76b840c0f7b")]
    Cancel(ChangeById),
    Recipients(recipients::Args),
    ClickedLinks(recipients::LinksArgs),
    /// Copy a broadcast's content into a new draft, and print its ID
    #[command(after_help = "Example:\n  idempost broadcasts duplicate 559ac32e-9ef5-46fb-82a1-b76b840c0f7b")]
    Duplicate(ChangeById),
    /// Delete a draft, or a scheduled broadcast with its schedule
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost broadcasts delete 559ac32e-9ef5-46fb-82a1-b76b840c0f7b")]
    Delete(ChangeById),
}

/// Columns of a list of broadcasts; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("scheduled_at", "SCHEDULED", Kind::Time),
        Column::new("sent_at", "SENT", Kind::Time),
        Column::new("segment_id", "SEGMENT", Kind::Id),
        Column::new("topic_id", "TOPIC", Kind::Id),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no broadcasts yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(*args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.broadcasts().list()).await,
        Command::Get(args) => {
            mutation::show(context, |client| client.broadcasts().get(args.id.as_str())).await
        }
        Command::Update(args) => update::run(*args, context).await,
        Command::Send(args) => send::run(args, context).await,
        Command::Cancel(args) => {
            let unknown_outcome =
                format!("the broadcast may have been canceled; check: {}", show_command(&args.id));
            let make = |client: &Client| client.broadcasts().cancel(args.id.as_str());
            mutation::by_id(&args.dry_run, &unknown_outcome, context, make).await
        }
        Command::Recipients(args) => recipients::run(args, context).await,
        Command::ClickedLinks(args) => recipients::links(args, context).await,
        Command::Duplicate(args) => {
            let unknown_outcome = "the copy may have been created; check: idempost broadcasts list --limit 1";
            let make = |client: &Client| client.broadcasts().duplicate(args.id.as_str());
            mutation::by_id(&args.dry_run, unknown_outcome, context, make).await
        }
        Command::Delete(args) => {
            let unknown_outcome =
                format!("the broadcast may have been deleted; check: {}", show_command(&args.id));
            let make = |client: &Client| client.broadcasts().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &unknown_outcome, context, make).await
        }
    }
}

/// The command that shows one broadcast, for hints.
fn show_command(id: &str) -> String {
    format!("idempost broadcasts get {id}")
}
