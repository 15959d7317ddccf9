//! Arguments that are also flags, such as the name of a resource to create or rename.

use super::flags::{Flags, Required};

/// A name, as an argument or as `--name`.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct NameArg {
    /// Name of the resource
    #[arg(value_name = "NAME", add = Required)]
    name: Option<String>,
    /// Same as NAME
    #[arg(long = "name", id = "name_flag", value_name = "NAME", hide = true, conflicts_with = "name")]
    by_flag: Option<String>,
}

impl NameArg {
    /// The name, registered under the spelling that was used.
    pub(crate) fn read(self, flags: &mut Flags) -> Option<String> {
        let (label, name) = argument_or_flag(self.name, "NAME", self.by_flag, "--name");
        flags.field("/name", label, name.as_deref());
        name
    }
}

/// The value of an argument that is also a flag, and the spelling that was used. The parser rejects both together.
pub(crate) fn argument_or_flag(
    argument: Option<String>,
    argument_name: &'static str,
    flag: Option<String>,
    flag_name: &'static str,
) -> (&'static str, Option<String>) {
    if flag.is_some() { (flag_name, flag) } else { (argument_name, argument) }
}
