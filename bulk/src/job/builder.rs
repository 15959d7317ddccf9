//! Describing a job.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::TryStreamExt as _;
use idempost::{Client, problem::limits::EMAILS_PER_BATCH};

use super::Job;
use crate::{
    error::Result,
    files::blocking,
    input::Input,
    message::Message,
    parts,
    plan::{ChangedRows, PlanOptions, address_hash},
    schedule::{self, Schedule},
};

/// A description of a job: the rows, the message, and options.
///
/// ```no_run
/// # async fn example(client: &idempost::Client) -> idempost_bulk::Result<()> {
/// use idempost_bulk::{Bulk, Input, Message, RunOptions};
///
/// let message = Message::new()
///     .from("Acme <hi@acme.test>")
///     .subject("Hello {{{NAME|there}}}")
///     .html("<p>Your code is {{{CODE}}}.</p>");
/// let job = Bulk::new(Input::csv("people.csv"), message).plan(client, "jobs").await?;
/// println!("{} emails in {} requests", job.plan().counts().valid, job.plan().batches());
///
/// let report = job.start(client, RunOptions::default())?.finish().await?;
/// println!("{} sent, {} unknown", report.counts.sent, report.counts.unknown);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Bulk {
    input: Input,
    message: Message,
    options: PlanOptions,
    account_suppressions: bool,
    schedule: Option<Schedule>,
}

impl Bulk {
    /// Creates a job from its rows and what they have in common.
    pub fn new(input: Input, message: Message) -> Self {
        Self { input, message, options: PlanOptions::default(), account_suppressions: false, schedule: None }
    }

    /// Skips a column that isn't known. Without this, an unknown column is an error.
    #[must_use]
    pub fn ignore_column(mut self, name: impl Into<String>) -> Self {
        self.options.ignore_columns.push(name.into());
        self
    }

