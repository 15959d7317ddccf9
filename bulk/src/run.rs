//! The execution of a job on this machine.
//!
//! # Why every row is delivered at most once, and none is lost
//!
//! The plan fixes each batch's composition; the job, the batch and the exact bytes of its body determine its idempotency key. Before a batch's first
//! request is sent, its intent is durable in the journal; before the batch counts as done, its result is. A crash therefore leaves each batch in one
//! of three states: without an intent, nothing was sent; with a result, nothing is sent again; with only an intent, the same bytes are sent under the
//! same key, which the service executes at most once within 24 hours. Where that isn't possible (the key has expired, or the body would differ), the
//! batch becomes unknown and is never sent again automatically. A key is only valid within one account, so the job's [account](crate::account) is
//! checked first.

mod control;
mod deliver;
mod event;
mod feedback;
mod feeder;
mod handle;
mod options;
#[cfg(test)]
mod tests;

#[cfg(feature = "nats")]
pub(crate) use control::Control as StopSignal;
pub(crate) use control::Stop;
#[cfg(feature = "nats")]
pub(crate) use event::outcome_event;
pub use event::{Event, Progress};
pub(crate) use handle::Handle;
pub(crate) use options::MAX_CONCURRENCY;
#[cfg(feature = "nats")]
pub(crate) use options::MAX_REJECTIONS;
pub use options::RunOptions;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OnceCell, mpsc, watch},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use self::{control::Control, deliver::deliver, feedback::Sampler, feeder::Feeder};
use crate::{
    account::Sending,
    clock::Clock,
    counts::Counts,
    deliver::{Delivery, Service},
    error::{BulkError, Result},
    folder::{self, Opened},
    journal::{Job, Journal, Record},
    locked::Locked,
    pace::{Gate, PaceOptions, Pause},
    parts,
    plan::Plan,
    report::{self, Ending, Report},
    schedule::{self, Schedule, Timetable},
    sender::Sender,
    state::BatchStates,
    stop_rule::{BadOutcomes, StopRule},
};

/// The interval of progress events, and of checks for pauses, outages and requests from other processes.
const TICK: Duration = Duration::from_millis(100);
/// The interval at which the learned rate is journaled.
const RATE_INTERVAL: Duration = Duration::from_secs(10);
/// Pauses shorter than this aren't reported.
pub(crate) const MIN_REPORTED_PAUSE: Duration = Duration::from_secs(2);
/// The number of events buffered for a slow reader; beyond it, progress events are dropped.
const EVENTS: usize = 1_024;

/// A running job. Dropping this value doesn't stop it.
#[derive(Debug)]
pub struct Run(Handle<Event, Report>);

impl Run {
    /// Starts a job on the current tokio runtime.
    pub(crate) fn start<S: Sender>(
        plan: Arc<Plan>,
        sender: S,
        sending: Option<Sending>,
        options: RunOptions,
    ) -> Self {
        Self::spawn(|stop, control, events| async move {
            let job = Arc::clone(&plan);
            let launch = Launch { job, sender: Arc::new(sender), sending, options, stop, control, events };
            let ended = launch.run().await;
            let Err(BulkError::PlanChanged(why)) = ended else { return ended };
            let totals = plan.blocking(parts::totals).await;
            let more = if totals.is_ok_and(|totals| totals.is_unsent()) { "" } else { " more" };
            Err(BulkError::PlanChanged(format!("{why}; nothing{more} was sent")))
        })
    }

    /// Starts a task that can be stopped and that reports events like a job.
    pub(crate) fn spawn<W>(work: impl FnOnce(watch::Sender<Stop>, Control, mpsc::Sender<Event>) -> W) -> Self
    where
        W: Future<Output = Result<Report>> + Send + 'static,
    {
        Self(Handle::spawn(EVENTS, work))
    }

    /// Returns the next event, or `None` when the job has stopped. If the reader is slow, the job drops progress events and waits with all others:
    /// keep calling this, or [`finish`](Self::finish).
    pub async fn next(&mut self) -> Option<Event> {
        self.0.next().await
    }

    /// Stops once the requests in flight have finished. No more requests are sent.
    pub fn stop(&self) {
        self.0.stop(Stop::Drain);
    }

    /// Stops immediately. Requests in flight are sent again under the same keys when the job is resumed.
    pub fn abort(&self) {
        self.0.stop(Stop::Abort);
    }

    /// Waits until the job stops, and returns its report. [`Report::ending`] says whether the job is finished.
    ///
    /// # Errors
    /// [`BulkError::Account`] if the job belongs to another account. Also fails if the journal or another job file can't be written, or the input
    /// changed.
    pub async fn finish(self) -> Result<Report> {
        self.0.finish().await
    }
}

