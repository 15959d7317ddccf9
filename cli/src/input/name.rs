//! The name of a resource to create or rename.

use super::flags::{Flags, Required};

/// A name, as an argument or as `--name`.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct NameArg {
    /// Name
    #[arg(value_name = "NAME", add = Required)]
    name: Option<String>,
    /// Same as NAME
    #[arg(long = "name", id = "name_flag", value_name = "NAME", hide = true, conflicts_with = "name")]
    by_flag: Option<String>,
}

impl NameArg {
    /// The name, registered under the spelling that was used.
    pub(crate) fn read(self, flags: &mut Flags) -> Option<String> {
        let label = if self.by_flag.is_some() { "--name" } else { "NAME" };
        let name = self.name.or(self.by_flag);
        flags.field("/name", label, name.as_deref());
        name
    }
}
