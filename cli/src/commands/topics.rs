//! `topics`: what contacts can say yes or no to.

mod create;
mod update;

use posthaste::Client;

use crate::change::{self, DryRunFlag};
use crate::context::Context;
use crate::fail::Fail;
use crate::output::table::{Column, Kind, at};
use crate::paging::{self, Table};

/// Make topics that contacts can opt in to and out of
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Create(create::Args),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
    Update(update::Args),
    Delete(DeleteArgs),
}

/// List topics, newest first
///
/// What one contact says to each of them is shown by `contacts topics`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, name, default_subscription, visibility, created_at, description\n\n\
    Examples:\n  \
    posthaste topics list\n  \
    posthaste topics list --all --jq '.data[] | select(.default_subscription == \"opt_in\").name'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: paging::Args,
}

/// Show one topic
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste topics get b6d24b8e-af0b-4c3c-be0c-359bbd97381e")]
pub(crate) struct GetArgs {
    /// Id of the topic
    #[arg(value_name = "ID")]
    id: String,
}

/// Delete a topic, and what contacts have said to it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste topics delete b6d24b8e-af0b-4c3c-be0c-359bbd97381e")]
pub(crate) struct DeleteArgs {
    /// Id of the topic
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// What a list of topics can show; the first five by itself.
const TABLE: Table = Table {
    columns: &[
        Column { name: "id", header: "ID", get: |row| at(row, "/id"), kind: Kind::Id },
        Column { name: "name", header: "NAME", get: |row| at(row, "/name"), kind: Kind::Shrinks },
        Column {
            name: "default_subscription",
            header: "DEFAULT",
            get: |row| at(row, "/default_subscription"),
            kind: Kind::Text,
        },
        Column {
            name: "visibility",
            header: "VISIBILITY",
            get: |row| at(row, "/visibility"),
            kind: Kind::Text,
        },
        Column { name: "created_at", header: "CREATED", get: |row| at(row, "/created_at"), kind: Kind::Time },
        Column {
            name: "description",
            header: "DESCRIPTION",
            get: |row| at(row, "/description"),
            kind: Kind::Shrinks,
        },
    ],
    shown: 5,
    nothing: "no topics yet",
};

/// Runs one of them.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(args, context).await,
        Command::List(args) => {
            paging::list(args.part, &TABLE, context, |client| client.topics().list()).await
        }
        Command::Get(args) => change::show(context, |client| client.topics().get(args.id.as_str())).await,
        Command::Update(args) => update::run(args, context).await,
        Command::Delete(args) => {
            let doubt = format!("the topic may be deleted; look: {}", look(&args.id));
            let make = |client: &Client| client.topics().delete(args.id.as_str());
            change::delete(&args.dry_run, &doubt, context, make).await
        }
    }
}

/// The command that shows one topic.
fn look(id: &str) -> String {
    format!("posthaste topics get {id}")
}
