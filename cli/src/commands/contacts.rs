//! `contacts`: the recipients of broadcasts.

mod create;
mod export;
mod fields;
pub(crate) mod import;
mod imports;
mod membership;
mod table;
mod topics;
mod update;

pub(crate) use table::TABLE;

use idempost::Client;

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Manage contacts and their segment memberships
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(Box<create::Args>),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
    Update(Box<update::Args>),
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
    Segments(membership::ListArgs),
    AddToSegment(membership::ChangeArgs),
    RemoveFromSegment(membership::RemoveArgs),
    Topics(topics::ListArgs),
    UpdateTopics(topics::UpdateArgs),
    Import(Box<import::Args>),
    #[command(subcommand)]
    Imports(imports::Command),
    Export(export::Args),
}

/// List contacts, newest first
///
/// Without --limit, the service returns all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, email, first_name, last_name, unsubscribed, created_at\n\n\
    Examples:\n  \
    idempost contacts list --limit 10\n  \
    idempost contacts list --segment-id 78261eea-8f8b-4381-83c6-79fa7120f1cf --all --columns email")]
pub(crate) struct ListArgs {
    /// Only contacts in this segment
    #[arg(long, value_name = "ID")]
    segment_id: Option<String>,
    #[command(flatten)]
    part: pages::CompleteArgs,
}

/// Show one contact and its properties
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost contacts get ada@example.com\n  \
    idempost contacts get 479e3145-dd38-476b-932c-529ceb705947 --jq .properties.city.value")]
pub(crate) struct GetArgs {
    /// ID or email address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
}

/// Delete a contact, including its segment memberships and topic subscriptions
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost contacts delete ada@example.com")]
pub(crate) struct DeleteArgs {
    /// ID or email address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(*args, context).await,
        Command::List(ListArgs { segment_id, part }) => {
            pages::list(part, &table::TABLE, context, |client| match segment_id {
                Some(segment) => client.contacts().list().segment_id(segment),
                None => client.contacts().list(),
            })
            .await
        }
        Command::Get(args) => mutation::show(context, |client| client.contacts().get(&args.contact)).await,
        Command::Update(args) => update::run(*args, context).await,
        Command::Delete(args) => delete(args, context).await,
        Command::Segments(args) => membership::list(args, context).await,
        Command::AddToSegment(args) => membership::add(args, context).await,
        Command::RemoveFromSegment(args) => membership::remove(args, context).await,
        Command::Topics(args) => topics::list(args, context).await,
        Command::UpdateTopics(args) => topics::update(args, context).await,
        Command::Import(args) => import::run(*args, context).await,
        Command::Imports(command) => imports::run(command, context).await,
        Command::Export(args) => export::run(args, context).await,
    }
}

async fn delete(args: DeleteArgs, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome =
        format!("the contact may have been deleted; check: {}", show_command(&args.contact));
    let make = |client: &Client| client.contacts().delete(&args.contact);
    mutation::confirm_delete(dry_run.is_some(), context, &make).await?;
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.contact.as_str(), &response, context),
        None => Ok(()),
    }
}

/// The command that shows one contact, for hints.
fn show_command(contact: &str) -> String {
    format!("idempost contacts get {contact}")
}
