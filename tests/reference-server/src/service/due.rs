//! Runs due jobs in batches: in order and on one thread at a time. Other threads can proceed between two batches.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::clock::{Now, saturating_add};
use crate::delivery::{self, broadcast, imports, inboxes, webhooks};
use crate::lock::lock;
use crate::model::domain::Domain;
use crate::model::domain::verification::{self, Check};
use crate::resources::automations::engine;
use crate::resources::domains::{self, claims};
use crate::service::Service;
use crate::state::State;
use crate::state::job::{Job, Task, Work};
use crate::state::mails;
use crate::state::moment::Moment;

/// The duration of a batch, not counting its last job.
const BATCH: Duration = Duration::from_millis(1);
/// The minimum number of small jobs in a batch, so that a busy machine still runs the jobs of one request before the next request.
const MIN_SMALL: usize = 32;
/// The timeout of a request that waits for another thread's batch, or of a read that waits for a snapshot.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// Serializes the threads that run due jobs.
#[derive(Debug, Default)]
pub(super) struct DueWorker {
    state: Mutex<Waiting>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    busy: bool,
    /// The number of waiting requests, which have priority.
    requests: usize,
}

/// While it exists, no other thread runs due jobs.
struct DueGuard<'a>(&'a DueWorker);

impl DueWorker {
    fn acquire(&self) -> DueGuard<'_> {
        let waiting = self.free.wait_while(lock(&self.state), |state| state.busy || state.requests > 0);
        waiting.unwrap_or_else(PoisonError::into_inner).busy = true;
        DueGuard(self)
    }

    fn is_busy(&self) -> bool {
        lock(&self.state).busy
    }

    /// Returns `None` after [`MAX_WAIT`].
    fn acquire_timeout(&self) -> Option<DueGuard<'_>> {
        let mut state = lock(&self.state);
        state.requests += 1;
        let waited = self.free.wait_timeout_while(state, MAX_WAIT, |state| state.busy);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.requests -= 1;
        if state.busy {
            return None;
        }
        state.busy = true;
        Some(DueGuard(self))
    }
}

impl Drop for DueGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).busy = false;
        self.0.free.notify_all();
    }
}

impl Service {
    /// Runs all due jobs. Every move of the clock does this too; a long-running mount calls it periodically, so that scheduled emails are
    /// sent on time. Requests are handled in between.
    pub fn run_due(&self) {
        let now = self.state.clock.due();
        loop {
            let _guard = self.state.snapshot_lock.enter();
            let turn = self.due_worker.acquire();
            let is_more = self.batch(now);
            drop(turn);
            self.notify_listeners();
            if !is_more {
                return;
            }
        }
    }

    /// Runs due jobs before a request: all of them, unless there are many, another thread is running them, or a snapshot waits for a request.
    pub(crate) fn run_some_due(&self) {
        let now = self.state.clock.due();
        if !self.state.scheduler.is_due(now) && !self.due_worker.is_busy() {
            return;
        }
        let Some(_guard) = self.state.snapshot_lock.enter_within(MAX_WAIT) else { return };
        if let Some(_turn) = self.due_worker.acquire_timeout() {
            self.batch(now);
        }
        self.notify_listeners();
    }

    /// Whether any job is due.
    pub(crate) fn has_due(&self) -> bool {
        self.state.scheduler.is_due(self.state.clock.due())
    }

    /// Runs one batch and returns whether due jobs remain. Includes due jobs that are scheduled during the batch.
    fn batch(&self, now: Now) -> bool {
        let (started, mut small) = (Instant::now(), MIN_SMALL);
        while small > 0 || started.elapsed() < BATCH {
            let Some((key, job)) = self.state.scheduler.take_due(now) else { return false };
            small = small.saturating_sub(1);
            if let Some(remainder) = run(&self.state, key.0, job) {
                self.state.scheduler.requeue(key, remainder);
                small = 0;
            }
        }
        true
    }
}

/// Runs a job that was due at `due`. Returns the remainder if the job is larger than one step.
fn run(state: &State, due: Timestamp, job: Job) -> Option<Job> {
    let tenant = job.tenant.upgrade()?;
    let remainder = match job.work {
        Work::Task(task) => run_task(Moment { state, tenant: &tenant, at: due }, task).map(Work::Task),
        Work::RetryDelivery(delivery) => {
            webhooks::retry(state, &job.tenant, &delivery, due);
            None
        }
        Work::DeleteExpired => mails::delete_expired(state, &tenant, due).then_some(Work::DeleteExpired),
        Work::ContinueImport(import) => {
            imports::apply_next(Moment { state, tenant: &tenant, at: due }, import).map(Work::ContinueImport)
        }
    };
    remainder.map(|work| Job { work, ..job })
}

fn run_task(moment: Moment<'_>, task: Task) -> Option<Task> {
    let Moment { state, tenant, at: due } = moment;
    let find_email = |id| lock(&tenant.emails).get(id).cloned();
    match task {
        Task::SendBroadcast { broadcast } => {
            return broadcast::send_scheduled(moment, broadcast).map(Task::ContinueBroadcast);
        }
        Task::ContinueBroadcast(rest) => {
            return broadcast::send_next(moment, rest).map(Task::ContinueBroadcast);
        }
        Task::SendEmail { email } => {
            let email = find_email(email)?;
            delivery::dispatch(moment, &email);
        }
        Task::RecordEvent { email, event } => {
            let email = find_email(email)?;
            delivery::continue_outcome(moment, &email, event);
        }
        Task::ResumeRun { run, number } => engine::resume(moment, run, number),
        Task::NotifyAutomations { email, event, detail } => {
            let (email, kind) = (find_email(email)?, webhooks::payload::kind(event)?);
            let payload =
                webhooks::payload::email(&email, event, detail.as_ref(), due, &state.links.prefix());
            engine::email_event(moment, &email, kind, &Arc::new(payload));
        }
        Task::AdvanceClaim { claim, step } => claims::advance(moment, claim, step),
        Task::DeleteThread { thread } => inboxes::delete_expired(tenant, thread, due),
        Task::CheckDomain { domain, number } => {
            let taken = claims::is_taken(state, tenant, domain);
            let end = |domain: &mut Domain| verification::end_check(domain, number, taken);
            let next = domains::changed_status(moment, domain, end).flatten();
            if let Some(Check { number, due_after }) = next {
                let task = Task::CheckDomain { domain, number };
                moment.schedule(saturating_add(due, due_after), task);
            }
        }
    }
    None
}
