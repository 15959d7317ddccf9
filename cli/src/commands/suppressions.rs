//! `suppressions`: addresses that the service sends no emails to.

mod add;
mod check;
mod export;
mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod import;
mod remove;

use idempost::suppressions::SuppressionOrigin;

use crate::actions::mutation;
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::table::{Column, Kind};

/// Maximum number of addresses in one request.
const BATCH: usize = idempost::problem::limits::SUPPRESSIONS_PER_BATCH;
/// The origins of entries.
const ORIGINS: Choices = Choices(&["bounce", "complaint", "manual"]);

/// Manage the suppression list: addresses that receive no emails
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Add(add::Args),
    Get(GetArgs),
    #[command(visible_alias = "rm")]
    Remove(remove::Args),
    Check(check::Args),
    Import(import::Args),
    Export(export::Args),
}

/// List the suppression list, newest first
///
/// Permanent bounces and spam complaints add addresses by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: email, origin, created_at, source_id, id\n\n\
    Examples:\n  \
    idempost suppressions list --origin bounce\n  \
    idempost suppressions list --all --columns email")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    origin: OriginArg,
    #[command(flatten)]
    part: pages::Args,
}

// The filter of `list` and `export`; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct OriginArg {
    /// Only addresses added by this: bounce, complaint or manual
    #[arg(long, value_name = "ORIGIN", value_parser = ORIGINS, hide_possible_values = true)]
    origin: Option<String>,
}

impl OriginArg {
    /// Validates the flag.
    fn plan(&self) -> Result<Option<SuppressionOrigin>, Fail> {
        let origin = self.origin.as_deref().map(SuppressionOrigin::from);
        let mut flags = Flags::default();
        if let Some(SuppressionOrigin::Unknown(value)) = &origin {
            flags.wrong("type", "--origin must be bounce, complaint or manual", "--origin", value.as_str());
        }
        flags.finish()?;
        Ok(origin)
    }
}

/// Show one entry of the suppression list
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost suppressions get ada@example.com\n  \
    idempost suppressions get 520784e2-887d-4c25-b53c-4ad46ad38100 --jq .origin")]
pub(crate) struct GetArgs {
    /// ID of the entry, or its address
    #[arg(value_name = "ID|EMAIL")]
    entry: String,
}

/// Columns of the list; the first three are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("email", "EMAIL", Kind::Shrinks),
        Column::new("origin", "ORIGIN", Kind::Text),
        Column::new("created_at", "ADDED", Kind::Time),
        Column::new("source_id", "SOURCE", Kind::Id),
        Column::new("id", "ID", Kind::Id),
    ],
    shown: 3,
    nothing: "no suppressed addresses",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(ListArgs { origin, part }) => {
            let origin = origin.plan()?;
            pages::list(part, &TABLE, context, |client| match origin {
                Some(origin) => client.suppressions().list().origin(origin),
                None => client.suppressions().list(),
            })
            .await
        }
        Command::Add(args) => add::run(args, context).await,
        Command::Get(args) => {
            mutation::show(context, |client| client.suppressions().get(args.entry.as_str())).await
        }
        Command::Remove(args) => remove::run(args, context).await,
        Command::Check(args) => check::run(args, context).await,
        Command::Import(args) => import::run(args, context).await,
        Command::Export(args) => export::run(args, context).await,
    }
}

/// Reports more entries than a request may have.
fn check_count(given: &[String], flag: &str, hint: &str, flags: &mut Flags) {
    if given.len() > BATCH {
        let rule = format!("at most {BATCH} entries, found {}{hint}", given.len());
        flags.wrong_nth("count", rule, flag, BATCH + 1, &given[BATCH]);
    }
}
