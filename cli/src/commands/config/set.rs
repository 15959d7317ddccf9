//! `config set` and `config unset`: change one value in the file, preserving comments and order.

use super::{find, profile};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::settings::file;
use crate::settings::keys::Kind;
use crate::settings::merge::{Flags, Layers};
use crate::settings::secrets::mask_user_info;
use crate::settings::store::ConfigStore;

/// Set a value in the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "Writes to the active profile (--profile NAME), creating it if needed, \
    or to [defaults].\n\nExamples:\n  idempost --profile work config set base_url https://api.example.com\n  \
    idempost config set default_profile work")]
pub(crate) struct SetArgs {
    /// Name of the setting
    #[arg(value_name = "KEY")]
    key: String,
    /// New value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

/// Remove a value from the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost config unset retries")]
pub(crate) struct UnsetArgs {
    /// Name of the setting
    #[arg(value_name = "KEY")]
    key: String,
}

/// Sets one value.
pub(super) fn set(args: &SetArgs, context: &Context) -> Result<(), Fail> {
    let wrong = |name: &str, value: &str, rule: String| {
        Fail::usage("setting", rule, Some(Origin::flag(name, mask_user_info(value))))
    };
    let mut value = args.value.clone();
    if let Some(key) = find(&args.key)? {
        key.kind.check(&value).map_err(|rule| wrong("VALUE", &value, format!("{} {rule}", args.key)))?;
        if matches!(key.kind, Kind::Path) {
            // On the command line, a path is relative to the current folder.
            let path = std::path::absolute(&value)
                .map_err(|error| Fail::local("couldn't read the current folder", error))?;
            value = path.to_string_lossy().into_owned();
        }
    }
    let store = ConfigStore::lock(&context.env)?;
    let file = store.read()?;
    if args.key == "default_profile" {
        let flags = Flags { profile: Some(args.value.clone()), ..Flags::default() };
        if let Some(missing) = Layers::new(&flags, &context.env, file.clone()).missing_profile() {
            let origin = Some(Origin::flag("VALUE", &args.value));
            return Err(vec![Diagnostic { origin, ..missing }].into());
        }
    }
    let profile = profile(&args.key, context, file.as_ref());
    if profile.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Err(wrong("--profile", "", "a profile name must not be empty".to_owned()));
    }
    store.set(profile.as_deref(), &[(&args.key, &value)])?;
    context.out.note(&format!(
        "set {} in {}",
        setting_path(&args.key, profile.as_deref()),
        store.path.display()
    ));
    Ok(())
}

/// Removes one value.
pub(super) fn unset(args: &UnsetArgs, context: &Context) -> Result<(), Fail> {
    find(&args.key)?;
    let store = ConfigStore::lock(&context.env)?;
    let profile = profile(&args.key, context, store.read()?.as_ref());
    if !store.update(|text| file::without_setting(text, profile.as_deref(), &args.key))? {
        let place = setting_path(&args.key, profile.as_deref());
        context.out.note(&format!("{place} wasn't set in {}", store.path.display()));
    }
    Ok(())
}

fn setting_path(key: &str, profile: Option<&str>) -> String {
    match profile {
        _ if key == "default_profile" => "default_profile".to_owned(),
        Some(name) => format!("profiles.{name}.{key}"),
        None => format!("defaults.{key}"),
    }
}
