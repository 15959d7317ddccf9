//! `audiences`: the former name of segments.

use super::segments;
use crate::actions::pages;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Deprecated: the former name of segments
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Deprecated: list segments under their former name; use `segments list`
    ///
    /// Shows the same records. The service will remove this operation.
    #[command(visible_alias = "ls")]
    #[command(after_help = "Columns: id, name, created_at\n\nInstead:\n  idempost segments list")]
    List(pages::CompleteArgs),
}

/// Runs the command, with a warning.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    let Command::List(args) = command;
    context.out.warn(
        "`audiences list` is deprecated: audiences are now called segments; use `idempost segments list`",
    );
    #[expect(deprecated, reason = "the deprecated command shows the deprecated operation's response")]
    pages::list(args, &segments::TABLE, context, |client| client.audiences().list()).await
}