/// A job that is about to run.
struct Launch<S> {
    job: Arc<Plan>,
    sender: Arc<S>,
    sending: Option<Sending>,
    options: RunOptions,
    stop: watch::Sender<Stop>,
    control: Control,
    events: mpsc::Sender<Event>,
}

impl<S: Sender> Launch<S> {
    /// Runs the earlier parts that still have rows to send, and then the plan itself.
    async fn run(mut self) -> Result<Report> {
        let plan = &Arc::clone(&self.job);
        let parts = plan.blocking(parts::mark_started).await?;
        if self.options.schedule.is_none() {
            self.options.schedule = plan.blocking(schedule::load).await?;
        }
        let mut before = None;
        for part in parts.into_iter().map(Arc::new) {
            let mut report = execute(&part, &self, before.as_ref()).await?;
            // The request may have come after the part's last one.
            if report.ending == Ending::Finished && folder::stop_is_requested(plan.dir()) {
                report.ending = Ending::Stopped;
            }
            if report.ending != Ending::Finished {
                let totals = plan.blocking(parts::totals).await?;
                return Ok(report.into_job_report(plan, totals.counts));
            }
            before = Some(report);
        }
        execute(plan, &self, before.as_ref()).await
    }
}

/// State shared by a job's deliveries.
struct Shared<S> {
    plan: Arc<Plan>,
    sender: Arc<S>,
    clock: Clock,
    /// Whether the clock was compared with the service's, as it is before the first new request.
    compared: OnceCell<()>,
    /// The intents of this run's open requests that have this machine's time, by batch, until the service's time is known.
    undated: Locked<HashMap<u32, Record>>,
    gate: Gate,
    journal: Journal,
    timetable: Option<Timetable>,
    sampler: Option<Sampler>,
    /// The rows of the job's other parts, which count for rules.
    others: Counts,
    states: Locked<BatchStates>,
    control: Control,
    events: mpsc::Sender<Event>,
    /// The requests of this run.
    requests: AtomicU64,
    /// The batches of this run that repeated an earlier attempt.
    replayed: AtomicU64,
    service: Service,
}

impl<S> Shared<S> {
    /// Journals a record durably, then applies it.
    async fn record(&self, record: &Record) -> Result<()> {
        self.forget_intent(record);
        // A schedule counts by this machine's clock, which may stay ahead.
        let lead = if self.timetable.is_some() { Duration::ZERO } else { self.clock.lead() };
        self.journal.append(&record.dated_back(lead)).await?;
        self.apply(record)?;
        let (Record::Intent { batch, .. } | Record::EmailIntent { batch, .. }) = record else {
            return Ok(());
        };
        let known = {
            let mut undated = self.undated.lock();
            let known = self.clock.lead();
            if known.is_zero() {
                undated.insert(*batch, record.clone());
            }
            known
        };
        if known > lead { self.journal.append(&record.dated_back(known)).await } else { Ok(()) }
    }

    /// Forgets an intent that must not be journaled again after this record.
    fn forget_intent(&self, record: &Record) {
        if let Some(batch) = record.batch()
            && !matches!(record, Record::Attempt { .. })
        {
            self.undated.lock().remove(&batch);
        }
    }

    /// Lets the clock learn the service's time. If this machine's clock turns out to be ahead, the run's open intents are journaled again by the
    /// service's time, with the next durable record.
    fn learn_time(&self, learn: impl FnOnce(&Clock)) {
        learn(&self.clock);
        let lead = self.clock.lead();
        if !lead.is_zero() {
            let mut undated = self.undated.lock();
            undated.drain().for_each(|(_, intent)| self.journal.note(&intent.dated_back(lead)));
        }
    }

    /// Journals a record that may be lost in a crash, and applies it.
    fn note(&self, record: &Record) {
        self.forget_intent(record);
        self.journal.note(record);
        // A note never contradicts earlier records.
        let _ = self.apply(record);
    }

    fn apply(&self, record: &Record) -> Result<()> {
        self.timetable.iter().for_each(|timetable| timetable.apply(record, self.clock.millis()));
        self.sampler.iter().for_each(|sampler| sampler.apply(record));
        Ok(self.states.lock().apply(record)?)
    }

    /// Returns why a rule pauses the job.
    fn broken_rule(&self, rules: &[StopRule]) -> Option<Ending> {
        let feedback = self.sampler.as_ref().map(Sampler::feedback).unwrap_or_default();
        let Counts { sent, rejected, .. } = self.states.lock().settled_counts().combine(&self.others);
        let outcomes = BadOutcomes { rejected, settled: sent + rejected, feedback };
        let rows = self.plan.counts().valid + self.others.total();
        let reason = rules.iter().find_map(|rule| rule.reason(&outcomes, rows));
        let reason = reason.or_else(|| self.sampler.as_ref()?.failure());
        reason.map(|reason| Ending::Paused { until: None, reason })
    }

