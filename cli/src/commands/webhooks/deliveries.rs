//! `webhooks events`, `event`, `attempts`, `replay`, `rotate-secret`: a webhook's deliveries and signing secret.

use super::{print_secret, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, OlderArgs, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::secret;
use crate::output::table::{Column, Kind};

/// List the events of a webhook, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, type, status, created_at\n\n\
    Example:\n  idempost webhooks events 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --jq '.data[] | select(.status == \"failed\").id'")]
pub(crate) struct EventsArgs {
    /// ID of the webhook
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    part: OlderArgs,
}

/// Show one event of a webhook with its payload
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost webhooks event 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk --jq .payload"
)]
pub(crate) struct EventArgs {
    /// ID of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// ID of the event
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
}

/// List the delivery attempts of an event, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, http_status_code, response, sent_at\n\n\
    Example:\n  idempost webhooks attempts 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk")]
pub(crate) struct AttemptsArgs {
    /// ID of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// ID of the event
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
    #[command(flatten)]
    part: OlderArgs,
}

/// Redeliver an event immediately and print its ID
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost webhooks replay 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"
)]
pub(crate) struct ReplayArgs {
    /// ID of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// ID of the event
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

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

const EVENTS: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Text),
        Column::new("type", "TYPE", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("created_at", "OCCURRED", Kind::Time),
    ],
    shown: 4,
    nothing: "no events yet",
};

const ATTEMPTS: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Text),
        Column::new("http_status_code", "STATUS", Kind::Text),
        Column::new("response", "RESPONSE", Kind::Shrinks),
        Column::new("sent_at", "SENT", Kind::Time),
    ],
    shown: 4,
    nothing: "no delivery attempts yet",
};

pub(super) async fn events(args: EventsArgs, context: &Context) -> Result<(), Fail> {
    let EventsArgs { id, part } = args;
    pages::list(part, &EVENTS, context, |client| client.webhooks().events(id.as_str())).await
}

pub(super) async fn event(args: EventArgs, context: &Context) -> Result<(), Fail> {
    let EventArgs { id, event_id } = args;
    mutation::show(context, |client| client.webhooks().event(id.as_str(), event_id.as_str())).await
}

pub(super) async fn attempts(args: AttemptsArgs, context: &Context) -> Result<(), Fail> {
    let AttemptsArgs { id, event_id, part } = args;
    let make = |client: &idempost::Client| client.webhooks().attempts(id.as_str(), event_id.as_str());
    pages::list(part, &ATTEMPTS, context, make).await
}

pub(super) async fn replay(args: ReplayArgs, context: &Context) -> Result<(), Fail> {
    let ReplayArgs { id, event_id, dry_run } = args;
    let unknown_outcome =
        format!("the event may be redelivered; check: idempost webhooks attempts {id} {event_id}");
    let make = |client: &idempost::Client| client.webhooks().replay(id.as_str(), event_id.as_str());
    mutation::by_id(&dry_run, &unknown_outcome, context, make).await
}

pub(super) async fn rotate(args: RotateArgs, context: &Context) -> Result<(), Fail> {
    let RotateArgs { id, secret_file, dry_run } = args;
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let file = secret_file.as_deref().filter(|_| dry_run.is_none()).map(secret::place).transpose()?;
    let unknown_outcome = format!("the secret may have been rotated; check: {}", show_command(&id));
    let make = |client: &idempost::Client| client.webhooks().rotate_secret(id.as_str());
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => print_secret(&response, file, context),
        None => Ok(()),
    }
}
