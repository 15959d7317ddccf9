//! A process that sends a distributed job's batches.
//!
//! # Why independent workers send each batch only once
//!
//! A worker first checks that its credential belongs to the job's [account](crate::Account), since idempotency keys are only valid within one
//! account. Then it takes a permit from the shared rate, leases one batch, and records its intent before it sends, as the [queue](crate::queue)
//! describes. It never leases more than it is about to send: if a lease expired while its batch waits, another worker would make a second attempt.
//! The body is rendered from the job's files, whose hashes are verified, so every worker renders the same bytes; if the body's hash still differs
//! from the recorded intent's, the batch becomes unknown instead of being sent under another key.
//!
//! A killed worker leaves a lease, which expires, and possibly an intent without a result. The next worker to receive the batch sends the same bytes
//! under the same key, if the first attempt is recent enough.

mod cache;
mod claim;
mod deliver;
mod event;
mod options;
mod pace;
mod refusals;
mod renderer;
mod settled;

pub use event::{WorkerEnding, WorkerEvent, WorkerReport};
pub use options::WorkerOptions;
pub(crate) use settled::RequestCounts;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use idempost::Client;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use self::{
    deliver::{Delivered, deliver},
    pace::Pace,
    refusals::RejectedBatches,
    renderer::Renderer,
};
use crate::{
    account::Sending,
    clock::{Clock, check_step},
    deliver::Service,
    error::{BulkError, Result},
    files::blocking,
    locked::Locked,
    pace::{Gate, PaceOptions, Permit, shared::SharedPace},
    plan::Plan,
    queue::{Backend, CellKey, Control, ControlState, Lease, QueueError, RETRY, RunningJob, load_control},
    run::{Handle, MAX_REJECTIONS, MIN_REPORTED_PAUSE, Stop, StopSignal},
    sender::Sender,
};

/// The job's description among its files.
pub(crate) const DESCRIPTION: &str = "description.json";
/// How long a request for a batch waits at the queue.
const PULL_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the worker reads the control record and the queue's clock.
pub(crate) const CONTROL_INTERVAL: Duration = Duration::from_millis(500);
/// The number of concurrent pulls, each with the right to send. More than one hides the network latency.
const PULLS: usize = 8;
/// How long a slot of the shared rate stays usable, since using several old slots would cause a burst.
const SLOT_LIFETIME: Duration = Duration::from_millis(250);
/// The number of events buffered for a slow reader; beyond it, events are dropped.
const EVENTS: usize = 256;
/// The rate of the local gate, which limits only requests in flight, retries and failures: the rate itself is shared.
const UNLIMITED: f64 = 1e9;

/// A running worker. Dropping this value doesn't stop it.
#[derive(Debug)]
pub struct Worker(Handle<WorkerEvent, WorkerReport>);

impl Worker {
    /// Starts a worker for one job on the current tokio runtime. It waits until the coordinator has uploaded the job, stores the job's files in their
    /// own folder in `cache`, and ends with the job. At the end, it deletes the files, unless another worker uses them or it ends
    /// [idle](WorkerEnding::Idle).
    ///
    /// Build the client with [`RateLimit::Off`](idempost::call::RateLimit::Off): the workers share the job's rate.
    pub fn start(
        backend: impl Backend,
        client: &Client,
        cache: impl AsRef<Path>,
        options: WorkerOptions,
    ) -> Self {
        let sending = Sending::new(client, options.account.clone());
        let (backend, sender) = (Arc::new(backend), client.clone());
        let dir = cache.as_ref().join(backend.job());
        Self(Handle::spawn(EVENTS, |stop, signal, events| async move {
            let start = Start { backend, sender, sending, dir: dir.clone(), options, events };
            let report = start.run(stop, signal).await;
            if !report.as_ref().is_ok_and(|report| report.ending == WorkerEnding::Idle) {
                blocking(move || {
                    cache::delete(&dir);
                    Ok(())
                })
                .await?;
            }
            report
        }))
    }

    /// Deletes the files in `cache` of jobs that aren't in `running`: files left behind by workers that ended idle or were killed. Blocks.
    pub fn delete_ended(cache: impl AsRef<Path>, running: &[RunningJob]) {
        cache::delete_ended(cache.as_ref(), |job| running.iter().any(|running| running.id == job));
    }

    /// Returns the next event, or `None` when the worker has stopped. If the reader is slow, the worker drops events.
    pub async fn next(&mut self) -> Option<WorkerEvent> {
        self.0.next().await
    }

