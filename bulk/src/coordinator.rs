//! The process that owns a distributed job: it fills the queue, journals what the workers record, and restores data that the queue loses.
//!
//! # Why it can be killed at any time
//!
//! Everything it does is repeatable. Its journal is a copy of the ledger and never ahead of it, so after a restart the coordinator rereads the ledger
//! from the start and skips what it already has. Batches are added under IDs that the queue remembers for some minutes, and the control record counts
//! the added batches; a batch added twice is found to have a result when it is delivered.
//!
//! # Why losing the queue's data causes no duplicate
//!
//! The coordinator records up to which time it has read every intent. If the ledger has been replaced, or is shorter than the part already read, all
//! batches without a result are added again under a new generation. Known intents are restored with their times; for all other batches, the recorded
//! time, less a margin for delays, counts as the first attempt. No key is therefore assumed to be younger than it is.
//!
//! # Why only the coordinator ends a job
//!
//! Workers outlive the coordinator. A cancellation is complete only when all leases have been returned or have expired, and the results are in the
//! journal. Until then `queue.json` stays in the job's folder, so that the cancellation can be repeated.

mod collect;
mod memory;
mod options;
mod supply;

pub use options::DistributeOptions;

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

use self::memory::Memory;
use crate::{
    account::{JobAccount, Sending},
    counts::Counts,
    error::{BulkError, Result},
    folder,
    journal::{Job as JobRecord, Journal, Record, UnixMillis},
    pace::shared::SharedPace,
    plan::{BatchSize, Plan},
    queue::{Backend, CellKey, Control, ControlState, JobFile, QueueError, RETRY, load_control, set_state},
    report::{self, Ending, Report},
    run::{Event, Progress, Stop, StopSignal},
    state::BatchStates,
    worker::CONTROL_INTERVAL,
};

/// Polling interval for the ledger.
const COLLECT_INTERVAL: Duration = Duration::from_millis(100);
/// Polling interval for the queue, the control record and the shared rate.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The number of polls that find the queue empty after which batches without a result count as lost.
const MAX_EMPTY_CHECKS: u32 = 2;
/// The number of polls without a worker after which this is reported.
const MAX_UNATTENDED_CHECKS: u32 = 3;
/// Every connected worker has learned within this time that it should stop.
const PROPAGATION_DELAY: Duration = CONTROL_INTERVAL.saturating_mul(4);

/// Coordinates a job until it is finished or this process stops.
pub(crate) async fn coordinate<B: Backend>(
    plan: Arc<Plan>,
    backend: B,
    sending: Sending,
    options: DistributeOptions,
    signal: StopSignal,
    events: mpsc::Sender<Event>,
) -> Result<Report> {
    let started = Instant::now();
    let folder::Opened { lock, journal, mut states } =
        plan.blocking(|plan| folder::open(plan, Some(plan))).await?;
    // A canceled job is only wound up.
    let account = if folder::is_canceled(plan.dir()) {
        None
    } else {
        Some(folder::resolve_account(&plan, states.job().is_some(), &sending).await?)
    };
    // The returned clock is this machine's; the ages of intents are measured with the queue's clock.
    let _ = states.resume(UnixMillis::now());
    let record = Record::Job(JobRecord { id: plan.id().into(), started: UnixMillis::now() });
    journal.append(&record).await?;
    states.apply(&record)?;

    let sizes = plan.blocking(Plan::batch_sizes).await?;
    let memory = plan.blocking(|plan| Memory::read(plan.dir())).await?;
    let mut coordinator = Coordinator {
        backend,
        sending,
        account,
        options,
        sizes,
        journal,
        states,
        memory,
        control: None,
        files: Vec::new(),
        intents: 0,
        results: 0,
        empty_looks: 0,
        stopping_since: None,
        cancellation: Cancellation::None,
        available: true,
        paused: false,
        progress: Progress::default(),
        replayed: 0,
        unattended: 0,
        settled_before: 0,
        started,
        signal,
        events,
        plan: Arc::clone(&plan),
    };
    coordinator.settled_before = coordinator.settled_batches();
    let ending = coordinator.run().await?;
    if ending == Ending::Finished && !coordinator.states.is_finished() {
        let counts = coordinator.counts();
        coordinator.record(&[Record::Finished(counts)]).await?;
    }
    coordinator.finish(&ending).await?;
    if folder::is_abandoned(plan.dir()) {
        coordinator.states.abandon()?;
    }
    let counts = coordinator.counts();
    counts.check(plan.counts().valid)?;
    let report = Report {
        requests: coordinator.progress.requests,
        throttled: coordinator.progress.throttled,
        replayed: coordinator.replayed,
        ..Report::new(&plan, ending, counts, started.elapsed())
    };
    report::write_report(&plan, report, lock, coordinator).await
}

