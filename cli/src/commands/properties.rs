//! `properties`: custom contact fields.

mod create;
mod fallback;
mod update;

use idempost::Client;

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation::{self, document};
use crate::actions::pages::{self, Table};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::record;
use crate::output::table::{Column, Kind};

/// Manage contact properties, the custom fields of contacts
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(create::Args),
    /// List contact properties, newest first
    #[command(visible_alias = "ls")]
    #[command(after_help = "Columns: id, key, type, fallback_value, created_at\n\n\
        Examples:\n  \
        idempost properties list\n  \
        idempost properties list --all --jq '.data[].key'")]
    List(pages::Args),
    /// Show one contact property
    #[command(after_help = "Example:\n  idempost properties get 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60")]
    Get(ById),
    Update(update::Args),
    /// Delete a contact property and its values on all contacts
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost properties delete 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60")]
    Delete(ChangeById),
}

/// Columns of a list of contact properties; all are shown.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("key", "KEY", Kind::Shrinks),
        Column::new("type", "TYPE", Kind::Text),
        Column::new("fallback_value", "FALLBACK", Kind::Shrinks),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no contact properties yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(args, context).await,
        Command::List(args) => {
            pages::list(args, &TABLE, context, |client| client.contact_properties().list()).await
        }
        Command::Get(args) => {
            let client = context.client()?;
            let property =
                trace::execute(context, || client.contact_properties().get(args.id.as_str())).await?;
            let document = document(&property);
            context.out.result(&record::lines(&document), &document)
        }
        Command::Update(args) => update::run(args, context).await,
        Command::Delete(args) => {
            let unknown_outcome =
                format!("the property may have been deleted; check: {}", show_command(&args.id));
            let make = |client: &Client| client.contact_properties().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &unknown_outcome, context, make).await
        }
    }
}

/// The command that shows one property, for hints.
fn show_command(id: &str) -> String {
    format!("idempost properties get {id}")
}
