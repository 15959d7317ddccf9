//! The account of a command, and whether a job belongs to it.

use idempost::Client;
use idempost_bulk::{Account, Job};

use crate::context::Context;
use crate::diagnostics::Fail;

// No doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct AccountArgs {
    /// Confirm that this credential belongs to the account that started the job
    ///
    /// A job is continued only with the credential that it was started with, or with another login to the same account. An API key doesn't identify
    /// its account: use this flag if the job's key was replaced, or if each worker has its own key. If it is wrong, emails are sent from another
    /// account, some of
    /// them twice.
    #[arg(long)]
    pub(super) same_account: bool,
}

/// The account of this command's client.
pub(super) async fn resolve_account(same: bool, client: &Client, context: &Context) -> Result<Account, Fail> {
    let mut account = Account::new().profile(context.settings()?.profile_name());
    // A failure is reported when the job needs the account.
    if let Ok(None) = client.account_fingerprint(&[]).await {
        // A login whose tokens have no subject counts as a separate account.
        let overview = context.credentials()?.overview()?;
        account = overview.into_iter().fold(account, |account, overview| account.id(overview.login));
    }
    Ok(if same { account.assume_same_account() } else { account })
}

/// The account of this command's client; fails if the job belongs to another one.
pub(super) async fn resolve_job_account(
    job: &Job,
    same: bool,
    client: &Client,
    context: &Context,
) -> Result<Account, Fail> {
    let account = resolve_account(same, client, context).await?;
    job.check_account(client, &account).await?;
    Ok(account)
}