    /// Stops once the requests in flight have finished. No more requests are sent; batches waiting for a retry return to the queue.
    pub fn stop(&self) {
        self.0.stop(Stop::Drain);
    }

    /// Stops immediately. The queue delivers the batches in flight to other workers when their leases expire.
    pub fn abort(&self) {
        self.0.stop(Stop::Abort);
    }

    /// Waits until the worker stops, and returns what it did.
    ///
    /// # Errors
    /// [`BulkError::Account`] if the job belongs to another account; no batch was taken. Also fails if the job can't be read.
    pub async fn finish(self) -> Result<WorkerReport> {
        self.0.finish().await
    }
}

/// A worker's initial state.
struct Start<B, S> {
    backend: Arc<B>,
    sender: S,
    sending: Sending,
    /// The folder of the job's files.
    dir: PathBuf,
    options: WorkerOptions,
    events: mpsc::Sender<WorkerEvent>,
}

/// State shared by a worker's deliveries.
struct Shared<B, S> {
    backend: Arc<B>,
    sender: S,
    plan: Arc<Plan>,
    options: WorkerOptions,
    clock: Arc<Clock>,
    gate: Gate,
    pace: Pace<B>,
    renderer: Renderer,
    stop: StopSignal,
    control: watch::Receiver<Control>,
    events: mpsc::Sender<WorkerEvent>,
    /// What the worker has done so far.
    report: Locked<WorkerReport>,
    refusals: Locked<RejectedBatches>,
    service: Service,
    /// When the last batch was leased, or when the worker joined the job.
    leased: Locked<Instant>,
    /// The end of the last pause that was reported.
    reported_pause: Locked<Duration>,
}

impl<B: Backend, S: Sender> Start<B, S> {
    async fn run(self, stop: watch::Sender<Stop>, signal: StopSignal) -> Result<WorkerReport> {
        let joined = tokio::select! {
            () = signal.wait_for(Stop::Drain) => return Ok(WorkerReport::default()),
            joined = self.join() => joined?,
        };
        let Joined { control, plan, clock, cached: _cached } = match joined {
            Ok(joined) => joined,
            Err(ending) => return Ok(WorkerReport { ending, ..WorkerReport::default() }),
        };
        let (control_sender, control) = watch::channel(control);
        let follower = tokio::spawn(follow_control(
            Arc::clone(&self.backend),
            control_sender,
            Arc::clone(&clock),
            self.events.clone(),
        ));
        let scope = control.borrow().rate_scope.clone();
        let concurrency = self.options.concurrency;
        let shared = Arc::new(Shared {
            gate: Gate::new(PaceOptions { max_rps: None, concurrency, start_rate: Some(UNLIMITED) }),
            pace: Pace::new(Arc::clone(&self.backend), Arc::clone(&clock), scope),
            renderer: Renderer::new(Arc::clone(&plan)),
            backend: self.backend,
            sender: self.sender,
            plan,
            options: self.options,
            clock,
            stop: signal,
            control,
            events: self.events,
            report: Locked::default(),
            refusals: Locked::default(),
            service: Service::new(MAX_REJECTIONS, concurrency),
            leased: Locked::new(Instant::now()),
            reported_pause: Locked::default(),
        });
        let ending = tokio::select! {
            ending = deliver_batches(&shared, &stop) => ending,
            () = shared.pace.share() => Ok(WorkerEnding::Stopped),
            () = announce_worker(&*shared.backend) => Ok(WorkerEnding::Stopped),
        };
        follower.abort();
        let ending = ending?;
        Ok(shared.tally(|report| WorkerReport { ending, ..report.clone() }))
    }

    /// Reads the job's control record and the queue's clock.
    async fn find_job(&self) -> Result<Option<(Control, Duration)>, QueueError> {
        let Some((control, _)) = load_control(&*self.backend).await? else { return Ok(None) };
        let now = self.backend.now().await?;
        if let Some(cell) = self.backend.load(CellKey::Rate(&control.rate_scope)).await?
            && let Ok(pace) = serde_json::from_slice::<SharedPace>(&cell.value)
        {
            check_step(pace.latest(), now, now).map_err(QueueError::clock)?;
        }
        Ok(Some((control, now)))
    }

    /// Waits for the job and joins it, or returns how the worker ended.
    async fn join(&self) -> Result<Result<Joined, WorkerEnding>> {
        let mut reported = None;
        loop {
            let reason = match self.try_join().await {
                Ok(Some(joined)) => return Ok(joined),
                Ok(None) => "the job isn't in the queue yet".to_owned(),
                Err(BulkError::Queue(error))
                    if error.is_transient() || matches!(error, QueueError::Clock { .. }) =>
                {
                    error.with_cause()
                }
                Err(error) => return Err(error),
            };
            if reported.as_ref() != Some(&reason) {
                let _ = self.events.try_send(WorkerEvent::Waiting { reason: reason.clone() });
                reported = Some(reason);
            }
            sleep(CONTROL_INTERVAL).await;
        }
    }

