//! `domains`: domains for sending and receiving.

mod claim;
mod create;
mod records;
mod setup;
mod update;
mod verify;

use idempost::Client;

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation::{self, document};
use crate::actions::pages::{self, Table};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::record;
use crate::output::table::{Column, Kind};

/// Manage domains and their DNS records
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(create::Args),
    /// List domains, newest first
    ///
    /// Without --limit, the service returns all of them. To see DNS records, use `domains get`.
    #[command(visible_alias = "ls")]
    #[command(
        after_help = "Columns: id, name, status, region, created_at, sending, receiving, open_tracking, click_tracking\n\n\
        Examples:\n  \
        idempost domains list\n  \
        idempost domains list --json --jq '.data[] | select(.status != \"verified\").name'"
    )]
    List(pages::CompleteArgs),
    /// Show one domain and its DNS records
    #[command(after_help = "Examples:\n  \
        idempost domains get d91cd9bd-1176-453e-8fc1-35364d380206\n  \
        idempost domains get d91cd9bd-1176-453e-8fc1-35364d380206 --jq .status")]
    Get(ById),
    Records(records::Args),
    Update(update::Args),
    Verify(verify::Args),
    #[command(subcommand)]
    Claim(claim::Command),
    /// Delete a domain
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost domains delete d91cd9bd-1176-453e-8fc1-35364d380206")]
    Delete(ChangeById),
}

/// Columns of a list of domains; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("region", "REGION", Kind::Text),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("sending", "SENDING", Kind::Text).at("/capabilities/sending"),
        Column::new("receiving", "RECEIVING", Kind::Text).at("/capabilities/receiving"),
        Column::new("open_tracking", "OPEN TRACKING", Kind::Text),
        Column::new("click_tracking", "CLICK TRACKING", Kind::Text),
    ],
    shown: 5,
    nothing: "no domains yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create::run(args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.domains().list()).await,
        Command::Get(args) => get(&args, context).await,
        Command::Records(args) => records::run(args, context).await,
        Command::Update(args) => update::run(args, context).await,
        Command::Verify(args) => verify::run(args, context).await,
        Command::Claim(command) => claim::run(command, context).await,
        Command::Delete(args) => {
            let unknown_outcome =
                format!("the domain may have been deleted; check: {}", show_command(&args.id));
            let make = |client: &Client| client.domains().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &unknown_outcome, context, make).await
        }
    }
}

async fn get(args: &ById, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    let domain = trace::execute(context, || client.domains().get(args.id.as_str())).await?;
    let document = document(&domain);
    let mut rest = document.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("records");
    }
    let mut lines = record::lines(&rest);
    let table = records::lines(&document);
    if !table.is_empty() {
        lines.push(String::new());
        lines.extend(table);
    }
    context.out.result(&lines, &document)
}

/// The command that shows one domain, for hints.
fn show_command(id: &str) -> String {
    format!("idempost domains get {id}")
}
