//! `contacts imports`: the imports that the service runs, started by `contacts import --server`.

use idempost::contact_imports::ContactImportStatus;

use crate::actions::mutation;
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};

/// Show the imports started by contacts import --server
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Get(GetArgs),
}

/// List contact imports, newest first
///
/// Without --limit, the service returns 10.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, status, total, created, updated, skipped, failed, created_at, completed_at\n\n\
    Example:\n  idempost contacts imports list --status in_progress"
)]
pub(crate) struct ListArgs {
    /// Only imports with this status: queued, in_progress, completed or failed
    #[arg(long, value_name = "STATUS", value_parser = Choices(ContactImportStatus::KNOWN), hide_possible_values = true)]
    status: Option<String>,
    #[command(flatten)]
    part: pages::Args,
}

/// Show one contact import and the number of rows by their effect
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost contacts imports get 479e3145-dd38-476b-932c-529ceb705947 --jq .counts.failed"
)]
pub(crate) struct GetArgs {
    /// ID of the import
    #[arg(value_name = "ID")]
    id: String,
}

/// Columns of the list; all but the last are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("status", "STATUS", Kind::State),
        Column::new("total", "ROWS", Kind::Text).at("/counts/total"),
        Column::new("created", "CREATED", Kind::Text).at("/counts/created"),
        Column::new("updated", "UPDATED", Kind::Text).at("/counts/updated"),
        Column::new("skipped", "SKIPPED", Kind::Text).at("/counts/skipped"),
        Column::new("failed", "FAILED", Kind::Text).at("/counts/failed"),
        Column::new("created_at", "STARTED", Kind::Time),
        Column::new("completed_at", "ENDED", Kind::Time),
    ],
    shown: 8,
    nothing: "no contact imports",
};

/// Runs the command.
pub(super) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(ListArgs { status, part }) => {
            let status = status.map(ContactImportStatus::from);
            let mut flags = Flags::default();
            if let Some(ContactImportStatus::Unknown(value)) = &status {
                let rule = "--status must be queued, in_progress, completed or failed";
                flags.wrong("type", rule, "--status", value.as_str());
            }
            flags.finish()?;
            pages::list(part, &TABLE, context, |client| match status {
                Some(status) => client.contact_imports().list().status(status),
                None => client.contact_imports().list(),
            })
            .await
        }
        Command::Get(args) => {
            mutation::show(context, |client| client.contact_imports().get(args.id.as_str())).await
        }
    }
}
