//! `bulk reconcile`: looks for rows of unknown outcome among the service's emails.

use serde_json::json;

use super::account::{self, AccountArgs};
use super::job::{self, JobArg};
use super::words::format_count;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Look for rows with an unknown outcome among the emails that the service lists
///
/// Reads the list of sent emails back to the first attempt of these rows, which needs full access, and matches recipients, subject and time.
/// A match is inferred, not proven: another email may have had the same recipients and subject. Rows without a match were probably not sent, unless
/// the service no longer lists emails of that time. All rows are written to reconciled.csv in the job's folder, with the match. The job stays as it
/// is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost bulk reconcile 3f9a")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    #[command(flatten)]
    account: AccountArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let job = job::inspect(args.job.job.as_deref(), context).await?;
    let client = context.client()?;
    let account = account::resolve_account(args.account.same_account, &client, context).await?;
    let found = job.reconcile(&client, &account).await?;
    let document = json!({
        "object": "bulk_reconciliation",
        "job": job.plan().id(),
        "unknown": found.unknown,
        "inferred": found.inferred,
        "examined": found.examined,
        "file": found.file,
    });
    let mut lines = vec![format!(
        "{} with an unknown outcome, {} inferred as sent from {} in the service's list",
        format_count(found.unknown, "row"),
        found.inferred,
        format_count(found.examined, "email"),
    )];
    lines.extend(found.file.iter().map(|file| format!("list: {}", file.display())));
    context.out.result(&lines, &document)
}
