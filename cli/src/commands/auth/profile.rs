//! What of a login stands in the configuration file, where people see it.

use std::path::PathBuf;

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::settings::file::{self, ConfigFile};
use crate::settings::paths;

/// What a login calls the profile of whoever names none.
pub(super) const USUAL: &str = "default";

/// The profile in use, if one is named.
pub(super) fn named(context: &Context) -> Result<Option<&str>, Fail> {
    Ok(context.settings()?.profile.as_ref().map(|profile| profile.value.as_str()))
}

/// The profile in use, as people read it.
pub(super) fn shown(context: &Context) -> Result<&str, Fail> {
    Ok(named(context)?.unwrap_or(USUAL))
}

/// Whether the configuration file has the profile in use.
pub(super) fn is_written(context: &Context) -> Result<bool, Fail> {
    let settings = context.settings()?;
    let Some(name) = named(context)? else { return Ok(true) };
    Ok(settings.file.as_ref().is_some_and(|file| file.profiles().contains(&name)))
}

/// Writes settings to this profile, or to `[defaults]`.
pub(super) fn write(
    profile: Option<&str>,
    values: &[(&str, &str)],
    context: &Context,
) -> Result<PathBuf, Fail> {
    let path = paths::config_file(&context.env).ok_or_else(|| Fail::Local {
        message: "there is no home folder to keep the configuration in".to_owned(),
        source: None,
        hint: Some("set POSTHASTE_CONFIG_DIR".to_owned()),
    })?;
    // Read anew: a person may have taken minutes in the browser.
    let file = ConfigFile::read(&path)?;
    let mut text = file.map(|file| file.text.to_string()).unwrap_or_default();
    for (key, value) in values {
        text = file::with(&text, profile, key, value)
            .map_err(|error| Fail::local("the configuration file cannot be changed", error))?;
    }
    paths::write_whole(&path, &text)
        .map_err(|error| Fail::local(format!("{} cannot be written", path.display()), error))?;
    Ok(path)
}
