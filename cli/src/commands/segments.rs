//! `segments`: groups of contacts.

mod metrics;

use idempost::{Call, Client};
use serde::de::DeserializeOwned;

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::input::name::NameArg;
use crate::output::table::{Column, Kind};

/// Manage segments, the groups of contacts that receive broadcasts
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(CreateArgs),
    /// List segments, newest first
    ///
    /// Without --limit, the service returns all of them.
    #[command(visible_alias = "ls")]
    #[command(
        after_help = "Columns: id, name, created_at\n\nExample:\n  idempost segments list --columns id,name"
    )]
    List(pages::CompleteArgs),
    /// Show one segment
    #[command(after_help = "Example:\n  idempost segments get 78261eea-8f8b-4381-83c6-79fa7120f1cf")]
    Get(ById),
    #[command(visible_alias = "update")]
    Rename(RenameArgs),
    /// Delete a segment; its contacts aren't deleted
    ///
    /// The service returns the same response for a segment that doesn't exist.
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost segments delete 78261eea-8f8b-4381-83c6-79fa7120f1cf")]
    Delete(ChangeById),
    Contacts(ContactsArgs),
    Metrics(metrics::Args),
}

/// Create an empty segment and print its ID
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.help("Name of the segment")), after_help = "Example:\n  idempost segments create 'Readers of the weekly'")]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    name: NameArg,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Rename a segment
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost segments rename 78261eea-8f8b-4381-83c6-79fa7120f1cf 'Readers of the monthly'"
)]
pub(crate) struct RenameArgs {
    /// ID of the segment
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    name: NameArg,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// List the contacts in a segment, newest first
///
/// Without --limit, the service returns all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, email, first_name, last_name, unsubscribed, created_at\n\n\
    Example:\n  idempost segments contacts 78261eea-8f8b-4381-83c6-79fa7120f1cf --limit 10")]
pub(crate) struct ContactsArgs {
    /// ID of the segment
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    part: pages::CompleteArgs,
}

/// Columns of a list of segments.
pub(crate) const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 3,
    nothing: "no segments",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    match command {
        Command::Create(CreateArgs { name, dry_run }) => {
            let name = name.read(&mut flags).unwrap_or_default();
            let unknown_outcome =
                "the segment may have been created; check: idempost segments list --limit 1";
            let make = |client: &Client| client.segments().create(&name);
            change(flags, &dry_run, unknown_outcome, context, make, |made| made.id.to_string()).await
        }
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.segments().list()).await,
        Command::Get(args) => mutation::show(context, |client| client.segments().get(args.id.as_str())).await,
        Command::Rename(RenameArgs { id, name, dry_run }) => {
            let name = name.read(&mut flags).unwrap_or_default();
            let unknown_outcome =
                format!("the segment may have been renamed; check: idempost segments get {id}");
            let make = |client: &Client| client.segments().rename(id.as_str(), &name);
            change(flags, &dry_run, &unknown_outcome, context, make, |made| made.id.to_string()).await
        }
        Command::Delete(ChangeById { id, dry_run }) => {
            let unknown_outcome =
                format!("the segment may have been deleted; check: idempost segments get {id}");
            let make = |client: &Client| client.segments().delete(id.as_str());
            mutation::delete(&dry_run, &unknown_outcome, context, make).await
        }
        Command::Metrics(args) => metrics::run(args, context).await,
        Command::Contacts(ContactsArgs { id, part }) => {
            let table = &super::contacts::table::TABLE;
            pages::list(part, table, context, |client| client.segments().contacts(id.as_str())).await
        }
    }
}

/// Executes a change of a name and prints the ID in the response.
async fn change<T: DeserializeOwned + Send + 'static>(
    mut flags: Flags,
    dry_run: &DryRunFlag,
    unknown_outcome: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
    id: impl Fn(&T) -> String,
) -> Result<(), Fail> {
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    if let Err(idempost::Error::Invalid(problems)) = make(&context.client_for_preview()?).preview() {
        flags.add_problems(Err(problems));
    }
    flags.finish()?;
    match mutation::execute(dry_run, unknown_outcome, context, make).await? {
        Some(response) => mutation::print(&id(&response.value), &response, context),
        None => Ok(()),
    }
}
