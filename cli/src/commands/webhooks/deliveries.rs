//! `webhooks rotate-secret`, and the columns of a webhook's deliveries.

use super::{print_secret, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::secret;
use crate::output::table::{Column, Kind};

/// Rotate a webhook's signing secret and print the webhook's ID
///
/// For 24 hours, deliveries are also signed with the old secret. The new one isn't printed: write it to a file with --secret-file, or show it
/// with --json.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost webhooks rotate-secret 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --secret-file hooks.new"
)]
pub(crate) struct RotateArgs {
    /// ID of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// New file for the signing secret, readable only by its owner
    #[arg(long, value_name = "PATH")]
    secret_file: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) const EVENTS: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Text),
        Column::new("type", "TYPE", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("created_at", "OCCURRED", Kind::Time),
    ],
    shown: 4,
    nothing: "no events yet",
};

pub(super) const ATTEMPTS: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Text),
        Column::new("http_status_code", "STATUS", Kind::Text),
        Column::new("response", "RESPONSE", Kind::Shrinks),
        Column::new("sent_at", "SENT", Kind::Time),
    ],
    shown: 4,
    nothing: "no delivery attempts yet",
};

pub(super) async fn rotate(args: RotateArgs, context: &Context) -> Result<(), Fail> {
    let RotateArgs { id, secret_file, dry_run } = args;
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let file = secret_file.as_deref().filter(|_| dry_run.is_none()).map(secret::place).transpose()?;
    let unknown_outcome = format!("the secret may have been rotated; check: {}", show_command(&id));
    let make = |client: &idempost::Client| client.webhooks().rotate_secret(id.as_str());
    match mutation::execute(dry_run, &unknown_outcome, context, make).await {
        Ok(Some(response)) => print_secret(&response, file, context),
        Ok(None) => Ok(()),
        Err(fail) => Err(mutation::keep_secret(fail, file, context)),
    }
}