/// How far a cancellation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cancellation {
    /// The job isn't canceled.
    None,
    /// Workers may still send.
    Requested,
    /// No worker is sending any more, and all results are known.
    Complete,
}

/// A running coordinator.
struct Coordinator<B> {
    plan: Arc<Plan>,
    backend: B,
    sending: Sending,
    /// The job's account; `None` if it is canceled.
    account: Option<JobAccount>,
    options: DistributeOptions,
    sizes: Vec<BatchSize>,
    journal: Journal,
    states: BatchStates,
    /// State besides the journal that survives this process.
    memory: Memory,
    /// The control record and its revision.
    control: Option<(Control, u64)>,
    files: Vec<JobFile>,
    /// The position up to which intents were read.
    intents: u64,
    /// The position up to which results were read.
    results: u64,
    empty_looks: u32,
    /// When this process first saw that the job was paused or canceled.
    stopping_since: Option<Instant>,
    cancellation: Cancellation,
    available: bool,
    paused: bool,
    progress: Progress,
    /// The batches for which a request was repeated.
    replayed: u64,
    /// The number of polls since the job last had a worker.
    unattended: u32,
    settled_before: u64,
    started: Instant,
    signal: StopSignal,
    events: mpsc::Sender<Event>,
}

impl<B: Backend> Coordinator<B> {
    /// Works until every batch has a result, or the job stops.
    async fn run(&mut self) -> Result<Ending> {
        let mut looked = None::<Instant>;
        loop {
            if self.signal.stop() > Stop::No {
                return Ok(Ending::Stopped);
            }
            let due = looked.is_none_or(|looked| looked.elapsed() >= CHECK_INTERVAL);
            let worked = self.run_round(due).await;
            if due {
                looked = Some(Instant::now());
            }
            self.report_progress();
            match worked {
                Ok(Some(ending)) => return Ok(ending),
                Ok(None) => self.set_available(None),
                Err(BulkError::Queue(error)) if error.is_transient() => {
                    self.set_available(Some(&error));
                    self.pause(RETRY).await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if self.is_supplied() || self.cancellation != Cancellation::None {
                self.pause(COLLECT_INTERVAL).await;
            }
        }
    }

    /// Does one round of work.
    async fn run_round(&mut self, look: bool) -> Result<Option<Ending>> {
        if look && folder::is_canceled(self.plan.dir()) {
            self.cancellation = Cancellation::Requested;
        }
        if self.cancellation != Cancellation::None {
            return self.cancel(look).await;
        }
        if self.control.is_none() {
            self.prepare().await?;
        }
        if look && self.is_lost().await? {
            self.restore(true).await?;
        }
        self.supply().await?;
        let ending = if look { self.check_queue().await? } else { None };
        // Must follow `check_queue`: a worker records the result before it returns the lease, so no result of a returned lease is missed.
        let collected = self.collect().await;
        if let Err(BulkError::Queue(QueueError::Lost { .. })) = collected {
            self.restore(true).await?;
        }
        collected?;
        if self.states.is_complete() {
            return Ok(Some(Ending::Finished));
        }
        Ok(ending)
    }

    /// Follows requests of other processes, and checks for batches that the queue has lost.
    async fn check_queue(&mut self) -> Result<Option<Ending>> {
        // Other processes leave their requests in the job's folder.
        if folder::stop_is_requested(self.plan.dir()) {
            set_state(&self.backend, ControlState::Paused).await?;
        }
        let Some((control, revision)) = load_control(&self.backend).await? else {
            self.restore(true).await?;
            return Ok(None);
        };
        self.check_unfinished(&control)?;
        let (asked, cause) = (control.state, control.reason.clone());
        if asked == ControlState::Canceled {
            // The job stays canceled even after the queue has forgotten it.
            folder::request(self.plan.dir(), folder::Request::Cancel)?;
            self.cancellation = Cancellation::Requested;
            return Ok(None);
        }
        self.control = Some((control, revision));
        self.read_shared_rate().await?;
        let entries = self.backend.stats().await?;
        self.memory.save(self.plan.dir())?;
        if asked != ControlState::Running {
            let ends = cause.is_some() || folder::stop_is_requested(self.plan.dir());
            let ending = cause.map_or(Ending::Stopped, |reason| Ending::Paused { until: None, reason });
            return Ok((ends && self.workers_have_stopped(entries.leased)).then_some(ending));
        }
        self.stopping_since = None;
        self.check_for_workers().await?;
        if !self.is_supplied() || !entries.is_empty() {
            self.empty_looks = 0;
            return Ok(None);
        }
        self.empty_looks += 1;
        if self.empty_looks >= MAX_EMPTY_CHECKS {
            self.empty_looks = 0;
            self.supply_again().await?;
        }
        Ok(None)
    }

    /// Reports once when no worker is processing the job.
    async fn check_for_workers(&mut self) -> Result<()> {
        if self.backend.is_attended().await? {
            self.unattended = 0;
            return Ok(());
        }
        self.unattended = self.unattended.saturating_add(1);
        if self.unattended == MAX_UNATTENDED_CHECKS {
            let _ = self.events.try_send(Event::NoWorkers);
        }
        Ok(())
    }

    /// Returns whether the workers have finished the batches that were in flight when the job was paused or canceled.
    fn workers_have_stopped(&mut self, leased: u64) -> bool {
        let stopping = self.stopping_since.get_or_insert_with(Instant::now).elapsed();
        // The queue counts the leases of killed workers until another worker asks for a batch, which none does now.
        stopping >= PROPAGATION_DELAY && (leased == 0 || stopping >= self.backend.lease_time())
    }

    /// Ends a canceled job: informs the workers, and collects the results of their batches in flight. Nothing that the queue has lost is restored.
    async fn cancel(&mut self, look: bool) -> Result<Option<Ending>> {
        if look {
            let leased = self.request_worker_exit().await.or_else(ignore_lost_data)?;
            if self.workers_have_stopped(leased) {
                self.cancellation = Cancellation::Complete;
            }
        }
        self.collect().await.or_else(ignore_lost_data)?;
        Ok(match self.cancellation {
            _ if self.states.is_complete() => Some(Ending::Finished),
            Cancellation::Complete => Some(Ending::Stopped),
            _ => None,
        })
    }

    /// Tells the workers to leave. Returns the number of batches that they haven't returned yet.
    async fn request_worker_exit(&mut self) -> Result<u64> {
        // Without a record, the queue has lost the job and the workers have nothing to send.
        let Some((control, revision)) = load_control(&self.backend).await? else { return Ok(0) };
        self.backend.use_generation(&control.generation);
        if matches!(control.state, ControlState::Running | ControlState::Paused) {
            set_state(&self.backend, ControlState::Canceled).await?;
        }
        self.control = Some((control, revision));
        Ok(self.backend.stats().await?.leased)
    }

    /// Reads the shared rate, for progress reports and for a later resumption.
    async fn read_shared_rate(&mut self) -> Result<()> {
        let Some(scope) = self.control.as_ref().map(|(control, _)| control.rate_scope.clone()) else {
            return Ok(());
        };
        let now = self.backend.now().await?;
        let Some(cell) = self.backend.load(CellKey::Rate(&scope)).await? else {
            // The queue has lost the rate, or it is a new queue: the workers start with the rate that an earlier run learned.
            if let Some(rate) = self.states.rate() {
                let pace = serde_json::to_vec(&SharedPace::new(now, Some(rate)));
                let pace = pace.map_err(QueueError::unavailable("share the send rate"))?;
                self.backend.store(CellKey::Rate(&scope), pace.into(), None).await?;
            }
            return Ok(());
        };
        let Ok(pace) = serde_json::from_slice::<SharedPace>(&cell.value) else { return Ok(()) };
        let snapshot = pace.snapshot(now);
        self.progress.requests_per_second = snapshot.rate;
        self.progress.learned_limit = snapshot.learned_limit;
        if let Some(rate) = snapshot.learned_limit.filter(|rate| self.states.rate() != Some(*rate)) {
            let record = Record::Rate(rate);
            self.journal.note(&record);
            self.states.apply(&record)?;
        }
        let pause = snapshot.paused.map(|(until, reason)| (until.saturating_sub(now), reason));
        let pause = pause.filter(|(remaining, _)| *remaining > CHECK_INTERVAL);
        let was_paused = std::mem::replace(&mut self.paused, pause.is_some());
        if let (Some((remaining, reason)), false) = (pause, was_paused) {
            let _ = self.events.try_send(Event::Paused { remaining, reason });
        }
        Ok(())
    }

    /// Ends the coordination: informs the workers and removes what is no longer needed.
    async fn finish(&mut self, ending: &Ending) -> Result<()> {
        self.memory.save(self.plan.dir())?;
        if *ending != Ending::Finished && self.cancellation != Cancellation::Complete {
            return Ok(());
        }
        let cleared = async {
            loop {
                let cleared = async {
                    if self.cancellation == Cancellation::None {
                        set_state(&self.backend, ControlState::Finished).await?;
                    }
                    self.backend.clear().await
                };
                match cleared.await {
                    Err(error) if error.is_transient() => sleep(RETRY).await,
                    // The job is over either way.
                    _ => return,
                }
            }
        };
        let cleared = tokio::select! {
            () = cleared => true,
            () = sleep(Duration::from_secs(30)) => false,
            () = self.signal.wait_for(Stop::Drain) => false,
        };
        if cleared && self.cancellation != Cancellation::None {
            folder::forget_queue(self.plan.dir())?;
        }
        Ok(())
    }

    /// Journals records durably, then applies them.
    async fn record(&mut self, records: &[Record]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.journal.append_all(records).await?;
        for record in records {
            self.states.apply(record)?;
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        let settled = self.states.settled_counts();
        let remaining = self.plan.counts().valid - settled.sent - settled.rejected - settled.unknown;
        Counts { remaining, ..settled }
    }

    fn settled_batches(&self) -> u64 {
        self.plan.counts().valid - self.counts().remaining
    }

    fn report_progress(&mut self) {
        let counts = self.counts();
        let elapsed = self.started.elapsed();
        let settled = self.settled_batches() - self.settled_before;
        let remaining = crate::run::remaining(elapsed, settled, counts.remaining);
        let progress = Progress { counts, elapsed, remaining, ..self.progress.clone() };
        let _ = self.events.try_send(Event::Progress(progress));
    }

    /// Reports once when the queue stops responding, and once when it responds again.
    fn set_available(&mut self, failure: Option<&QueueError>) {
        if std::mem::replace(&mut self.available, failure.is_none()) == failure.is_none() {
            return;
        }
        let event = match failure {
            Some(error) => Event::QueueUnavailable { reason: error.with_cause() },
            None => Event::QueueAvailable,
        };
        let _ = self.events.try_send(event);
    }

    /// Waits for `time`, unless the job stops first.
    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = sleep(time) => {}
            () = self.signal.wait_for(Stop::Drain) => {}
        }
    }
}

/// Ignores lost data, which must not prevent a cancellation.
fn ignore_lost_data<T: Default>(error: BulkError) -> Result<T> {
    match error {
        BulkError::Queue(QueueError::Lost { .. }) => Ok(T::default()),
        error => Err(error),
    }
}