    /// Copies the job's files and opens its plan; `None` if the queue doesn't know the job.
    async fn try_join(&self) -> Result<Option<Result<Joined, WorkerEnding>>> {
        let Some((control, now)) = self.find_job().await? else { return Ok(None) };
        match control.state {
            ControlState::Finished => return Ok(Some(Err(WorkerEnding::Finished))),
            ControlState::Canceled => return Ok(Some(Err(WorkerEnding::Canceled))),
            ControlState::Running | ControlState::Paused => {}
        }
        let presented = self.sending.present(&control.account.salt).await?;
        control.account.check(&presented)?;
        self.backend.use_generation(&control.generation);
        let dir = self.dir.clone();
        let cached = blocking(move || cache::open(&dir)).await?;
        let dir = self.dir.clone();
        for file in &control.files {
            self.backend.download(file, &dir.join(&file.name)).await?;
        }
        let plan = blocking(move || {
            let path = dir.join(DESCRIPTION);
            let description = std::fs::read(&path).map_err(BulkError::io("read", path))?;
            Plan::unpack(&dir, &description)
        })
        .await?;
        self.sending.check_service(plan.origin(), plan.profile())?;
        plan.check_redirection(self.sending.recipient_guard())?;
        if plan.id() != self.backend.job() {
            return Err(BulkError::PlanChanged(format!(
                "the files in the queue belong to job {}",
                plan.id()
            )));
        }
        let clock = Arc::new(Clock::new_following(now));
        Ok(Some(Ok(Joined { control, plan: Arc::new(plan), clock, cached })))
    }
}

/// A job that a worker has joined.
struct Joined {
    control: Control,
    plan: Arc<Plan>,
    clock: Arc<Clock>,
    /// The job's files aren't deleted while this is open.
    cached: File,
}

/// Signals to the coordinator that the job has a worker.
async fn announce_worker(backend: &impl Backend) {
    loop {
        // It ends when the connection does.
        let _ = backend.announce_worker().await;
        sleep(RETRY).await;
    }
}

/// Follows the control record and the queue's clock.
async fn follow_control<B: Backend>(
    backend: Arc<B>,
    control: watch::Sender<Control>,
    clock: Arc<Clock>,
    events: mpsc::Sender<WorkerEvent>,
) {
    let mut available = true;
    loop {
        sleep(CONTROL_INTERVAL).await;
        let look = async {
            let found = load_control(&*backend).await?;
            clock.follow(backend.now().await?).map_err(QueueError::clock)?;
            Ok::<_, QueueError>(found)
        };
        match look.await {
            Ok(found) => {
                if let Some((found, _)) = found {
                    let (ours, theirs) = (control.borrow().account.salt.clone(), &found.account.salt);
                    if ours != *theirs {
                        // The job's name now belongs to another job, perhaps in another account: the job that the worker joined no longer exists.
                        control.send_modify(|control| control.state = ControlState::Canceled);
                        return;
                    }
                    backend.use_generation(&found.generation);
                    control.send_if_modified(|current| std::mem::replace(current, found.clone()) != found);
                }
                if !std::mem::replace(&mut available, true) {
                    let _ = events.try_send(WorkerEvent::QueueAvailable);
                }
            }
            Err(error) => {
                if std::mem::replace(&mut available, false) {
                    let _ = events.try_send(WorkerEvent::QueueUnavailable { reason: error.with_cause() });
                }
            }
        }
    }
}

/// The worker's next step.
enum Step {
    /// Send this batch, in this slot of the shared rate unless the slot has expired.
    Deliver(Lease, Permit, Option<Duration>),
    /// Leave the job.
    Leave(WorkerEnding),
}

