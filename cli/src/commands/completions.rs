//! `completions`: shell scripts that ask this program for completions.

pub(crate) mod answer;
pub(crate) mod cache;

use std::path::PathBuf;

use clap_complete::env::Shells;

use super::man::print_installed;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files;
use crate::settings::env::Env;
use crate::settings::paths;

/// The variable that a script sets to request completions.
pub(crate) const VARIABLE: &str = "IDEMPOST_COMPLETE";

/// Zsh loads the script on the first completion and runs it as the completion function; without this line the first Tab would complete nothing.
const FIRST_CALL: &[u8] = b"[[ $funcstack[1] != _idempost ]] || _clap_dynamic_completer_idempost \"$@\"\n";

/// Print or install shell completions
///
/// Completes commands, flags, their values, profiles and IDs. For IDs, Tab sends a request to the service, with the credential that the command line selects,
/// at most a second long; they are cached for a minute, and until the next logout. `idempost config set complete_ids false` turns this off. IDs that a
/// shell would interpret aren't offered.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost completions bash --install\n  \
    idempost completions zsh > ~/.zfunc/_idempost\n  \
    idempost completions powershell >> $PROFILE")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
    /// Install into the user's completions folder: bash, zsh or fish
    #[arg(long)]
    install: bool,
}

/// Prints or installs the script.
pub(crate) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let name = "idempost";
    let written = shells
        .completer(&args.shell)
        .ok_or_else(|| std::io::Error::other("unknown shell"))
        .and_then(|shell| shell.write_registration(VARIABLE, name, name, name, &mut script));
    written.map_err(|error| Fail::local("couldn't write the completions", error))?;
    if args.shell == "zsh" {
        script.extend_from_slice(FIRST_CALL);
    }
    if !args.install {
        return context.out.bytes(&script);
    }
    let path = completion_folder(&args.shell, &context.env)?;
    files::write(&path, &script)
        .map_err(|error| Fail::local(format!("couldn't write {}", path.display()), error))?;
    print_installed(&path, context)?;
    if args.shell == "zsh" {
        let folder = files::folder(&path).display();
        context.out.note(&format!("add to ~/.zshrc, before compinit: fpath=({folder} $fpath)"));
    }
    Ok(())
}

/// The folder from which the shell loads a user's completions.
fn completion_folder(shell: &str, env: &Env) -> Result<PathBuf, Fail> {
    let (base, file) = match shell {
        "bash" => (paths::data_home(env)?, "bash-completion/completions/idempost"),
        "zsh" => (paths::data_home(env)?, "zsh/site-functions/_idempost"),
        "fish" => (paths::config_home(env)?, "fish/completions/idempost.fish"),
        other => {
            return Err(Fail::error(format!("{other} has no completions folder")).hint(format!(
                "print them and load them from the shell's profile: idempost completions {other}"
            )));
        }
    };
    Ok(base.join(file))
}
