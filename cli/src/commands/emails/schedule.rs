//! `emails update` and `emails cancel`: an email that waits for its time gets another, or is taken back.

use posthaste::{Call, Client, EmailId, Reference};

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};

/// Give a scheduled email another time
///
/// Only an email that waits for its time can be changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste emails update 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --scheduled-at 'tomorrow at 9am'\n  \
    posthaste emails update 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --scheduled-at 2026-12-24T18:00:00Z")]
pub(crate) struct UpdateArgs {
    /// Id of the email, as `emails send` prints it
    #[arg(value_name = "ID")]
    id: String,
    /// When to send: ISO 8601, or words such as `in 1 min`
    ///
    /// The text goes to the service unchanged.
    #[arg(long, value_name = "WHEN", add = Required)]
    scheduled_at: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Take a scheduled email back before it leaves
///
/// One that has left is refused. Repeating it does no harm.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  posthaste emails cancel 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")]
pub(crate) struct CancelArgs {
    /// Id of the email, as `emails send` prints it
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Gives it another time.
pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { id, scheduled_at, dry_run } = args;
    let mut flags = Flags::default();
    match scheduled_at.as_deref().map(str::trim) {
        None => {
            flags.help("posthaste emails update ID --scheduled-at 'in 1 hour'");
            flags.missing("--scheduled-at");
        }
        Some("") => flags.wrong("empty", "--scheduled-at must not be empty", "--scheduled-at", ""),
        Some(_) => {}
    }
    let when = scheduled_at.unwrap_or_default();
    let doubt = format!("the email may have another time; look: posthaste emails get {id}");
    let make = |client: &Client| client.emails().reschedule(id.as_str(), when.as_str());
    change(flags, &dry_run, &doubt, context, make).await
}

/// Takes it back.
pub(super) async fn cancel(args: CancelArgs, context: &Context) -> Result<(), Fail> {
    let CancelArgs { id, dry_run } = args;
    let doubt = format!("the email may have been taken back; look: posthaste emails get {id}");
    let make = |client: &Client| client.emails().cancel(id.as_str());
    change(Flags::default(), &dry_run, &doubt, context, make).await
}

async fn change(
    mut flags: Flags,
    dry_run: &DryRunFlag,
    doubt: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<Reference<EmailId>>,
) -> Result<(), Fail> {
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    match mutation::carry_out(dry_run, doubt, context, make).await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}
