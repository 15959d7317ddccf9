//! `auth use`: the profile of whoever names none.

use serde_json::json;

use super::{of_store, profile};
use crate::context::Context;
use crate::credentials::Credentials;
use crate::diagnostics::Fail;
use crate::settings::keys;

/// Use this profile from now on, where no other is named
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste auth use work")]
pub(crate) struct Args {
    /// The profile's name
    #[arg(value_name = "PROFILE")]
    name: String,
}

/// Writes it down.
pub(super) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let settings = context.settings()?;
    let profiles: Vec<&str> = settings.file.as_ref().map(|file| file.profiles()).unwrap_or_default();
    if !profiles.contains(&args.name.as_str()) {
        let hint = match keys::nearest(&args.name, profiles.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if profiles.is_empty() => {
                "make one: posthaste --profile NAME --base-url https://… auth login".to_owned()
            }
            None => format!("there are: {}", profiles.join(", ")),
        };
        return Err(Fail::NotFound {
            message: format!("there is no profile `{}`", args.name),
            hint: Some(hint),
        });
    }
    profile::write(None, &[("default_profile", &args.name)], context)?;
    let is_kept = Credentials::of(&context.env, Some(&args.name)).and_then(|kept| kept.overview());
    if is_kept.map_err(|error| of_store(&error))?.is_none() {
        context.out.note(&format!("not logged in with it: posthaste --profile {} auth login", args.name));
    }
    context.out.result(std::slice::from_ref(&args.name), &json!({ "profile": args.name }))
}