    fn counts(&self) -> Counts {
        let settled = self.states.lock().settled_counts();
        let remaining = self.plan.counts().valid - settled.sent - settled.rejected - settled.unknown;
        Counts { remaining, ..settled }
    }
}

/// Runs a part of a job until it is finished or stops. `before` is the report of the parts that this run has finished.
async fn execute<S: Sender>(plan: &Arc<Plan>, launch: &Launch<S>, before: Option<&Report>) -> Result<Report> {
    let Launch { job, sender, sending, options, stop, control, events } = launch;
    let started = Instant::now();
    let starting = before.is_none().then(|| Arc::clone(job));
    let Opened { lock, journal, mut states } =
        plan.blocking(move |plan| folder::open(plan, starting.as_deref())).await?;
    if let Some(sending) = sending {
        folder::resolve_account(plan, states.job().is_some(), sending).await?;
    }
    let start = states.resume(options.wall.now().into());
    let clock = Clock::new(start, options.wall.clone(), states.maybe().next().is_some());
    let gate = Gate::new(PaceOptions {
        max_rps: options.max_rps,
        concurrency: options.concurrency,
        start_rate: states.rate(),
    });
    let now = clock.millis();
    let timetable = match options.schedule.clone() {
        Some(schedule) => {
            let given = schedule.clone();
            let timetable = plan.blocking(move |plan| Timetable::open(plan, given, now)).await?;
            // Only now is it certain that the run starts.
            job.blocking(move |job| schedule::store(job, &schedule)).await?;
            Some(timetable)
        }
        None => None,
    };
    let sampler = if options.stop_rules.iter().any(|rule| rule.needs_feedback()) {
        Some(plan.blocking(Sampler::open).await?)
    } else {
        None
    };
    let others = if options.stop_rules.is_empty() {
        Counts::default()
    } else {
        let own = states.settled_counts();
        let own = Counts { remaining: plan.counts().valid - own.total(), ..own };
        job.blocking(parts::totals).await?.counts.without(&own)
    };
    // Salvaging a journal relies on this order.
    let work: Vec<u32> = states.maybe().chain(states.unsent_batches()).collect();
    let shared = Arc::new(Shared {
        plan: Arc::clone(plan),
        sender: Arc::clone(sender),
        clock,
        compared: OnceCell::new(),
        undated: Locked::default(),
        gate,
        journal,
        timetable,
        sampler,
        others,
        states: Locked::new(states),
        control: control.clone(),
        events: events.clone(),
        requests: AtomicU64::new(0),
        replayed: AtomicU64::new(0),
        service: Service::new(options.max_rejections, options.concurrency),
    });
    let job = Job { id: plan.id().into(), started: start };
    shared.record(&Record::Job(job)).await?;

    if let Some(sampler) = &shared.sampler {
        sampler.read_all(&shared).await;
    }
    let mut watching = JoinSet::new();
    watching.spawn(feedback::watch(Arc::clone(&shared)));
    let ended = deliver_all(&shared, work, options, stop, started).await;
    watching.shutdown().await;
    let ended = ended?;
    if folder::is_abandoned(plan.dir()) {
        shared.states.lock().abandon()?;
    }
    let counted = Arc::clone(&shared);
    let counts = plan.blocking(move |plan| counted.states.lock().counts(plan)).await?;
    let ending = match ended {
        Some(ending) => ending,
        None if shared.states.lock().is_complete() => {
            if !shared.states.lock().is_finished() {
                shared.record(&Record::Finished(counts)).await?;
            }
            Ending::Finished
        }
        None => Ending::Stopped,
    };
    let pace = shared.gate.snapshot();
    if let Some(rate) = pace.learned_limit {
        shared.note(&Record::Rate(rate));
    }
    let report = Report {
        requests: shared.requests.load(Ordering::Relaxed),
        throttled: pace.throttled,
        replayed: shared.replayed.load(Ordering::Relaxed),
        ..Report::new(plan, ending, counts, started.elapsed())
    };
    let report = before.into_iter().fold(report, Report::continue_run);
    report::write_report(plan, report, lock, shared).await
}

