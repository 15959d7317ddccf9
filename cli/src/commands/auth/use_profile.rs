//! `auth use`: sets the default profile.

use serde_json::json;

use super::profile;
use crate::actions::repeat::quote_argument;
use crate::context::Context;
use crate::credentials::Credentials;
use crate::diagnostics::Fail;
use crate::settings::profiles::{self, DEFAULT};

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
    let settings = context.settings()?;
    let profiles = profiles::names(settings.file.as_ref(), &context.env);
    if args.name != DEFAULT && !profiles.contains(&args.name) {
        return Err(profile::unknown_profile(&args.name, &profiles));
    }
    profile::write(None, &[], &[("default_profile", &args.name)], context)?;
    let is_stored =
        Credentials::new(&context.env, Some(&args.name)).and_then(|credentials| credentials.overview());
    if is_stored?.is_none() {
        let named = quote_argument(&args.name);
        context.out.note(&format!("this profile isn't logged in: idempost --profile {named} auth login"));
    }
    context.out.result(std::slice::from_ref(&args.name), &json!({ "profile": args.name }))
}
