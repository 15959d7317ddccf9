//! `topics`: subscription topics of contacts.

mod create;
mod update;

use idempost::Client;

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation;
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Manage topics that contacts can opt in to and out of
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(create::Args),
    /// List topics, newest first
    ///
    /// For one contact's subscriptions, use `contacts topics`.
    #[command(visible_alias = "ls")]
    #[command(
        after_help = "Columns: id, name, default_subscription, visibility, created_at, description\n\n\
        Examples:\n  \
        idempost topics list\n  \
        idempost topics list --all --jq '.data[] | select(.default_subscription == \"opt_in\").name'"
    )]
    List(pages::Args),
    /// Show one topic
    #[command(after_help = "Example:\n  idempost topics get b6d24b8e-af0b-4c3c-be0c-359bbd97381e")]
    Get(ById),
    Update(update::Args),
    /// Delete a topic and the contacts' subscriptions to it
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost topics delete b6d24b8e-af0b-4c3c-be0c-359bbd97381e")]
    Delete(ChangeById),
}

/// Columns of a list of topics; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("default_subscription", "DEFAULT", Kind::Text),
        Column::new("visibility", "VISIBILITY", Kind::Text),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("description", "DESCRIPTION", Kind::Shrinks),
    ],
    shown: 5,
    nothing: "no topics yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.topics().list()).await,
        Command::Get(args) => mutation::show(context, |client| client.topics().get(args.id.as_str())).await,
        Command::Update(args) => update::run(args, context).await,
        Command::Delete(args) => {
            let unknown_outcome =
                format!("the topic may have been deleted; check: {}", show_command(&args.id));
            let make = |client: &Client| client.topics().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &unknown_outcome, context, make).await
        }
    }
}

/// The command that shows one topic, for hints.
fn show_command(id: &str) -> String {
    format!("idempost topics get {id}")
}
