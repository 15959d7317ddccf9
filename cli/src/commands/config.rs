//! `config`: the settings, where they come from, and the file that holds them.

use clap::Subcommand;

use crate::context::Context;
use crate::diagnostics::{Fail, Found, Origin, Problem, Report};
use crate::settings::file::ConfigFile;
use crate::settings::keys::{self, ConfigKey, KEYS};
use crate::settings::store;

mod change;
mod edit;
mod list;

/// Look at the settings and change them
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    List(list::Args),
    Get(list::GetArgs),
    Set(change::SetArgs),
    Unset(change::UnsetArgs),
    /// Print the path of the configuration file
    #[command(after_help = "Example:\n  cat \"$(posthaste config path)\"")]
    Path,
    Edit(edit::Args),
}

/// Runs one of them.
pub(crate) fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::List(args) => list::run(&args, context),
        Command::Get(args) => list::get(&args, context),
        Command::Set(args) => change::set(&args, context),
        Command::Unset(args) => change::unset(&args, context),
        Command::Path => {
            let path = store::path(&context.env)?.display().to_string();
            context.out.result(std::slice::from_ref(&path), &serde_json::json!({ "path": path }))
        }
        Command::Edit(args) => edit::run(&args, context),
    }
}

/// The setting of that name, `default_profile` included.
fn known(name: &str) -> Result<Option<&'static ConfigKey>, Fail> {
    if name == "default_profile" {
        return Ok(None);
    }
    keys::find(name).map(Some).ok_or_else(|| {
        let names = || KEYS.iter().map(|key| key.name).chain(["default_profile"]);
        let secret = ["api_key", "access_token"].contains(&name);
        let rule = if secret {
            format!(
                "`{name}` is not kept here: the configuration file holds no secrets, so that it can be shared"
            )
        } else {
            format!("there is no setting `{name}`; there are: {}", names().collect::<Vec<_>>().join(", "))
        };
        let hint = if secret {
            Some(
                "set POSTHASTE_API_KEY, or keep the key in a file of its own: --api-key-file PATH".to_owned(),
            )
        } else {
            keys::nearest(name, names()).map(|meant| format!("did you mean `{meant}`?"))
        };
        let origin = Origin::Flag { name: "KEY".to_owned(), n: 1, value: name.to_owned(), span: None };
        let problem = Problem::new("", "unknown", rule);
        Fail::Usage(Report {
            found: vec![Found { problem, origin: Some(origin), hint }],
            ..Report::default()
        })
    })
}

/// The profile that a change is for: the flag, the environment, or the file's usual one; none is `[defaults]`.
fn profile(context: &Context, file: Option<&ConfigFile>) -> Option<String> {
    let named =
        context.global.profile.clone().or_else(|| context.env.get("POSTHASTE_PROFILE").map(str::to_owned));
    named.or_else(|| Some(file?.default_profile()?.text))
}
