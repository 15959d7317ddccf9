//! `config set` and `config unset`: one value in the file; comments and order stay.

use super::{known, path, profile};
use crate::context::Context;
use crate::diagnostics::{Fail, Origin, Problem, Report};
use crate::settings::file::{self, ConfigFile};
use crate::settings::paths;

/// Write a setting to the configuration file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It is written to the profile in use (--profile NAME), which is made if there is none of that name, \
    or to [defaults].\n\nExamples:\n  posthaste --profile work config set base_url https://api.example.com\n  \
    posthaste config set default_profile work"
)]
pub(crate) struct SetArgs {
    /// The setting's name
    #[arg(value_name = "KEY")]
    key: String,
    /// Its value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

/// Remove a setting from the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  posthaste config unset retries")]
pub(crate) struct UnsetArgs {
    /// The setting's name
    #[arg(value_name = "KEY")]
    key: String,
}

/// Writes one setting.
pub(super) fn set(args: &SetArgs, context: &Context) -> Result<(), Fail> {
    let wrong = |name: &str, value: &str, rule: String| {
        let origin = Origin::Flag { name: name.to_owned(), n: 1, value: value.to_owned(), span: None };
        Fail::Usage(Report::one(Problem::new("", "setting", rule), Some(origin)))
    };
    if let Some(key) = known(&args.key)? {
        key.kind
            .check(&args.value)
            .map_err(|rule| wrong("VALUE", &args.value, format!("{} {rule}", args.key)))?;
    }
    let path = path(context)?;
    let file = ConfigFile::read(&path)?;
    let profile = profile(context, file.as_ref());
    if profile.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Err(wrong("--profile", "", "a profile has a name".to_owned()));
    }
    let text = file.as_ref().map(|file| file.text.as_ref()).unwrap_or_default();
    let text = file::with(text, profile.as_deref(), &args.key, &args.value)
        .map_err(|error| Fail::local("the configuration file cannot be changed", error))?;
    save(&path, &text)?;
    context.out.note(&format!("{} in {}", place(&args.key, profile.as_deref()), path.display()));
    Ok(())
}

/// Removes one setting.
pub(super) fn unset(args: &UnsetArgs, context: &Context) -> Result<(), Fail> {
    known(&args.key)?;
    let path = path(context)?;
    let file = ConfigFile::read(&path)?;
    let profile = profile(context, file.as_ref());
    let text = file.as_ref().map(|file| file.text.as_ref()).unwrap_or_default();
    let changed = file::without(text, profile.as_deref(), &args.key)
        .map_err(|error| Fail::local("the configuration file cannot be changed", error))?;
    let place = place(&args.key, profile.as_deref());
    match changed {
        Some(text) => save(&path, &text)?,
        None => context.out.note(&format!("{place} was not set in {}", path.display())),
    }
    Ok(())
}

fn place(key: &str, profile: Option<&str>) -> String {
    match profile {
        _ if key == "default_profile" => "default_profile".to_owned(),
        Some(name) => format!("profiles.{name}.{key}"),
        None => format!("defaults.{key}"),
    }
}

fn save(path: &std::path::Path, text: &str) -> Result<(), Fail> {
    paths::write_whole(path, text)
        .map_err(|error| Fail::local(format!("{} cannot be written", path.display()), error))
}
