//! The rate shared by the workers of a scope.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use idempost::call::RateSignal;
use rand::Rng as _;
use tokio::{
    sync::{Mutex, Notify},
    time::sleep,
};

use super::SLOT_LIFETIME;
use crate::{
    clock::Clock,
    locked::Locked,
    pace::shared::SharedPace,
    queue::{Backend, CellKey, QueueError, RETRY, Result},
};

/// After waiting longer than this for a slot, the worker reads the shared state again: another worker may have paused all of them.
const RECHECK: Duration = Duration::from_millis(250);
/// The longest wait before the shared state is read again.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// At or above this rate, in requests per second, each worker updates the shared state so often that observations can wait for the next update.
const FREQUENT_RPS: f64 = 50.0;

/// A worker's side of the shared pace.
pub(super) struct Pace<B> {
    backend: Arc<B>,
    clock: Arc<Clock>,
    scope: String,
    local: Mutex<Local>,
    /// Observations to share with the next update.
    pending: Locked<Vec<RateSignal>>,
    /// Wakes the task that shares urgent observations.
    unshared: Notify,
    updates_often: AtomicBool,
    pause: Locked<Option<(Duration, String)>>,
}

#[derive(Default)]
struct Local {
    /// The latest known state and its revision; the revision is `None` if no state is stored yet.
    cached: Option<(SharedPace, Option<u64>)>,
    /// Reserved slots.
    slots: VecDeque<Duration>,
}

impl<B: Backend> Pace<B> {
    pub(super) fn new(backend: Arc<B>, clock: Arc<Clock>, scope: String) -> Self {
        Self {
            backend,
            clock,
            scope,
            local: Mutex::default(),
            pending: Locked::default(),
            unshared: Notify::new(),
            updates_often: AtomicBool::new(false),
            pause: Locked::default(),
        }
    }

    /// Waits for a slot and returns it. Dropping the call gives up its slot.
    pub(super) async fn acquire(&self, max_rps: Option<f64>) -> Duration {
        loop {
            let reserved = self.reserve(max_rps).await;
            let now = self.clock.now();
            match reserved {
                Ok(Ok(slot)) => {
                    let wait = slot.saturating_sub(now);
                    sleep(wait).await;
                    if wait > RECHECK {
                        self.refresh().await;
                    }
                    if self.known_pause().is_none() && self.clock.now() < slot + SLOT_LIFETIME {
                        return slot;
                    }
                }
                Ok(Err(until)) => {
                    let jitter = rand::thread_rng().gen_range(1.0..1.05);
                    sleep(until.saturating_sub(now).min(MAX_WAIT).mul_f64(jitter)).await;
                }
                Err(_) => sleep(RETRY).await,
            }
        }
    }

    /// Records an observation. It is shared with the next update, or immediately if it is urgent for other workers or updates are rare.
    pub(super) fn observe(&self, seen: RateSignal) {
        let urgent = seen.is_throttled();
        self.pending.lock().push(seen);
        if urgent || !self.updates_often.load(Ordering::Relaxed) {
            self.unshared.notify_one();
        }
    }

    /// Shares urgent observations as they occur.
    pub(super) async fn share(&self) {
        loop {
            self.unshared.notified().await;
            let mut local = self.local.lock().await;
            if self.pending.lock().iter().any(RateSignal::is_throttled) {
                local.slots.clear();
            }
            // If the queue doesn't respond, the next update shares them.
            let _ = self.update(&mut local, |_, _| ()).await;
        }
    }

    /// Pauses all workers in the scope.
    pub(super) async fn pause(&self, until: Duration, reason: &str) -> Result<()> {
        let mut local = self.local.lock().await;
        local.slots.clear();
        self.update(&mut local, |pace, _| pace.pause(until, reason)).await
    }

    /// Returns the current pause, as far as this worker knows.
    pub(super) fn known_pause(&self) -> Option<(Duration, String)> {
        let pause = self.pause.lock();
        pause.clone().filter(|(until, _)| *until > self.clock.now())
    }

    /// Reserves a slot. The inner error is when to try again.
    async fn reserve(&self, max_rps: Option<f64>) -> Result<Result<Duration, Duration>> {
        let mut local = self.local.lock().await;
        if self.clock.is_in_doubt() {
            self.clock.follow(self.backend.now().await?).map_err(QueueError::clock)?;
        }
        if let Some(slot) = local.slots.pop_front() {
            return Ok(Ok(slot));
        }
        let reserved = self.update(&mut local, |pace, now| pace.reserve(now, max_rps)).await?;
        Ok(reserved.map(|slots| {
            local.slots = slots.into();
            local.slots.pop_front().unwrap_or_default()
        }))
    }

    /// Reads the shared state, in case another worker has paused the scope.
    async fn refresh(&self) {
        let mut local = self.local.lock().await;
        local.cached = None;
        if let Ok((pace, _)) = self.load(&mut local).await {
            self.cache(&pace);
        }
    }

    /// Applies a change and the pending observations to the shared state, by compare-and-set.
    async fn update<T>(
        &self,
        local: &mut Local,
        mut change: impl FnMut(&mut SharedPace, Duration) -> T,
    ) -> Result<T> {
        loop {
            let (mut pace, revision) = self.load(local).await?;
            let now = self.clock.now();
            let seen = self.pending.lock().clone();
            for seen in &seen {
                pace.observe(seen, now);
            }
            let changed = change(&mut pace, now);
            self.cache(&pace);
            let value = serde_json::to_vec(&pace).map_err(QueueError::unavailable("share the send rate"))?;
            local.cached = None;
            if let Some(revision) =
                self.backend.store(CellKey::Rate(&self.scope), value.into(), revision).await?
            {
                local.cached = Some((pace, Some(revision)));
                self.pending.lock().drain(..seen.len());
                return Ok(changed);
            }
        }
    }

    async fn load(&self, local: &mut Local) -> Result<(SharedPace, Option<u64>)> {
        if let Some(cached) = local.cached.clone() {
            return Ok(cached);
        }
        let cell = self.backend.load(CellKey::Rate(&self.scope)).await?;
        // An unreadable state comes from another version: learn the rate again.
        let known = cell.map(|cell| (serde_json::from_slice(&cell.value).ok(), cell.revision));
        let loaded = match known {
            Some((Some(pace), revision)) => (pace, Some(revision)),
            Some((None, revision)) => (SharedPace::new(self.clock.now(), None), Some(revision)),
            None => (SharedPace::new(self.clock.now(), None), None),
        };
        local.cached = Some(loaded.clone());
        Ok(loaded)
    }

    fn cache(&self, pace: &SharedPace) {
        let snapshot = pace.snapshot(self.clock.now());
        self.updates_often.store(snapshot.rate.is_none_or(|rate| rate >= FREQUENT_RPS), Ordering::Relaxed);
        *self.pause.lock() = snapshot.paused;
    }
}
