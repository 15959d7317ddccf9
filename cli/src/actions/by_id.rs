//! Arguments of commands about one thing with an ID. What each command does, and its examples, stand at its variant: a doc comment here would
//! take their place.

use super::mutation::DryRunFlag;

// Commands that show.
#[derive(Debug, clap::Args)]
pub(crate) struct ById {
    /// Its ID
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

// Commands that change or delete.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeById {
    /// Its ID
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,
}
