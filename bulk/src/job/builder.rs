//! Job descriptions.

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
    plan::{ChangedRows, Plan, PlanOptions, address_hash},
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
    /// Creates a job from its rows and the message that they share.
    pub fn new(input: Input, message: Message) -> Self {
        Self { input, message, options: PlanOptions::default(), account_suppressions: false, schedule: None }
    }

    setters! {
        /// Ignores an unknown column. Without this, an unknown column is an error.
        ignore_column += options.job.ignore_columns;
        /// Plans only the first valid rows, for a trial. They become the first part of the job: planning again without a limit sends the remaining rows.
        limit: u64 => options.job.limit;
        /// Sends all emails to this address instead, without `cc` and `bcc`. The trial is a separate job.
        test_to => options.job.test_to;
        /// Plans another run of an existing job. Without this, the same input and description lead to the same job.
        new_run = true => options.again;
        /// Names the job, so that later plans can continue it. The default is the name of the file or reader. Rows from an application have no default
        /// name, so changed rows are a different job. A plan that was never started is replaced by the next plan with its name.
        job => options.job.name;
        /// Identifies rows by this column or field, such as an order number, instead of by all of their values: a row whose key is already in the job is
        /// never sent again, even if its other values have changed.
        key => options.job.key;
        /// Skips rows whose `to` addresses are all on the account's suppression list, since the service would drop their emails.
        /// [`Counts::suppressed`](crate::PlanCounts::suppressed) counts them, and `skipped.csv` lists them. [`plan`](Self::plan) reads the list with one
        /// request per 100 addresses and 16 bytes of memory per address. An existing plan doesn't change when addresses are added to the list. The client
        /// needs full access.
        account_suppressions = true;
        /// Sets the maximum size of the input after decompression, in bytes; 1 GiB by default.
        max_size: u64 => options.max_size;
        /// Records the name of the profile that the job belongs to. Credentials are never recorded.
        profile => options.profile;
    }

    /// Adds the rows that the job of this [name](Self::job) doesn't contain, as another part of it; plans a new job if there is none. Existing rows
    /// are sent once, even if they are no longer in the input. To leave out unsent rows, [cancel](Job::cancel) the job first.
    #[must_use]
    pub fn add_rows(mut self, changed: ChangedRows) -> Self {
        (self.options.add, self.options.changed) = (true, changed);
        self
    }

    /// Adds the input to the job of an earlier plan: its [invalid rows](Plan::invalid_rows), corrected. Later plans of that job know these rows.
    #[must_use]
    pub fn corrections_of(mut self, earlier: &Plan) -> Self {
        let job = &mut self.options.job;
        job.name = job.name.take().or_else(|| earlier.name().map(str::to_owned));
        (job.corrects, self.options.add) = (Some(earlier.id().to_owned()), true);
        self
    }

    /// Skips rows with any of these addresses in `to`, `cc` or `bcc`, such as unsubscribed recipients.
    /// [`Counts::suppressed`](crate::PlanCounts::suppressed) counts them, and `skipped.csv` lists them. Applied when the job is planned and when its rows
    /// are [retried](Job::retry); with a different list, the plan [differs](crate::BulkError::Differs).
    #[must_use]
    pub fn suppress<A: AsRef<str>>(mut self, addresses: impl IntoIterator<Item = A>) -> Self {
        let hashes = addresses.into_iter().map(|address| address_hash(address.as_ref()));
        self.options.suppressed = hash_set(hashes.chain(self.options.suppressed.iter().copied()).collect());
        self
    }

    /// Sets the maximum number of emails in a request, from 1 to 100; 100 by default. A [daily cap](crate::Schedule::daily) below 100 needs
    /// smaller requests.
    #[must_use]
    pub fn batch_size(mut self, emails: u64) -> Self {
        self.options.job.batch_size =
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

    /// Sets the folder to which attachment paths are relative; by default, the input's folder.
    #[must_use]
    pub fn attachments(mut self, folder: impl Into<PathBuf>) -> Self {
        self.options.attachments = Some(folder.into());
        self
    }

    /// Validates every row and writes the plan to its own folder in `jobs`. Nothing is sent. The same description and input lead to the same job,
    /// with its earlier progress. The client's [`RecipientGuard`](idempost::types::RecipientGuard) becomes part of the job: a row with a disallowed
    /// recipient is invalid, and every worker applies the guard's redirection.
    ///
    /// # Errors
    /// The input as a whole can't be used, or the [account's suppressions](Self::account_suppressions) can't be read.
    /// [`BulkError::Differs`](crate::BulkError::Differs) if a job of the same name (without one: of the same rows and message) is unfinished or contains
    /// some of the rows, and [`add_rows`](Self::add_rows) isn't set; [`BulkError::BeyondLimit`](crate::BulkError::BeyondLimit) if it has rows left to send that the
    /// [`limit`](Self::limit) excludes; [`BulkError::PlanChanged`](crate::BulkError::PlanChanged) if a plan in `jobs` that may belong to the job is
    /// damaged; [`BulkError::Account`](crate::BulkError::Account) if the job was started at another base URL. Invalid rows aren't an error:
    /// [`Plan::counts`](crate::Plan::counts) counts them, and `invalid.csv` lists them.
    pub async fn plan(self, client: &Client, jobs: impl AsRef<Path>) -> Result<Job> {
        let jobs = jobs.as_ref().to_owned();
        let Self { input, message, mut options, account_suppressions, schedule } = self;
        if account_suppressions {
            let entries = client.suppressions().list().stream();
            let hashes = entries.map_ok(|entry| address_hash(&entry.email)).try_collect().await?;
            options.suppressed_by_account = Some(hash_set(hashes));
        }
        options.job.guard = client.recipient_guard().clone();
        options.origin = client.base_url().to_string();
        blocking(move || {
            let plan = parts::plan(input, &message, &options, &jobs)?;
            schedule.iter().try_for_each(|schedule| schedule::store(&plan, schedule))?;
            Ok(Job::new(plan))
        })
        .await
    }
}

/// Sorts hashes for binary search.
fn hash_set(mut hashes: Vec<[u8; 16]>) -> Arc<Vec<[u8; 16]>> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}
