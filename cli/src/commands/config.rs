//! `config`: settings, their sources and the configuration file.

use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::rows::prelude::*;
use crate::settings::file::ConfigFile;
use crate::settings::keys::{self, ConfigKey, KEYS};
use crate::settings::profiles::DEFAULT;
use crate::settings::store;

mod edit;
mod list;
mod set;

noun!(Config, "Show and change settings", VERBS);

const VERBS: &[Verb] = &[
    Verb::custom("list", &Direct(list::run)),
    Verb::custom("get", &Direct(list::get)),
    Verb::custom("set", &Direct(set::set)),
    Verb::custom("unset", &Direct(set::unset)),
    Verb::custom("path", &Direct(path)),
    Verb::custom("edit", &Direct(edit::run)),
];

/// Print the path of the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cat \"$(idempost config path)\"")]
struct PathArgs {}

fn path(PathArgs {}: &PathArgs, context: &Context) -> Result<(), Fail> {
    let path = store::path(&context.env)?.display().to_string();
    context.out.result(std::slice::from_ref(&path), &serde_json::json!({ "path": path }))
}

/// The names of all settings.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name).chain(["default_profile"])
}

/// Looks up a setting by name, including `default_profile`.
fn find(name: &str) -> Result<Option<&'static ConfigKey>, Fail> {
    if name == "default_profile" {
        return Ok(None);
    }
    keys::find(name).map(Some).ok_or_else(|| {
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

/// The profile to change: from the flag, the environment or the file's default; `None` for `[defaults]`, unless `[profiles.default]` overrides the
/// setting there.
fn profile(key: &str, context: &Context, file: Option<&ConfigFile>) -> Option<String> {
    let named = context.global.profile.clone().or_else(|| context.env.lossy("IDEMPOST_PROFILE"));
    named.or_else(|| Some(file?.default_profile()?.text)).or_else(|| {
        let overriding = file?.get(Some(DEFAULT), key);
        overriding.map(|_| DEFAULT.to_owned())
    })
}
