//! `contacts segments`, `add-to-segment`, `remove-from-segment`.

use idempost::Client;

use super::DryRunFlag;
use crate::actions::mutation;
use crate::actions::pages;
use crate::commands::segments;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// List the segments of a contact
///
/// Without --limit, the service returns all of them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, name, created_at\n\nExample:\n  idempost contacts segments ada@example.com"
)]
pub(crate) struct ListArgs {
    /// ID or email address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    #[command(flatten)]
    part: pages::CompleteArgs,
}

/// Add a contact to a segment
///
/// A contact already in the segment stays in it. Prints the segment's ID.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost contacts add-to-segment ada@example.com 78261eea-8f8b-4381-83c6-79fa7120f1cf"
)]
pub(crate) struct ChangeArgs {
    /// ID or email address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    /// ID of the segment
    #[arg(value_name = "SEGMENT_ID")]
    segment: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Remove a contact from a segment
///
/// The contact itself isn't deleted. Prints the segment's ID.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    idempost contacts remove-from-segment ada@example.com 78261eea-8f8b-4381-83c6-79fa7120f1cf")]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    pages::list(args.part, &segments::TABLE, context, |client| client.contacts().segments(&args.contact))
        .await
}

pub(super) async fn add(args: ChangeArgs, context: &Context) -> Result<(), Fail> {
    let segment = args.segment.as_str();
    let make = |client: &Client| client.contacts().add_to_segment(&args.contact, segment);
    execute(&args, context, make).await
}

pub(super) async fn remove(args: RemoveArgs, context: &Context) -> Result<(), Fail> {
    let args = args.change;
    let segment = args.segment.as_str();
    let make = |client: &Client| client.contacts().remove_from_segment(&args.contact, segment);
    execute(&args, context, make).await
}

async fn execute(
    args: &ChangeArgs,
    context: &Context,
    make: impl Fn(&Client) -> idempost::Call<idempost::contacts::Membership>,
) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome =
        format!("the membership may have changed; check: idempost contacts segments {}", args.contact);
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(&args.segment, &response, context),
        None => Ok(()),
    }
}
