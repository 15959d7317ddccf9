//! `config`: settings, their sources and the configuration file.

use clap::Subcommand;

use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::settings::file::ConfigFile;
use crate::settings::keys::{self, ConfigKey, KEYS};
use crate::settings::store;

mod edit;
mod list;
mod set;

/// Show and change settings
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    List(list::Args),
    Get(list::GetArgs),
    Set(set::SetArgs),
    Unset(set::UnsetArgs),
    /// Print the path of the configuration file
    #[command(after_help = "Example:\n  cat \"$(idempost config path)\"")]
    Path,
    Edit(edit::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(args) => list::run(&args, context),
        Command::Get(args) => list::get(&args, context),
        Command::Set(args) => set::set(&args, context),
        Command::Unset(args) => set::unset(&args, context),
        Command::Path => {
            let path = store::path(&context.env)?.display().to_string();
            context.out.result(std::slice::from_ref(&path), &serde_json::json!({ "path": path }))
        }
        Command::Edit(args) => edit::run(&args, context),
    }
}

/// Looks up a setting by name, including `default_profile`.
fn find(name: &str) -> Result<Option<&'static ConfigKey>, Fail> {
    if name == "default_profile" {
        return Ok(None);
    }
    keys::find(name).map(Some).ok_or_else(|| {
        let names = || KEYS.iter().map(|key| key.name).chain(["default_profile"]);
        let secret = ["api_key", "access_token"].contains(&name);
        let rule = if secret {
            format!(
                "`{name}` can't be set here: the configuration file contains no secrets, so that it can be shared"
            )
        } else {
            format!("unknown setting `{name}`; the settings are: {}", names().collect::<Vec<_>>().join(", "))
        };
        let hint = if secret {
            Some(
                "set IDEMPOST_API_KEY, or store the key in its own file: --api-key-file PATH".to_owned(),
            )
        } else {
            keys::suggestion_hint(name, names())
        };
        let origin = Origin::flag("KEY", name);
        vec![Diagnostic { hint, ..Diagnostic::new("unknown", rule, Some(origin)) }].into()
    })
}

/// The profile to change: from the flag, the environment or the file's default; `None` for `[defaults]`.
fn profile(context: &Context, file: Option<&ConfigFile>) -> Option<String> {
    let named =
        context.global.profile.clone().or_else(|| context.env.get("IDEMPOST_PROFILE").map(str::to_owned));
    named.or_else(|| Some(file?.default_profile()?.text))
}