/// Delivers batches until the job or the worker ends.
async fn deliver_batches<B: Backend, S: Sender>(
    shared: &Arc<Shared<B, S>>,
    stop: &watch::Sender<Stop>,
) -> Result<WorkerEnding> {
    let mut deliveries = JoinSet::new();
    let mut ending = None;
    let mut failure = None;
    let mut steps = FuturesUnordered::new();
    loop {
        let stopping = ending.is_some() || shared.stop.stop() > Stop::No;
        if stopping && deliveries.is_empty() {
            break;
        }
        if stopping {
            // Open pulls end here.
            steps.clear();
        } else {
            let free = shared.options.concurrency - deliveries.len().min(shared.options.concurrency);
            while steps.len() < free.min(PULLS) {
                steps.push(shared.next_step());
            }
        }
        tokio::select! {
            biased;
            () = shared.stop.wait_for(Stop::Abort) => {
                deliveries.abort_all();
                break;
            }
            Some(delivered) = deliveries.join_next() => match delivered {
                Ok(Delivered::Unauthorized(reason)) => {
                    stop.send_if_modified(|stop| stop.raise(Stop::Drain));
                    ending = Some(WorkerEnding::Unauthorized { reason });
                }
                Ok(Delivered::Failed(error)) => {
                    stop.send_if_modified(|stop| stop.raise(Stop::Drain));
                    failure.get_or_insert(error);
                }
                // The lease expires, and the queue counts a failed delivery.
                Err(error) if error.is_panic() => shared.report_event(WorkerEvent::Panicked),
                Ok(Delivered::Settled | Delivered::Released) | Err(_) => {}
            },
            () = shared.stop.wait_for(Stop::Drain), if !stopping => {}
            Some(next) = steps.next() => match next {
                Step::Deliver(lease, permit, slot) => {
                    deliveries.spawn(deliver(Arc::clone(shared), lease, permit, slot));
                }
                Step::Leave(reason) => {
                    ending.get_or_insert(reason);
                }
            },
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(ending.unwrap_or(WorkerEnding::Stopped)),
    }
}

impl<B: Backend, S: Sender> Shared<B, S> {
    /// Waits for the next batch: first for the right to send, then for the batch itself.
    async fn next_step(&self) -> Step {
        let mut control = self.control.clone();
        loop {
            let state = control.borrow_and_update().state;
            match state {
                ControlState::Running => {}
                ControlState::Finished => return Step::Leave(WorkerEnding::Finished),
                ControlState::Canceled => return Step::Leave(WorkerEnding::Canceled),
                ControlState::Paused if self.options.leave_when_idle.is_some() => {
                    return Step::Leave(WorkerEnding::Idle);
                }
                ControlState::Paused => {
                    // This ends only with the worker.
                    if control.changed().await.is_err() {
                        return Step::Leave(WorkerEnding::Stopped);
                    }
                    continue;
                }
            }
            let permit = self.gate.acquire().await;
            let slot = self.slot().await;
            while self.is_running() {
                match self.backend.take(PULL_TIMEOUT).await {
                    Ok(Some(lease)) => {
                        *self.leased.lock() = Instant::now();
                        let usable =
                            self.clock.now() < slot + SLOT_LIFETIME && self.pace.known_pause().is_none();
                        return Step::Deliver(lease, permit, usable.then_some(slot));
                    }
                    Ok(None) if self.is_idle() => return Step::Leave(WorkerEnding::Idle),
                    Ok(None) => {}
                    Err(_) => sleep(RETRY).await,
                }
            }
        }
    }

    /// Waits for a slot of the shared rate.
    async fn slot(&self) -> Duration {
        let max_rps = self.control.borrow().max_rps;
        let acquired = self.pace.acquire(max_rps);
        tokio::pin!(acquired);
        if let Ok(slot) = timeout(MIN_REPORTED_PAUSE, &mut acquired).await {
            return slot;
        }
        // All pulls wait for the end of the same pause.
        if let Some((until, reason)) = self.pace.known_pause()
            && std::mem::replace(&mut *self.reported_pause.lock(), until) < until
        {
            let remaining = until.saturating_sub(self.clock.now());
            self.report_event(WorkerEvent::Paused { remaining, reason });
        }
        acquired.await
    }

    fn is_idle(&self) -> bool {
        let leased = self.leased.lock();
        self.options.leave_when_idle.is_some_and(|time| leased.elapsed() >= time)
    }

    fn is_running(&self) -> bool {
        self.control.borrow().state == ControlState::Running
    }

    /// Resolves when the worker stops or the job is no longer running.
    async fn wait_for_stop(&self) {
        let mut control = self.control.clone();
        tokio::select! {
            () = self.stop.wait_for(Stop::Drain) => {}
            _ = control.wait_for(|control| control.state != ControlState::Running) => {}
        }
    }

    fn report_event(&self, event: WorkerEvent) {
        let _ = self.events.try_send(event);
    }

    fn tally<T>(&self, change: impl FnOnce(&mut WorkerReport) -> T) -> T {
        change(&mut self.report.lock())
    }
}
