//! Jobs: planning, running, and outcomes.

mod builder;
mod status;

pub use builder::Bulk;
pub use status::{JobState, Status};

use std::{path::Path, sync::Arc};

use idempost::Client;

use crate::{
    account::{Account, Sending},
    error::{BulkError, Result},
    files::blocking,
    folder,
    last_events::{self, LastEvents},
    outcomes::{self, RowOutcome},
    parts::{self, Retry},
    plan::{Counts as PlanCounts, Plan},
    reconcile::{self, Reconciliation},
    report::{self, Report},
    run::{Run, RunOptions},
    salvage::{self, Salvage, SalvageOptions},
};

/// A planned job in its folder. Dropping it changes nothing; [`open`](Self::open) reopens it.
#[derive(Clone, Debug)]
pub struct Job {
    plan: Arc<Plan>,
}

impl Job {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan: Arc::new(plan) }
    }

    /// Opens the job in a folder.
    ///
    /// # Errors
    /// The folder has no complete plan, or its files are damaged.
    pub async fn open(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref().to_owned();
        blocking(move || Plan::open(&dir).map(Self::new)).await
    }

    /// Opens the job in a folder for inspection, without checking its rows. To run it, use [`open`](Self::open).
    ///
    /// # Errors
    /// The folder has no complete plan.
    pub async fn inspect(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref().to_owned();
        blocking(move || Plan::read(&dir).map(Self::new)).await
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Starts or resumes the job with a client, on the current tokio runtime. Nothing that was sent before is sent again.
    ///
    /// Build the client with [`RateLimit::Off`](idempost::call::RateLimit::Off): the job learns the service's limit itself.
    ///
    /// The job belongs to the account that first sends it; later, [`Run::finish`] fails if the client uses a different account. See
    /// [`RunOptions::account`].
    ///
    /// # Errors
    /// The client's base URL differs from the plan's, its guard redirects emails elsewhere than the job, or rows are invalid and the options don't skip
    /// them.
    pub fn start(&self, client: &Client, options: RunOptions) -> Result<Run> {
        let sending = Sending::new(client, options.account.clone());
        sending.check_service(self.plan.origin(), self.plan.profile())?;
        self.plan.check_redirection(client.recipient_guard())?;
        self.check_rows(options.skip_invalid)?;
        Ok(Run::start(Arc::clone(&self.plan), client.clone(), Some(sending), options))
    }

    /// Starts or resumes the job with a sender that has no account.
    #[cfg(test)]
    pub(crate) fn start_with(&self, sender: impl crate::sender::Sender, options: RunOptions) -> Run {
        Run::start(Arc::clone(&self.plan), sender, None, options)
    }

    /// Starts or resumes the job through a queue, on the current tokio runtime: [workers](crate::worker) send, and this process collects the results.
    /// It can be stopped and resumed at any time while the workers continue. A canceled job ends as soon as its workers have stopped.
    ///
    /// The client only identifies the account that the job belongs to, as in [`start`](Self::start); each worker has to use the same account. A
    /// canceled job can be ended from any account.
    ///
    /// # Errors
    /// The client's base URL differs from the plan's, or rows are invalid and the options don't skip them.
    #[cfg(feature = "nats")]
    pub fn distribute(
        &self,
        client: &Client,
        backend: impl crate::queue::Backend,
        options: crate::DistributeOptions,
    ) -> Result<Run> {
        let sending = Sending::new(client, options.account.clone());
        if !folder::is_canceled(self.plan.dir()) {
            sending.check_service(self.plan.origin(), self.plan.profile())?;
        }
        self.check_rows(options.skip_invalid)?;
        let plan = Arc::clone(&self.plan);
        Ok(Run::spawn(|_, signal, events| async move {
            if let Some(part) = plan.blocking(parts::unfinished_parts).await?.first() {
                let message =
                    format!("an earlier part of the job isn't finished; resume {} first", part.id());
                return Err(BulkError::NotRunnable(message));
            }
            let kept = plan.blocking(crate::schedule::load).await?;
            let is_scheduled = kept.is_some_and(|schedule| schedule != crate::Schedule::new());
            if is_scheduled && !folder::is_distributed(plan.dir()) {
                let message = format!(
                    "job {} has a schedule, which workers don't support; resume it without a queue",
                    plan.id()
                );
                return Err(BulkError::NotRunnable(message));
            }
            crate::coordinator::coordinate(plan, backend, sending, options, signal, events).await
        }))
    }

    /// Returns whether the job was started with `distribute`, so that workers send it. They continue even if no process collects their results.
    pub fn is_distributed(&self) -> bool {
        folder::is_distributed(self.plan.dir())
    }

    /// Checks that a client uses the job's account, as [`start`](Self::start) does, without sending anything. A job that hasn't sent anything doesn't
    /// belong to an account yet.
    ///
    /// # Errors
    /// [`BulkError::Account`] if the client uses a different account or base URL. Also fails if the journal or the client's login can't be read.
    pub async fn check_account(&self, client: &Client, account: &Account) -> Result<()> {
        let is_started = self.plan.blocking(status::is_started).await?;
        folder::check_account(&self.plan, is_started, &Sending::new(client, account.clone())).await
    }

    /// Returns the state of the job and its counts, whether or not a process is running it.
    ///
    /// # Errors
    /// The journal can't be read.
    pub async fn status(&self) -> Result<Status> {
        self.plan.blocking(status::read).await
    }

    /// Pauses the job and all of its parts: a running process finishes its requests in flight and stops. The job can be resumed. The workers of a
    /// [distributed job](Self::is_distributed) learn about it from the process that collects their results; if none is running, pause them with
    /// `queue::set_state`.
    ///
    /// # Errors
    /// The folder can't be written.
    pub async fn pause(&self) -> Result<()> {
        self.request(folder::Request::Pause).await
    }

    /// Cancels the job and all of its parts permanently: a running process finishes its requests in flight and stops, and the job can't be resumed.
    /// The workers of a [distributed job](Self::is_distributed) learn about it from the process that collects their results; if none is running,
    /// call `distribute`. If no process is running the job, writes the lists of its rejected and unknown rows: those that were in flight now count as
    /// unknown.
    ///
    /// # Errors
    /// The folder can't be written, or the rows can't be read. The job may be canceled nevertheless.
    pub async fn cancel(&self) -> Result<()> {
        self.request(folder::Request::Cancel).await?;
        let list = |plan: &Plan| {
            let totals = parts::totals(plan)?;
            if !totals.running && folder::is_abandoned(plan.dir()) {
                report::write_lists(plan, &totals.counts)?;
            }
            Ok(())
        };
        self.plan.blocking(list).await
    }

    /// Returns the report of the last run, if there was one.
    ///
    /// # Errors
    /// The report can't be read.
    pub async fn report(&self) -> Result<Option<Report>> {
        self.plan.blocking(|plan| report::read(plan.dir())).await
    }

    /// Calls `visit` with the outcome of every row of the job and its earlier parts that has one, part by part, in the order in which the outcomes
    /// became known. A row that a later part sent again has only the outcome in that part.
    ///
    /// # Errors
    /// The journal or the input can't be read, or `visit` fails.
    pub async fn outcomes(&self, visit: impl FnMut(RowOutcome) -> Result<()> + Send + 'static) -> Result<()> {
        self.plan.blocking(move |plan| outcomes::visit(plan, visit)).await
    }

    /// Reads the latest event of each sent email: delivered, bounced, marked as spam. Reads the service's list of emails back to the job's first
    /// attempt, with one request per 100 emails and about 60 bytes of memory per email of the job. The client needs full access to the job's account.
    ///
    /// # Errors
    /// The errors of [`check_account`](Self::check_account). Also fails if the journal can't be read or the service rejects the request for the list.
    pub async fn last_events(&self, client: &Client, account: &Account) -> Result<LastEvents> {
        self.check_account(client, account).await?;
        last_events::read(Arc::clone(&self.plan), client).await
    }

    /// Searches the service's list of emails for the rows of unknown outcome of the job and its earlier parts, and writes `reconciled.csv`. The job
    /// doesn't change. The client needs full access to the job's account, since other accounts don't list its emails.
    ///
    /// # Errors
    /// The errors of [`check_account`](Self::check_account). Also fails if a canceled part is still running, more than 100,000 rows are unknown, a
    /// file can't be read or written, or the service rejects the request for the list.
    pub async fn reconcile(&self, client: &Client, account: &Account) -> Result<Reconciliation> {
        self.check_account(client, account).await?;
        reconcile::reconcile(Arc::clone(&self.plan), client).await
    }

    /// Replaces each damaged journal of the job and its earlier parts with a new one that contains the readable records, so that the job can be
    /// resumed. The damaged journals stay in their folders, renamed. Returns one entry per damaged journal.
    ///
    /// If a row's record may have been lost, resuming repeats the row under its key if that is safe; otherwise its outcome is
    /// [unknown](crate::Outcome::Unknown).
    ///
    /// # Errors
    /// A process is running the job, workers send it, the plan doesn't belong to the journal, or a file can't be read or written. Needs twice the
    /// memory of the journal, which takes 17 bytes per email.
    pub async fn salvage(&self, options: SalvageOptions) -> Result<Vec<Salvage>> {
        self.plan.blocking(move |plan| salvage::salvage(plan, options)).await
    }

    /// Plans a new part with the rows of all parts of the job that were rejected or whose outcome is unknown; `None` if none can be sent. If a part
    /// that sends such rows is unfinished, opens it instead: repeat the retry until it returns `None`. The part belongs to this job's account.
    ///
    /// # Errors
    /// A file is damaged, or can't be read or written.
    pub async fn retry(&self, retry: Retry) -> Result<Option<Self>> {
        self.plan.blocking(move |plan| Ok(parts::retry(plan, retry)?.map(Self::new))).await
    }

    /// Removes a plan that was never started, such as a [retry](Self::retry) that isn't wanted. A started job stays as it is.
    ///
    /// # Errors
    /// The folder can't be removed.
    pub async fn discard(self) -> Result<()> {
        self.plan.blocking(parts::discard).await
    }

    /// Deletes the folders of the job and its earlier parts, including rows, outcomes and journals. Afterwards, the job can't be continued or retried,
    /// and its recipients are no longer known: a new job with the same rows sends to all of them again, under other idempotency keys.
    ///
    /// # Errors
    /// A process is running the job, workers send it, it has later parts, or the folder can't be removed.
    pub async fn delete(self) -> Result<()> {
        self.plan.blocking(parts::delete).await
    }

    async fn request(&self, request: folder::Request) -> Result<()> {
        let leave = move |plan: &Plan| {
            for part in parts::other_open_parts(plan)? {
                folder::request(part.dir(), request)?;
            }
            folder::request(plan.dir(), request)
        };
        self.plan.blocking(leave).await
    }

    fn check_rows(&self, skip_invalid: bool) -> Result<()> {
        let PlanCounts { rows, invalid, .. } = *self.plan.counts();
        if invalid > 0 && !skip_invalid { Err(BulkError::InvalidRows { invalid, rows }) } else { Ok(()) }
    }
}
