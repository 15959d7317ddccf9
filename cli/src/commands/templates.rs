//! `templates`: stored email content with variables.

mod content;
mod create;
mod update;

use idempost::Client;

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Manage templates, stored email content with variables
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(Box<create::Args>),
    /// List templates, newest first
    ///
    /// Without --limit, the service returns 20.
    #[command(visible_alias = "ls")]
    #[command(after_help = "Columns: id, name, alias, status, updated_at, published_at, created_at\n\n\
        Examples:\n  \
        idempost templates list --all\n  \
        idempost templates list --jq '.data[] | select(.status == \"draft\").name'")]
    List(pages::Args),
    Get(GetArgs),
    Update(Box<update::Args>),
    Publish(PublishArgs),
    Duplicate(DuplicateArgs),
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
}

/// Show one template with its latest content
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost templates get welcome --jq .html > welcome.html")]
pub(crate) struct GetArgs {
    /// ID or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
}

/// Publish a template's latest content
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost templates publish welcome")]
pub(crate) struct PublishArgs {
    /// ID or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Copy a template into a new draft and print its ID
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost templates duplicate welcome")]
pub(crate) struct DuplicateArgs {
    /// ID or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Delete a template with all its versions
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost templates delete welcome")]
pub(crate) struct DeleteArgs {
    /// ID or alias of the template
    #[arg(value_name = "ID|ALIAS")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Columns of a list of templates; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("alias", "ALIAS", Kind::Text),
        Column::new("status", "STATUS", Kind::State),
        Column::new("updated_at", "UPDATED", Kind::Time),
        Column::new("published_at", "PUBLISHED", Kind::Time),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no templates yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(*args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.templates().list()).await,
        Command::Get(args) => {
            mutation::show(context, |client| client.templates().get(args.id.as_str())).await
        }
        Command::Update(args) => update::run(*args, context).await,
        Command::Publish(args) => {
            let unknown_outcome =
                format!("the template may have been published; check: {}", show_command(&args.id));
            let make = |client: &Client| client.templates().publish(args.id.as_str());
            mutation::by_id(&args.dry_run, &unknown_outcome, context, make).await
        }
        Command::Duplicate(args) => {
            let unknown_outcome = "the copy may have been created; check: idempost templates list --limit 1";
            let make = |client: &Client| client.templates().duplicate(args.id.as_str());
            mutation::by_id(&args.dry_run, unknown_outcome, context, make).await
        }
        Command::Delete(args) => {
            let unknown_outcome =
                format!("the template may have been deleted; check: {}", show_command(&args.id));
            let make = |client: &Client| client.templates().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &unknown_outcome, context, make).await
        }
    }
}

/// Publishes a stored template. If this fails, the template stays stored.
async fn publish_now(id: &str, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    match trace::execute(context, || client.templates().publish(id)).await {
        Ok(_) => {
            context.out.note("published");
            Ok(())
        }
        Err(error) => {
            context.out.warn(&format!(
                "the template is stored but not published; retry: idempost templates publish {id}"
            ));
            Err(error.into())
        }
    }
}

/// The command that shows one template, for hints.
fn show_command(id: &str) -> String {
    format!("idempost templates get {id}")
}
