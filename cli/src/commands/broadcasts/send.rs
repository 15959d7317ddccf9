//! `broadcasts send`: a draft goes out, at once or later.

use posthaste::{ApiErrorKind, Client, Error};

use super::departure::{self, Letter};
use super::look;
use crate::actions::confirm;
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::wait::{self, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Send a draft to the contacts of its segment, at once or later
///
/// It asks first, since what has gone out can't be taken back; --yes answers the question. Only a draft can be sent, once.
///
/// The service has no key that makes repeating harmless. When the answer gets lost, nothing is repeated: exit code 9 says to look first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b\n  \
    posthaste broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --scheduled-at 'tomorrow at 9am' --yes\n  \
    posthaste broadcasts send 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --yes --wait --wait-timeout 10m")]
pub(crate) struct Args {
    /// Id of the broadcast
    #[arg(value_name = "ID")]
    id: String,
    /// When: ISO 8601, or words such as `in 1 hour`
    ///
    /// The text goes to the service unchanged.
    #[arg(long, value_name = "WHEN")]
    scheduled_at: Option<String>,
    /// Wait until it has gone out
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = departure::SENT)]
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
    let wait = flags.take(wait::plan(wait.as_deref(), &timeout.wait_timeout, departure::SENT)).flatten();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    if dry_run.is_none() {
        ask(&id, scheduled_at.as_deref(), context).await?;
    }
    let doubt = format!("the broadcast may have been sent; look: {}", look(&id));
    let make = |client: &Client| match &scheduled_at {
        Some(when) => client.broadcasts().send_at(id.as_str(), when),
        None => client.broadcasts().send(id.as_str()),
    };
    let Some(answer) = mutation::carry_out(dry_run, &doubt, context, make).await? else { return Ok(()) };
    let id = answer.value.id.clone();
    mutation::print(id.as_str(), &answer, context)?;
    match wait {
        Some(timeout) => departure::wait(&context.client()?, id, timeout, context).await,
        None => Ok(()),
    }
}

/// Asks whether it may go, and shows what: it is looked up only for somebody who is there to read it.
async fn ask(id: &str, when: Option<&str>, context: &Context) -> Result<(), Fail> {
    if context.global.yes || !confirm::may_ask(context)? {
        return confirm::confirm(&format!("send broadcast {id}?"), context).await;
    }
    match context.client()?.broadcasts().get(id).await {
        Ok(broadcast) => {
            let letter = Letter {
                subject: broadcast.subject.unwrap_or_default(),
                from: broadcast.from.unwrap_or_default(),
                segment: broadcast.segment_id.map(String::from).unwrap_or_default(),
                when: when.map(str::to_owned),
            };
            departure::confirm(&letter, context).await
        }
        // A key that may only send can't look.
        Err(Error::Api(error))
            if matches!(error.kind(), ApiErrorKind::Authentication | ApiErrorKind::Permission) =>
        {
            confirm::confirm(&format!("send broadcast {id}?"), context).await
        }
        Err(error) => Err(error.into()),
    }
}
