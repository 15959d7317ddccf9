//! `auth rename`: a profile's settings and credentials under another name.

use serde_json::json;

use super::{of_store, profile};
use crate::context::Context;
use crate::credentials::Credentials;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::settings::file;
use crate::settings::profiles::{self, DEFAULT};
use crate::settings::store::ConfigStore;
use crate::signals;

/// Rename a profile, with its settings and its credentials
///
/// The default profile stays the default under its new name. No other profile is replaced, and the service isn't involved.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  posthaste auth rename work acme\n  posthaste auth rename default personal"
)]
pub(crate) struct Args {
    /// Name of the profile
    #[arg(value_name = "OLD")]
    old: String,
    /// Its new name
    #[arg(value_name = "NEW")]
    new: String,
}

/// Renames it.
pub(super) async fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let Args { old, new } = args;
    let mut flags = Flags::default();
    if new.trim().is_empty() {
        flags.wrong("empty", "a profile has a name", "NEW", new);
    }
    // Held to the end: no other rename begins, and no login configures the new name.
    let config = ConfigStore::lock(&context.env)?;
    let profiles = profiles::existing(config.read()?.as_ref(), &context.env);
    if profiles.contains(new) {
        flags.wrong("exclusive", format!("there is a profile `{new}` already"), "NEW", new);
    }
    flags.finish()?;
    if !profiles.contains(old) {
        return Err(profile::unknown(old, &profiles));
    }
    let of = |name: &str| Credentials::of(&context.env, Some(name)).map_err(|error| of_store(&error));
    let (from, to) = (of(old)?, of(new)?);
    let (held, names) = (signals::hold(), (old.clone(), new.clone()));
    // A signal that ends the command waits for the end, so that no credentials stay in two places.
    let moving = tokio::spawn(async move {
        let _held = held;
        moved(&config, &from, &to, &names.0, &names.1).await
    });
    moving.await.map_err(|error| Fail::local("the profile was not renamed", error))??;
    context.out.note(&format!("profile `{old}` is now `{new}`"));
    context.out.result(std::slice::from_ref(new), &json!({ "profile": new, "renamed_from": old }))
}

/// Copies first and removes last, so that an error on the way leaves the profile as it was.
async fn moved(
    config: &ConfigStore,
    from: &Credentials,
    to: &Credentials,
    old: &str,
    new: &str,
) -> Result<(), Fail> {
    let default = config.read()?.and_then(|file| file.default_profile());
    let is_default = default.map_or(old == DEFAULT, |entry| entry.text == old);
    let copied = from.copy_to(to).await.map_err(|error| of_store(&error))?;
    let configured = config.update(|text| {
        let mut renamed = file::renamed(text, old, new)?;
        // Without this, a command that names no profile would go on with `default`.
        if is_default {
            renamed = file::with(&renamed, None, "default_profile", new)?;
        }
        Ok((renamed != text).then_some(renamed))
    });
    match (configured, copied) {
        (Ok(_), Some(original)) => original.remove().await.map_err(|error| of_store(&error)),
        (Ok(_), None) => Ok(()),
        (Err(fail), None) => Err(fail),
        (Err(fail), Some(_original)) => {
            to.remove().await.map_err(|error| of_store(&error))?;
            Err(fail)
        }
    }
}
