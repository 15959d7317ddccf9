//! `webhooks events`, `event`, `attempts`, `replay`, `rotate-secret`: what a webhook has told, and with which secret.

use super::{look, tell_secret};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, OlderArgs, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::secret;
use crate::output::table::{Column, Kind};

/// List what a webhook has told, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, type, status, created_at\n\n\
    Example:\n  posthaste webhooks events 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --jq '.data[] | select(.status == \"failed\").id'")]
pub(crate) struct EventsArgs {
    /// Id of the webhook
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    part: OlderArgs,
}

/// Show one event of a webhook, with what it tells
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  posthaste webhooks event 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk --jq .payload"
)]
pub(crate) struct EventArgs {
    /// Id of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// Id of the event
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
}

/// List the attempts to deliver an event, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, http_status_code, response, sent_at\n\n\
    Example:\n  posthaste webhooks attempts 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk")]
pub(crate) struct AttemptsArgs {
    /// Id of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// Id of the event
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
    #[command(flatten)]
    part: OlderArgs,
}

/// Deliver an event once more, at once, and print its id
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  posthaste webhooks replay 4dd369bc-aa82-4ff3-97de-514ae3000ee0 msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"
)]
pub(crate) struct ReplayArgs {
    /// Id of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// Id of the event
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Give a webhook another secret, and print its id
///
/// For 24 hours deliveries are signed with the old secret, too. The new one is not printed: it is written into --secret-file, or shown with
/// --json.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  posthaste webhooks rotate-secret 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --secret-file hooks.new"
)]
pub(crate) struct RotateArgs {
    /// Id of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// New file for the secret, readable by its owner alone
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
        Column::new("created_at", "HAPPENED", Kind::Time),
    ],
    shown: 4,
    nothing: "nothing was told yet",
};

const ATTEMPTS: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Text),
        Column::new("http_status_code", "ANSWER", Kind::Text),
        Column::new("response", "RESPONSE", Kind::Shrinks),
        Column::new("sent_at", "SENT", Kind::Time),
    ],
    shown: 4,
    nothing: "nothing was tried yet",
};

pub(super) async fn events(args: EventsArgs, context: &Context) -> Result<(), Fail> {
    let EventsArgs { id, part } = args;
    pages::list(part.into(), &EVENTS, context, |client| client.webhooks().events(id.as_str())).await
}

pub(super) async fn event(args: EventArgs, context: &Context) -> Result<(), Fail> {
    let EventArgs { id, event_id } = args;
    mutation::show(context, |client| client.webhooks().event(id.as_str(), event_id.as_str())).await
}

pub(super) async fn attempts(args: AttemptsArgs, context: &Context) -> Result<(), Fail> {
    let AttemptsArgs { id, event_id, part } = args;
    let make = |client: &posthaste::Client| client.webhooks().attempts(id.as_str(), event_id.as_str());
    pages::list(part.into(), &ATTEMPTS, context, make).await
}

pub(super) async fn replay(args: ReplayArgs, context: &Context) -> Result<(), Fail> {
    let ReplayArgs { id, event_id, dry_run } = args;
    let doubt =
        format!("the event may be delivered once more; look: posthaste webhooks attempts {id} {event_id}");
    let make = |client: &posthaste::Client| client.webhooks().replay(id.as_str(), event_id.as_str());
    mutation::by_id(&dry_run, &doubt, context, make).await
}

pub(super) async fn rotate(args: RotateArgs, context: &Context) -> Result<(), Fail> {
    let RotateArgs { id, secret_file, dry_run } = args;
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let file = secret_file.as_deref().filter(|_| dry_run.is_none()).map(secret::place).transpose()?;
    let doubt = format!("the secret may be another one now; look: {}", look(&id));
    let make = |client: &posthaste::Client| client.webhooks().rotate_secret(id.as_str());
    match mutation::carry_out(dry_run, &doubt, context, make).await? {
        Some(answer) => tell_secret(&answer, file, context),
        None => Ok(()),
    }
}