/// Delivers batches until all are done or the job stops. Returns the ending if the job stopped for a reason other than a request to stop.
async fn deliver_all<S: Sender>(
    shared: &Arc<Shared<S>>,
    work: Vec<u32>,
    options: &RunOptions,
    stop: &watch::Sender<Stop>,
    started: Instant,
) -> Result<Option<Ending>> {
    let domains = options.schedule.as_ref().map(Schedule::domains).unwrap_or_default();
    let mut feeder = Feeder::start(Arc::clone(&shared.plan), domains, work.into_iter())?;
    let mut deliveries = JoinSet::new();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut monitor = Monitor::new(shared, started);
    let (mut fed, mut ending) = (false, None);
    let mut end = |reason: Ending| {
        stop.send_if_modified(|stop| stop.raise(Stop::Drain));
        ending.get_or_insert(reason);
    };
    shared.broken_rule(&options.stop_rules).into_iter().for_each(&mut end);
    loop {
        let stopping = shared.control.stop() > Stop::No;
        if deliveries.is_empty() && (fed || stopping) {
            return Ok(ending);
        }
        tokio::select! {
            biased;
            Some(delivery) = deliveries.join_next() => match delivery {
                Ok(Ok(Delivery::Ended | Delivery::Stopped)) => {}
                Ok(Ok(Delivery::Unauthorized(reason))) => end(Ending::Unauthorized { reason }),
                Ok(Ok(Delivery::Rejected(reason))) => end(Ending::Paused { until: None, reason }),
                Ok(Ok(Delivery::Quota { name, until })) => {
                    end(Ending::Paused { until: until.map(|until| until.0), reason: name.into() });
                }
                Ok(Err(error)) => {
                    // The journal is closed before the lock is released.
                    deliveries.shutdown().await;
                    return Err(error);
                }
                Err(error) => {
                    if let Ok(panic) = error.try_into_panic() {
                        std::panic::resume_unwind(panic);
                    }
                }
            },
            rendered = feeder.next(), if !fed && !stopping && deliveries.len() < options.concurrency => {
                match rendered {
                    Some(Ok(rendered)) => drop(deliveries.spawn(deliver(Arc::clone(shared), rendered))),
                    Some(Err(error)) => {
                        // Settle the requests in flight first: resuming couldn't prepare any more batches either.
                        stop.send_if_modified(|stop| stop.raise(Stop::Drain));
                        while deliveries.join_next().await.is_some() {}
                        return Err(error);
                    }
                    None => fed = true,
                }
            }
            _ = tick.tick() => {
                monitor.observe();
                if let Some(reason) = shared.service.outage(options.max_outage) {
                    end(Ending::Unavailable { reason });
                }
                shared.broken_rule(&options.stop_rules).into_iter().for_each(&mut end);
                if folder::stop_is_requested(shared.plan.dir()) {
                    stop.send_if_modified(|stop| stop.raise(Stop::Drain));
                }
            }
        }
    }
}

/// Reports progress and pauses, and journals the learned rate.
struct Monitor<'a, S> {
    shared: &'a Shared<S>,
    started: Instant,
    before: Counts,
    paused: bool,
    rate_at: Instant,
}

impl<'a, S> Monitor<'a, S> {
    fn new(shared: &'a Shared<S>, started: Instant) -> Self {
        Self { shared, started, before: shared.counts(), paused: false, rate_at: started }
    }

    fn observe(&mut self) {
        let snapshot = self.shared.gate.snapshot();
        let counts = self.shared.counts();
        let elapsed = self.started.elapsed();
        let settled = self.before.remaining - counts.remaining;
        let progress = Progress {
            counts,
            requests_per_second: snapshot.rate,
            learned_limit: snapshot.learned_limit,
            requests: self.shared.requests.load(Ordering::Relaxed),
            throttled: snapshot.throttled,
            elapsed,
            remaining: remaining(elapsed, settled, counts.remaining),
        };
        let _ = self.shared.events.try_send(Event::Progress(progress));
        let now = self.shared.clock.millis();
        let scheduled = self.shared.timetable.as_ref().and_then(|timetable| timetable.pause(now));
        let asked = || snapshot.pause.map(|Pause { remaining, reason }| (remaining, reason.to_string()));
        let pause = scheduled.or_else(asked);
        let pause = pause.filter(|(remaining, _)| self.paused || *remaining > MIN_REPORTED_PAUSE);
        let was_paused = std::mem::replace(&mut self.paused, pause.is_some());
        if let (Some((remaining, reason)), false) = (pause, was_paused) {
            let _ = self.shared.events.try_send(Event::Paused { remaining, reason });
        }
        if let Some(rate) = snapshot.learned_limit
            && self.rate_at.elapsed() > RATE_INTERVAL
        {
            self.rate_at = Instant::now();
            self.shared.note(&Record::Rate(rate));
        }
    }
}

/// Estimates the remaining time from the average so far.
pub(crate) fn remaining(elapsed: Duration, settled: u64, left: u64) -> Option<Duration> {
    if settled == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let factor = left as f64 / settled as f64;
    Duration::try_from_secs_f64(elapsed.as_secs_f64() * factor).ok()
}
