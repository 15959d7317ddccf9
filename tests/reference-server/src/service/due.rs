//! Due work, done in batches: by one thread at a time and in order, and other threads may go on between two batches.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::clock::plus;
use crate::delivery::{self, broadcast, webhooks};
use crate::lock::lock;
use crate::model::domain::Domain;
use crate::model::domain::verification::{self, Check};
use crate::resources::automations::engine;
use crate::resources::domains;
use crate::service::Service;
use crate::state::State;
use crate::state::job::Job;

/// How long a batch takes, but for the end of its last job.
const BATCH: Duration = Duration::from_millis(1);
/// The fewest jobs in a batch, unless one is large: on a busy machine, too, the work that a request causes is done before the next request.
const MIN_SMALL: usize = 32;
/// How long a request waits for a batch that is being done.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// Whose turn it is to do due work.
#[derive(Debug, Default)]
pub(super) struct DueWorker {
    state: Mutex<Waiting>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    busy: bool,
    /// Requests that wait; they go first.
    requests: usize,
}

/// While it lives, no other thread does due work.
struct DueGuard<'a>(&'a DueWorker);

impl DueWorker {
    fn take(&self) -> DueGuard<'_> {
        let waiting = self.free.wait_while(lock(&self.state), |state| state.busy || state.requests > 0);
        waiting.unwrap_or_else(PoisonError::into_inner).busy = true;
        DueGuard(self)
    }

    fn is_busy(&self) -> bool {
        lock(&self.state).busy
    }

    /// None if others take too long.
    fn take_soon(&self) -> Option<DueGuard<'_>> {
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
    /// Does all that has fallen due. Every move of the clock does this too; a mount that lives long calls it now and then, so that a scheduled mail
    /// leaves on time. Requests are answered meanwhile.
    pub fn run_due(&self) {
        let now = self.state.clock.now();
        loop {
            let _guard = self.state.snapshot_lock.enter();
            let turn = self.turns.take();
            let is_more = self.batch(now);
            drop(turn);
            self.tell();
            if !is_more {
                return;
            }
        }
    }

    /// Does some of what has fallen due, before a request: all of it, unless it is much or another thread is doing it.
    pub(crate) fn run_some_due(&self) {
        let now = self.state.clock.now();
        if !self.state.scheduler.is_due(now) && !self.turns.is_busy() {
            return;
        }
        let _guard = self.state.snapshot_lock.enter();
        if let Some(_turn) = self.turns.take_soon() {
            self.batch(now);
        }
        self.tell();
    }

    /// Whether anything has fallen due.
    pub(crate) fn has_due(&self) -> bool {
        self.state.scheduler.is_due(self.state.clock.now())
    }

    /// Does a batch, and answers whether it left anything. Work may be noted while work is done; it is done too if it is due.
    fn batch(&self, now: Timestamp) -> bool {
        let (started, mut small) = (Instant::now(), MIN_SMALL);
        while small > 0 || started.elapsed() < BATCH {
            let Some((turn, work)) = self.state.scheduler.take_due(now) else { return false };
            small = small.saturating_sub(1);
            if let Some(rest) = run(&self.state, turn.0, work) {
                self.state.scheduler.go_on(turn, rest);
                small = 0;
            }
        }
        true
    }
}

/// Does a piece of work that was due at `due`; answers what is left of it, if it is more than is done at a time.
fn run(state: &State, due: Timestamp, work: Job) -> Option<Job> {
    match work {
        Job::SendBroadcast { tenant, broadcast } => {
            return broadcast::fall_due(state, &tenant, broadcast, due).map(Job::ContinueBroadcast);
        }
        Job::ContinueBroadcast(departure) => {
            return broadcast::go_on(state, departure, due).map(Job::ContinueBroadcast);
        }
        Job::Depart { tenant, email } => {
            if let (Some(tenant), Some(email)) = (tenant.upgrade(), email.upgrade()) {
                delivery::depart(state, &tenant, &email, due);
            }
        }
        Job::Note { tenant, email, event } => {
            if let (Some(tenant), Some(email)) = (tenant.upgrade(), email.upgrade()) {
                delivery::record_event(state, &tenant, &email, due, event, None);
            }
        }
        Job::RetryDelivery { tenant, delivery, number } => {
            webhooks::fall_due(state, &tenant, &delivery, number);
        }
        Job::ResumeRun { tenant, run, number } => {
            if let Some(tenant) = tenant.upgrade() {
                engine::wake(state, &tenant, run, number, due);
            }
        }
        Job::NotifyAutomations { tenant, email, event } => {
            if let (Some(tenant), Some(email)) = (tenant.upgrade(), email.upgrade())
                && let Some(kind) = webhooks::payload::kind(event)
            {
                let payload = webhooks::payload::email(&email, event, None, due, &state.links.own());
                engine::email_event(state, &tenant, &email, kind, &Arc::new(payload), due);
            }
        }
        Job::CheckDomain { tenant: owner, domain, number } => {
            let tenant = owner.upgrade()?;
            let end = |domain: &mut Domain| verification::end(domain, number);
            let next = domains::changed_status(state, &tenant, domain, due, end).flatten();
            if let Some(Check { number, due_after }) = next {
                let work = Job::CheckDomain { tenant: owner, domain, number };
                state.scheduler.schedule(plus(due, due_after), work);
            }
        }
    }
    None
}
