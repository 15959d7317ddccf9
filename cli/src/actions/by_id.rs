//! Arguments of commands that take an ID. Their descriptions and examples are at each command's variant: a doc comment here would replace
//! them.

use super::mutation::DryRunFlag;

// For commands that read.
#[derive(Debug, clap::Args)]
pub(crate) struct ById {
    /// ID of the resource
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

// For commands that change or delete.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeById {
    /// ID of the resource
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) dry_run: DryRunFlag,
}
