//! `auth grants`: the programs that an account has let in, seen from the service.

use posthaste::Client;

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};

/// Look at the programs that were given access, and take it back
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// List the grants of access, newest first; revoked ones stay in the list
///
/// Without --limit, the service shows all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, client, scopes, revoked_at, created_at\n\n\
    Example:\n  posthaste auth grants list --jq '.data[] | select(.revoked_at == null).client.name'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: pages::Args,
}

/// Take access back: the program is refused from then on, with all its tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste auth grants revoke 650e8400-e29b-41d4-a716-446655440001")]
pub(crate) struct RevokeArgs {
    /// Id of the grant
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("client", "PROGRAM", Kind::Shrinks).at("/client/name"),
        Column::new("scopes", "SCOPES", Kind::Text),
        Column::new("revoked_at", "REVOKED", Kind::Time),
        Column::new("created_at", "GIVEN", Kind::Time),
    ],
    shown: 5,
    nothing: "no program was given access yet",
};

/// Runs one of them.
pub(super) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(args) => {
            pages::list(args.part, &TABLE, context, |client| client.oauth_grants().list()).await
        }
        Command::Revoke(args) => {
            let mut flags = crate::input::flags::Flags::default();
            let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
            flags.finish()?;
            let doubt = "the access may be revoked; look: posthaste auth grants list";
            let question = format!("revoke grant {}? The program loses its access", args.id);
            mutation::confirm(dry_run.is_some(), &question, context).await?;
            let make = |client: &Client| client.oauth_grants().revoke(args.id.as_str());
            match mutation::carry_out(dry_run, doubt, context, make).await? {
                Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
                None => Ok(()),
            }
        }
    }
}
