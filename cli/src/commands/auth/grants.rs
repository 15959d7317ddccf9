//! `auth grants`: the applications authorized for the account.

use idempost::Client;

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Manage OAuth grants: the applications authorized for this account
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// List OAuth grants, newest first, including revoked ones
///
/// Without --limit, the service returns all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, client, scopes, revoked_at, created_at\n\n\
    Example:\n  idempost auth grants list --jq '.data[] | select(.revoked_at == null).client.name'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: pages::CompleteArgs,
}

/// Revoke an OAuth grant; all its tokens become invalid
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost auth grants revoke 650e8400-e29b-41d4-a716-446655440001")]
pub(crate) struct RevokeArgs {
    /// ID of the grant
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("client", "APPLICATION", Kind::Shrinks).pointer("/client/name"),
        Column::new("scopes", "SCOPES", Kind::Text),
        Column::new("revoked_at", "REVOKED", Kind::Time),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no OAuth grants yet",
};

pub(super) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(args) => {
            pages::list(args.part, &TABLE, context, |client| client.oauth_grants().list()).await
        }
        Command::Revoke(args) => {
            let mut flags = crate::input::flags::Flags::default();
            let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
            flags.finish()?;
            let unknown_outcome = "the grant may have been revoked; check: idempost auth grants list";
            let question = format!("Revoke grant {}? The application will lose access", args.id);
            mutation::confirm(dry_run.is_some(), &question, context).await?;
            let make = |client: &Client| client.oauth_grants().revoke(args.id.as_str());
            match mutation::execute(dry_run, unknown_outcome, context, make).await? {
                Some(response) => mutation::print(response.value.id.as_str(), &response, context),
                None => Ok(()),
            }
        }
    }
}
