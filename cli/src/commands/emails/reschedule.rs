//! `emails update`: reschedules a scheduled email.

use idempost::Client;

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};

/// Reschedule a scheduled email
///
/// Only scheduled emails can be changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost emails update 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --scheduled-at 'tomorrow at 9am'\n  \
    idempost emails update 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --scheduled-at 2026-12-24T18:00:00Z")]
pub(crate) struct Args {
    /// ID of the email, as printed by `emails send`
    #[arg(value_name = "ID")]
    id: String,
    /// New time: ISO 8601, or a phrase such as `in 1 min`
    ///
    /// The text is passed to the service unchanged.
    #[arg(long, value_name = "TIME", add = Required)]
    scheduled_at: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Reschedules the email.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, scheduled_at, dry_run } = args;
    let mut flags = Flags::default();
    match scheduled_at.as_deref().map(str::trim) {
        None => {
            flags.help("idempost emails update ID --scheduled-at 'in 1 hour'");
            flags.missing("--scheduled-at");
        }
        Some("") => flags.wrong("empty", "--scheduled-at must not be empty", "--scheduled-at", ""),
        Some(_) => {}
    }
    let when = scheduled_at.unwrap_or_default();
    let unknown_outcome = format!("the email may have been rescheduled; check: idempost emails get {id}");
    let make = |client: &Client| client.emails().reschedule(id.as_str(), when.as_str());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}
