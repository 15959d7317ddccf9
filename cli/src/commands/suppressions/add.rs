//! `suppressions add`: adds addresses.

use idempost::{Client, Error};

use super::{BATCH, check_count};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Add addresses to the suppression list
///
/// Takes up to 100 addresses and adds all of them or none; `suppressions import` reads more from a file. An address on the list keeps its
/// entry. Prints the ID of each entry.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost suppressions add ada@example.com\n  \
    idempost suppressions add ada@example.com bob@example.com --dry-run")]
pub(crate) struct Args {
    /// Address to add; repeatable
    #[arg(value_name = "EMAIL", required = true)]
    emails: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { emails, dry_run } = args;
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.list("/emails", "EMAIL", &emails);
    check_count(&emails, "EMAIL", "; for more, use: idempost suppressions import FILE", &mut flags);
    flags.field("/email", "EMAIL", emails.first().map(String::as_str));
    let one = |client: &Client| client.suppressions().add(emails.first().map_or("", String::as_str));
    let batch = |client: &Client| client.suppressions().add_batch(&emails);
    let client = context.client_for_preview()?;
    let shown = if emails.len() == 1 { one(&client).preview() } else { batch(&client).preview() };
    if let (Err(Error::Invalid(problems)), 1..=BATCH) = (shown, emails.len()) {
        flags.add_problems(Err(problems));
    }
    flags.finish()?;
    let unknown_outcome = "the addresses may have been added; repeating the command is safe";
    if emails.len() == 1 {
        return match mutation::execute(dry_run, unknown_outcome, context, one).await? {
            Some(response) => mutation::print(response.value.id.as_str(), &response, context),
            None => Ok(()),
        };
    }
    let Some(response) = mutation::execute(dry_run, unknown_outcome, context, batch).await? else {
        return Ok(());
    };
    let ids: Vec<_> = response.value.data.iter().map(|entry| entry.id.to_string()).collect();
    mutation::report(context, || context.out.result(&ids, &mutation::document(&response)))
}
