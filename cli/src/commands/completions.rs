//! `completions`: what a shell needs to know to complete this program's command lines.

use clap_complete::Shell;

use crate::context::Context;
use crate::diagnostics::Fail;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste completions bash > ~/.local/share/bash-completion/completions/posthaste\n  \
    posthaste completions zsh > ~/.zfunc/_posthaste\n  \
    posthaste completions fish > ~/.config/fish/completions/posthaste.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = clap::builder::EnumValueParser::<Shell>::new())]
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(args: &Args, mut root: clap::Command, context: &Context) -> Result<(), Fail> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut root, "posthaste", &mut script);
    context.out.bytes(&script)
}
