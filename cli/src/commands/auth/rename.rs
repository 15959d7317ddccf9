//! `auth rename`: moves a profile's settings and credentials to another name.

use serde_json::json;

use super::profile;
use crate::commands::received::watch::cursor;
use crate::context::Context;
use crate::credentials::Credentials;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::settings::file;
use crate::settings::profiles::{self, DEFAULT};
use crate::settings::store::ConfigStore;
use crate::signals;

/// Rename a profile with its settings, credentials and `received watch` positions
///
/// If it is the default profile, it stays the default. Never overwrites another profile; nothing is sent to the service.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost auth rename work acme\n  idempost auth rename default personal"
)]
pub(crate) struct Args {
    /// Current name of the profile
    #[arg(value_name = "OLD")]
    old: String,
    /// New name of the profile
    #[arg(value_name = "NEW")]
    new: String,
}

/// Renames the profile.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { old, new } = &args;
    let mut flags = Flags::default();
    if new.trim().is_empty() {
        flags.reject("empty", "a profile name must not be empty", "NEW", new);
    }
    // Locked until the end: no other rename can start, and no login can configure the new name.
    let config = ConfigStore::lock(&context.env)?;
    let profiles = profiles::names(config.read()?.as_ref(), &context.env);
    if profiles.contains(new) {
        flags.reject("exclusive", format!("profile `{new}` already exists"), "NEW", new);
    }
    flags.finish()?;
    if !profiles.contains(old) {
        return Err(profile::unknown_profile(old, &profiles));
    }
    let of = |name: &str| Credentials::new(&context.env, Some(name));
    let (from, to) = (of(old)?, of(new)?);
    let (held, names) = (signals::hold(), (old.clone(), new.clone()));
    // Signals wait until the move is complete, so that credentials never stay in two places.
    let moving = tokio::spawn(async move {
        let _held = held;
        move_profile(&config, &from, &to, &names.0, &names.1).await
    });
    moving.await.map_err(|error| Fail::local("the profile couldn't be renamed", error))??;
    context.out.note(&format!("profile `{old}` is now `{new}`"));
    cursor::rename_profile(old, new, &context.env)?;
    context.out.result(std::slice::from_ref(new), &json!({ "profile": new, "renamed_from": old }))
}

/// Copies first and removes last, so that a failure in between leaves the profile unchanged.
async fn move_profile(
    config: &ConfigStore,
    from: &Credentials,
    to: &Credentials,
    old: &str,
    new: &str,
) -> Result<(), Fail> {
    let default = config.read()?.and_then(|file| file.default_profile());
    let is_default = default.map_or(old == DEFAULT, |entry| entry.text == old);
    let copied = from.copy_to(to).await?;
    let configured = config.update(|text| {
        let mut renamed = file::rename_profile(text, old, new)?;
        // Otherwise commands without a profile would fall back to `default`.
        if is_default {
            renamed = file::with_setting(&renamed, None, "default_profile", new)?;
        }
        Ok((renamed != text).then_some(renamed))
    });
    match (configured, copied) {
        (Ok(_), copied) => {
            if let Some(original) = copied {
                original.remove().await?;
            }
            Ok(from.move_unfinished(to)?)
        }
        (Err(fail), None) => Err(fail),
        (Err(fail), Some(_original)) => {
            to.remove().await?;
            Err(fail)
        }
    }
}
