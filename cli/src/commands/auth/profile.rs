//! The settings of a login in the configuration file.

use std::path::PathBuf;

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::settings::store::ConfigStore;
use crate::settings::{file, keys};

/// Whether the configuration file contains the active profile.
pub(super) fn is_written(context: &Context) -> Result<bool, Fail> {
    let settings = context.settings()?;
    let Some(name) = settings.selected_profile() else { return Ok(true) };
    Ok(settings.file.as_ref().is_some_and(|file| file.profiles().contains(&name)))
}

/// Writes settings to this profile or `[defaults]`, and removes others.
pub(super) fn write(
    profile: Option<&str>,
    removed: &[&str],
    values: &[(&str, &str)],
    context: &Context,
) -> Result<PathBuf, Fail> {
    // Read again: the login may have taken minutes in the browser.
    let store = ConfigStore::lock(&context.env)?;
    for name in removed {
        store.update(|text| file::without_setting(text, profile, name))?;
    }
    store.set(profile, values)?;
    Ok(store.path.clone())
}

/// The error for a profile name that doesn't exist.
pub(super) fn unknown_profile(name: &str, profiles: &[String]) -> Fail {
    let hint = match keys::most_similar(name, profiles.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if profiles.is_empty() => {
            "create one: idempost --profile NAME --base-url https://… auth login".to_owned()
        }
        None => format!("existing profiles: {}", profiles.join(", ")),
    };
    Fail::not_found(format!("there is no profile `{name}`")).hint(hint)
}
