//! `broadcasts send`: sends a draft, now or later.

use idempost::{Client, Error, error::ApiErrorKind};

use super::confirm_send::{self, SendSummary};
use super::show_command;
use crate::actions::confirm;
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::wait::{self, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Send a draft to the contacts of its segment, now or later
///
/// Asks for confirmation, since a sent broadcast can't be recalled; --yes skips the question. Only a draft can be sent, and only once.
///
/// The service has no idempotency key for this operation. If the response is lost, the request isn't retried: exit code 9 says to check first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b\n  \
    idempost broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --scheduled-at 'tomorrow at 9am' --yes\n  \
    idempost broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --yes --wait --wait-timeout 10m")]
pub(crate) struct Args {
    /// ID of the broadcast
    #[arg(value_name = "ID")]
    id: String,
    /// Time to send: ISO 8601, or a phrase such as `in 1 hour`
    ///
    /// The text is passed to the service unchanged.
    #[arg(long, value_name = "TIME")]
    scheduled_at: Option<String>,
    /// Wait until the broadcast is sent
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = confirm_send::SENT)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, scheduled_at, wait, timeout, dry_run } = args;
    let mut flags = Flags::default();
    if scheduled_at.as_deref().is_some_and(|when| when.trim().is_empty()) {
        flags.wrong("empty", "--scheduled-at must not be empty", "--scheduled-at", "");
    }
    let wait = flags.take(wait::plan(wait.as_deref(), &timeout.wait_timeout, confirm_send::SENT)).flatten();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    if dry_run.is_none() {
        ask(&id, scheduled_at.as_deref(), context).await?;
    }
    let unknown_outcome = format!("the broadcast may have been sent; check: {}", show_command(&id));
    let make = |client: &Client| match &scheduled_at {
        Some(when) => client.broadcasts().send_at(id.as_str(), when),
        None => client.broadcasts().send(id.as_str()),
    };
    let Some(response) = mutation::execute(dry_run, &unknown_outcome, context, make).await? else {
        return Ok(());
    };
    let id = response.value.id.clone();
    mutation::print(id.as_str(), &response, context)?;
    match wait {
        Some(timeout) => confirm_send::wait(&context.client()?, id, timeout, context).await,
        None => Ok(()),
    }
}

/// Asks for confirmation with a summary, which is fetched only if the session is interactive.
async fn ask(id: &str, when: Option<&str>, context: &Context) -> Result<(), Fail> {
    if context.global.yes || !confirm::is_interactive(context)? {
        return confirm::confirm(&format!("Send broadcast {id}?"), context).await;
    }
    match context.client()?.broadcasts().get(id).await {
        Ok(broadcast) => {
            let summary = SendSummary {
                subject: broadcast.subject.unwrap_or_default(),
                from: broadcast.from.unwrap_or_default(),
                segment: broadcast.segment_id.map(String::from).unwrap_or_default(),
                when: when.map(str::to_owned),
            };
            confirm_send::confirm(&summary, context).await
        }
        // A key that may only send can't read it.
        Err(Error::Api(error))
            if matches!(error.kind(), ApiErrorKind::Authentication | ApiErrorKind::Permission) =>
        {
            confirm::confirm(&format!("Send broadcast {id}?"), context).await
        }
        Err(error) => Err(error.into()),
    }
}
