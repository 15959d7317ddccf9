//! `templates`: stored bodies with variables.

mod content;
mod create;
mod update;

use posthaste::Client;

use crate::change::{self, DryRunFlag};
use crate::context::Context;
use crate::fail::Fail;
use crate::narrate;
use crate::output::table::{Column, Kind, at};
use crate::paging::{self, Table};

/// Store bodies with variables, and publish them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Create(Box<create::Args>),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
    Update(Box<update::Args>),
    Publish(PublishArgs),
    Duplicate(DuplicateArgs),
    Delete(DeleteArgs),
}

/// List templates, newest first
///
/// Without --limit, the service shows 20.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, name, alias, status, updated_at, published_at, created_at\n\n\
    Examples:\n  \
    posthaste templates list --all\n  \
    posthaste templates list --jq '.data[] | select(.status == \"draft\").name'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: paging::Args,
}

/// Show one template with its newest content
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste templates get welcome --jq .html > welcome.html")]
pub(crate) struct GetArgs {
    /// Id or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
}

/// Make a template's newest content the one that is sent
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste templates publish welcome")]
pub(crate) struct PublishArgs {
    /// Id or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Make a draft with the content of a template, and print its id
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste templates duplicate welcome")]
pub(crate) struct DuplicateArgs {
    /// Id or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Delete a template with all its versions
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste templates delete welcome")]
pub(crate) struct DeleteArgs {
    /// Id or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// What a list of templates can show; the first five by itself.
const TABLE: Table = Table {
    columns: &[
        Column { name: "id", header: "ID", get: |row| at(row, "/id"), kind: Kind::Id },
        Column { name: "name", header: "NAME", get: |row| at(row, "/name"), kind: Kind::Shrinks },
        Column { name: "alias", header: "ALIAS", get: |row| at(row, "/alias"), kind: Kind::Text },
        Column { name: "status", header: "STATUS", get: |row| at(row, "/status"), kind: Kind::State },
        Column { name: "updated_at", header: "CHANGED", get: |row| at(row, "/updated_at"), kind: Kind::Time },
        Column {
            name: "published_at",
            header: "PUBLISHED",
            get: |row| at(row, "/published_at"),
            kind: Kind::Time,
        },
        Column { name: "created_at", header: "MADE", get: |row| at(row, "/created_at"), kind: Kind::Time },
    ],
    shown: 5,
    nothing: "no templates yet",
};

/// Runs one of them.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(*args, context).await,
        Command::List(args) => {
            paging::list(args.part, &TABLE, context, |client| client.templates().list()).await
        }
        Command::Get(args) => change::show(context, |client| client.templates().get(args.id.as_str())).await,
        Command::Update(args) => update::run(*args, context).await,
        Command::Publish(args) => {
            let doubt = format!("the template may have been published; look: {}", look(&args.id));
            let make = |client: &Client| client.templates().publish(args.id.as_str());
            change::by_id(&args.dry_run, &doubt, context, make).await
        }
        Command::Duplicate(args) => {
            let doubt = "the copy may have been made; look: posthaste templates list --limit 1";
            let make = |client: &Client| client.templates().duplicate(args.id.as_str());
            change::by_id(&args.dry_run, doubt, context, make).await
        }
        Command::Delete(args) => {
            let doubt = format!("the template may be deleted; look: {}", look(&args.id));
            let make = |client: &Client| client.templates().delete(args.id.as_str());
            change::delete(&args.dry_run, &doubt, context, make).await
        }
    }
}

/// Publishes what was just stored. What was stored stays so, whatever comes of this.
async fn publish_now(id: &str, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    match narrate::carry_out(context, || client.templates().publish(id)).await {
        Ok(_) => {
            context.out.note("published");
            Ok(())
        }
        Err(error) => {
            context.out.warn(&format!(
                "it is stored and not published; try again: posthaste templates publish {id}"
            ));
            Err(error.into())
        }
    }
}

/// The command that shows one template.
fn look(id: &str) -> String {
    format!("posthaste templates get {id}")
}
