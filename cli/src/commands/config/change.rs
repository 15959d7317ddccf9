//! `config set` and `config unset`: one value in the file; comments and order stay.

use super::{known, profile};
use crate::context::Context;
use crate::diagnostics::{Fail, Origin, Problem, Report};
use crate::settings::file;
use crate::settings::store::ConfigStore;

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
    let store = ConfigStore::lock(&context.env)?;
    let profile = profile(context, store.read()?.as_ref());
    if profile.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Err(wrong("--profile", "", "a profile has a name".to_owned()));
    }
    store.set(profile.as_deref(), &[(&args.key, &args.value)])?;
    context.out.note(&format!("{} in {}", place(&args.key, profile.as_deref()), store.path().display()));
    Ok(())
}

/// Removes one setting.
pub(super) fn unset(args: &UnsetArgs, context: &Context) -> Result<(), Fail> {
    known(&args.key)?;
    let store = ConfigStore::lock(&context.env)?;
    let profile = profile(context, store.read()?.as_ref());
    if !store.update(|text| file::without(text, profile.as_deref(), &args.key))? {
        let place = place(&args.key, profile.as_deref());
        context.out.note(&format!("{place} was not set in {}", store.path().display()));
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