    /// Plans only the first valid rows, for a trial. They are the first part of the job: planned later without a limit, it sends the others.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.options.limit = Some(rows);
        self
    }

    /// Sends all emails to this address instead, without `cc` and `bcc`. The trial is a job of its own.
    #[must_use]
    pub fn test_to(mut self, address: impl Into<String>) -> Self {
        self.options.test_to = Some(address.into());
        self
    }

    /// Plans another run of a job that exists already. Without this, the same input and description lead to the same job.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.options.again = true;
        self
    }

    /// Names the job, for the plans that continue it. By default, the name is that of the file or reader; rows of an application have none, and other rows are
    /// then another job. A plan that was never started is replaced by the next one of its name.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into());
        self
    }

    /// Tells rows apart by this column or field, such as the number of an order, instead of by all of their values: a row whose key the job has is never sent
    /// again, even if its other values have changed.
    #[must_use]
    pub fn key(mut self, column: impl Into<String>) -> Self {
        self.options.key = Some(column.into());
        self
    }

    /// Adds the rows that the job of this [name](Self::job) doesn't have, as another part of it; without such a job, plans it. The rows that the job has are
    /// sent once, and so are those that are no longer in the input. To leave out what isn't sent yet, [cancel](Job::cancel) the job first.
    #[must_use]
    pub fn add_rows(mut self, changed: ChangedRows) -> Self {
        (self.options.add, self.options.changed) = (true, changed);
        self
    }

    /// Leaves out rows with any of these addresses in `to`, `cc` or `bcc`, such as those of people who unsubscribed: [`Counts::suppressed`](crate::PlanCounts::suppressed)
    /// counts them, and `skipped.csv` lists them. It applies when the job is planned and when its rows are [retried](Job::retry); with another list, the plan [differs](crate::BulkError::Differs).
    #[must_use]
    pub fn suppress<A: AsRef<str>>(mut self, addresses: impl IntoIterator<Item = A>) -> Self {
        let hashes = addresses.into_iter().map(|address| address_hash(address.as_ref()));
        self.options.suppressed = hash_set(hashes.chain(self.options.suppressed.iter().copied()).collect());
        self
    }

    /// Leaves out rows whose `to` addresses are all on the account's suppression list, since the service would drop their emails:
    /// [`Counts::suppressed`](crate::PlanCounts::suppressed) counts them, and `skipped.csv` lists them. [`plan`](Self::plan) reads the list,
    /// with a request per 100 addresses and 16 bytes of memory per address. A plan that exists already stays as it is, whatever has been added
    /// to the list. Needs a client with full access.
    #[must_use]
    pub fn account_suppressions(mut self) -> Self {
        self.account_suppressions = true;
        self
    }

    /// Sets the maximum number of emails in a request, from 1 to 100; 100 by default. A [daily cap](crate::Schedule::daily) below 100 needs
    /// smaller requests.
    #[must_use]
    pub fn batch_size(mut self, emails: u64) -> Self {
        self.options.batch_size =
            u16::try_from(emails.max(1)).ok().filter(|emails| usize::from(*emails) < EMAILS_PER_BATCH);
        self
    }

    /// Sets when the job sends, and limits its requests to the smallest cap. The job keeps the schedule until
    /// [`RunOptions::schedule`](crate::RunOptions::schedule) sets another one.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self = schedule.smallest_cap().into_iter().fold(self, Self::batch_size);
        self.schedule = Some(schedule);
        self
    }

    /// Sets the maximum size of the input after decompression, in bytes; 1 GiB by default.
    #[must_use]
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.options.max_size = bytes;
        self
    }

    /// Sets the folder that the paths of attachments are relative to; by default the input's.
    #[must_use]
    pub fn attachments(mut self, folder: impl Into<PathBuf>) -> Self {
        self.options.attachments = Some(folder.into());
        self
    }

    /// Records the name of the profile that the job belongs to. Credentials are never recorded.
    #[must_use]
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.options.profile = Some(name.into());
        self
    }

    /// Validates every row and writes the plan to a folder of its own below `jobs`. Nothing is sent. The same description and input lead to
    /// the same job, whose earlier progress is kept. The client's [`RecipientGuard`](idempost::types::RecipientGuard) becomes part of the job:
    /// a row with a recipient that isn't allowed is invalid, and what it redirects is redirected by every worker.
    ///
    /// # Errors
    /// The input as a whole can't be used, or the [account's suppressions](Self::account_suppressions) can't be read.
    /// [`BulkError::Differs`](crate::BulkError::Differs) if a job of the same name is unfinished or has some of the rows, and
    /// [`add_rows`](Self::add_rows) doesn't add the others; [`BulkError::BeyondLimit`](crate::BulkError::BeyondLimit) if it has rows left to send that a
    /// [`limit`](Self::limit) excludes. Invalid rows are no error: [`Plan::counts`](crate::Plan::counts) has their number,
    /// and `invalid.csv` lists them.
    pub async fn plan(self, client: &Client, jobs: impl AsRef<Path>) -> Result<Job> {
        let jobs = jobs.as_ref().to_owned();
        let Self { input, message, mut options, account_suppressions, schedule } = self;
        if account_suppressions {
            let entries = client.suppressions().list().stream();
            let hashes = entries.map_ok(|entry| address_hash(&entry.email)).try_collect().await?;
            options.suppressed_by_account = Some(hash_set(hashes));
        }
        let guard = client.recipient_guard().clone();
        let options = PlanOptions { origin: client.base_url().to_string(), guard, ..options };
        blocking(move || {
            let plan = parts::plan(input, &message, &options, &jobs)?;
            if schedule.is_some() {
                schedule::kept(&plan, schedule)?;
            }
            Ok(Job::new(plan))
        })
        .await
    }
}

/// Sorts hashes, to search among them.
fn hash_set(mut hashes: Vec<[u8; 16]>) -> Arc<Vec<[u8; 16]>> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}
