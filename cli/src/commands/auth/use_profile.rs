//! `auth use`: sets the default profile.

use serde_json::json;

use super::profile;
use crate::actions::repeat::quote_argument;
use crate::context::Context;
use crate::credentials::Credentials;
use crate::diagnostics::Fail;
use crate::settings::profiles::{self, DEFAULT};
use crate::settings::store::ConfigStore;

/// Set the default profile
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost auth use work")]
pub(crate) struct Args {
    /// Name of the profile
    #[arg(value_name = "PROFILE")]
    name: String,
}

/// Writes it to the configuration file.
pub(super) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    // Without the settings, which are invalid if the default profile no longer exists.
    let config = ConfigStore::lock(&context.env)?;
    let profiles = profiles::names(config.read()?.as_ref(), &context.env);
    if args.name != DEFAULT && !profiles.contains(&args.name) {
        return Err(profile::unknown_profile(&args.name, &profiles));
    }
    config.set(None, &[("default_profile", &args.name)])?;
    let is_stored =
        Credentials::new(&context.env, Some(&args.name)).and_then(|credentials| credentials.overview());
    if is_stored?.is_none() {
        let named = quote_argument(&args.name);
        context.out.note(&format!("this profile isn't logged in: idempost --profile {named} auth login"));
    }
    context.out.result(std::slice::from_ref(&args.name), &json!({ "profile": args.name }))
}
