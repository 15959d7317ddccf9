//! `emails share`: a link to an email.

use std::time::Duration;

use idempost::{Client, problem::limits};

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::settings::keys;

/// Create a link by which anyone can read an email
///
/// The email was sent or received. The link works in a browser without a login until it expires, and can't be revoked. Prints its URL.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost emails share 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  \
    idempost emails share 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --for 2h")]
pub(crate) struct Args {
    /// ID of the email
    #[arg(value_name = "ID")]
    id: String,
    /// How long the link is valid, such as 30m or 2h; at most 48h [default: 48h]
    #[arg(long = "for", value_name = "DURATION")]
    lifetime: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Creates the link, or shows the request.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, lifetime, dry_run } = args;
    let mut flags = Flags::default();
    let given = lifetime.as_deref();
    let lifetime = given.and_then(|text| match keys::duration(text) {
        Ok(lifetime) => Some(lifetime),
        Err(rule) => {
            flags.wrong("type", format!("--for {rule}"), "--for", text);
            None
        }
    });
    if let (Some(text), Some(lifetime)) = (given, lifetime)
        && lifetime > Duration::from_secs(limits::SHARE_SECONDS)
    {
        flags.wrong("range", "--for must be at most 48h", "--for", text);
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let make = |client: &Client| {
        let call = client.emails().share(id.as_str());
        lifetime.into_iter().fold(call, idempost::Call::expires_in)
    };
    let unknown_outcome = "a link may have been created; repeating the command creates another one";
    match mutation::execute(dry_run, unknown_outcome, context, make).await? {
        Some(response) => mutation::print(&response.value.url, &response, context),
        None => Ok(()),
    }
}
