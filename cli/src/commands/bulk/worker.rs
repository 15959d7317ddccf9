//! `bulk worker`: sends the batches of distributed jobs.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::select_all;
use idempost::Client;
use idempost_bulk::queue::{NatsQueue, Priority, RunningJob};
use idempost_bulk::worker::{Worker, WorkerEnding, WorkerEvent, WorkerOptions, WorkerReport};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::account::{self, AccountArgs};
use super::job::folder;
use super::queue::{self, QueueArgs};
use super::running;
use super::words::{duration, format_count};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::report::error_chain;
use crate::signals::Signals;

/// The polling interval for jobs.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// The time after which a job with nothing to send no longer keeps the worker from jobs of a lower priority.
const IDLE: Duration = Duration::from_secs(10);
/// The time for which a job that can't be served is skipped.
const PASS_OVER: Duration = Duration::from_mins(1);
/// The number of jobs that are served at the same time.
const MAX_JOBS: usize = 16;

/// Send the batches of distributed jobs
///
/// Start any number of workers, on any machine; each has its own profile and credential. A worker takes one batch after another from the queue
/// (--queue), at a rate that all workers share, and can be stopped or killed at any time: another worker repeats its batches in flight under the
/// same idempotency keys. Without JOB, it serves all jobs in the queue at the same time, those of the highest --priority first, and waits for more until
/// it is stopped. A worker reports jobs that it can't serve, such as those of another account, and leaves them to other workers. If the workers of a job have different
/// API keys of one account, start them with --same-account.
///
/// The first Ctrl-C finishes the requests in flight, the second stops immediately.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost bulk worker --queue nats://queue.acme.test:4222\n  \
    IDEMPOST_QUEUE=tls://queue.acme.test idempost --profile mailer bulk worker 3f9a1c2b7d4e-1 --queue-creds mailer.creds")]
pub(crate) struct Args {
    /// ID of the job to serve, as printed by `bulk list`; the worker exits when the job ends [default: all jobs]
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// Maximum number of requests in flight for each job, from 1 to 64
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true)]
    concurrency: String,
    #[command(flatten)]
    account: AccountArgs,
    #[command(flatten)]
    queue: QueueArgs,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut signals = Signals::listen()?;
    let mut flags = Flags::default();
    flags.help("idempost bulk worker --queue nats://127.0.0.1:4222");
    let concurrency = running::concurrency(&args.concurrency, &mut flags);
    if !args.queue.is_given() {
        flags.add_missing("--queue");
    }
    let options = args.queue.read(&mut flags);
    flags.finish()?;
    let Some(options) = options else { return Ok(()) };
    let client = context.client_for_jobs()?;
    let cache = folder(context)?.join(".worker");
    context.out.note(&format!("sending as {}", context.identity()?));
    let queue = signals.run_until_next(Box::pin(queue::connect(options, context))).await?;
    let account = account::resolve_account(args.account.same_account, &client, context).await?;
    let options = WorkerOptions::default().concurrency(concurrency).account(account);
    let Some(job) = args.job else {
        let options = options.leave_when_idle(IDLE);
        let mut jobs = Jobs {
            queue,
            client,
            cache,
            options,
            context,
            served: Vec::new(),
            announced: HashSet::new(),
            passed_over: HashMap::new(),
            quiet: HashSet::new(),
            stopping: 0,
            total: WorkerReport::default(),
        };
        jobs.serve(&mut signals).await;
        return print(&jobs.total, context);
    };
    context.out.note(&format!("sending for job {job}"));
    let mut worker = Worker::start(queue::open_job(&queue, &job)?, &client, &cache, options);
    let mut stopping = 0;
    loop {
        tokio::select! {
            event = worker.next() => match event {
                Some(event) => print_event(&event, context),
                None => break,
            },
            _ = signals.next() => {
                stop_workers([&worker], stopping, context);
                stopping += 1;
            }
        }
    }
    let report = worker.finish().await?;
    print(&report, context)?;
    match report.ending {
        WorkerEnding::Unauthorized { reason } => {
            Err(Fail::auth(reason)
                .hint("log in, then start the worker again; other workers continue meanwhile"))
        }
        _ => Ok(()),
    }
}

/// Stops workers: after their requests in flight at the first signal, immediately at the second.
fn stop_workers<'a>(workers: impl IntoIterator<Item = &'a Worker>, signals_before: u32, context: &Context) {
    if signals_before == 0 {
        context.out.note("stopping after the requests in flight; interrupt again to stop immediately");
    }
    for worker in workers {
        if signals_before == 0 { worker.stop() } else { worker.abort() }
    }
}

/// The jobs that a worker serves.
struct Jobs<'a> {
    queue: NatsQueue,
    client: Client,
    cache: PathBuf,
    options: WorkerOptions,
    context: &'a Context,
    served: Vec<(RunningJob, Worker)>,
    announced: HashSet<String>,
    /// The skipped jobs, each with the reason and the end of the pause.
    passed_over: HashMap<String, (String, Instant)>,
    /// The jobs that had nothing to send.
    quiet: HashSet<String>,
    /// The number of signals to stop.
    stopping: u32,
    total: WorkerReport,
}

impl Jobs<'_> {
    /// Serves jobs until a signal stops the worker. Nothing else stops it: a queue or a job that fails can recover.
    async fn serve(&mut self, signals: &mut Signals) {
        let (mut look_at, mut available, mut waiting) = (Instant::now(), true, false);
        while self.stopping == 0 || !self.served.is_empty() {
            tokio::select! {
                (index, event) = next_event(&mut self.served) => match event {
                    Some(event) => self.handle_event(index, &event),
                    None => self.finish_job(index).await,
                },
                () = sleep_until(look_at), if self.stopping == 0 => {
                    match self.queue.running_jobs().await {
                        Ok(jobs) => {
                            if !std::mem::replace(&mut available, true) {
                                self.context.out.note("the queue responds again");
                            }
                            Worker::delete_ended(&self.cache, &jobs);
                            self.select_jobs(&jobs);
                        }
                        Err(error) if std::mem::replace(&mut available, false) => {
                            let reason = error_chain(&error);
                            self.context.out.warn(&format!("the queue doesn't respond: {reason}"));
                        }
                        Err(_) => {}
                    }
                    if self.served.is_empty() && available && !std::mem::replace(&mut waiting, true) {
                        self.context.out.note("waiting for a job");
                    }
                    waiting &= self.served.is_empty();
                    look_at = Instant::now() + LOOK_INTERVAL;
                }
                _ = signals.next() => {
                    stop_workers(self.served.iter().map(|(_, worker)| worker), self.stopping, self.context);
                    self.stopping += 1;
                }
            }
        }
    }

    /// Starts serving the running jobs with the highest priority, and stops serving jobs with a lower one.
    fn select_jobs(&mut self, running: &[RunningJob]) {
        // Forgets jobs that have ended.
        let ids: HashSet<&str> = running.iter().map(|job| job.id.as_str()).collect();
        self.announced.retain(|id| ids.contains(id.as_str()));
        self.quiet.retain(|id| ids.contains(id.as_str()));
        self.passed_over.retain(|id, _| ids.contains(id.as_str()));
        let now = Instant::now();
        let passed_over = |id: &str| self.passed_over.get(id).is_some_and(|(_, until)| *until > now);
        let jobs: Vec<&RunningJob> = running.iter().filter(|job| !passed_over(&job.id)).collect();
        let least = jobs.iter().filter(|job| !self.quiet.contains(&job.id)).map(|job| job.priority).max();
        let least = least.unwrap_or(Priority::Low);
        for (job, worker) in &self.served {
            if job.priority < least {
                worker.stop();
            }
        }
        let is_served = |id: &str| self.served.iter().any(|(job, _)| job.id == id);
        let free = MAX_JOBS.saturating_sub(self.served.len());
        // Jobs that had nothing to send come last.
        let (quiet, busy): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .filter(|job| job.priority >= least && !is_served(&job.id))
            .partition(|job| self.quiet.contains(&job.id));
        let next: Vec<RunningJob> = busy.into_iter().chain(quiet).take(free).cloned().collect();
        for job in next {
            let Ok(storage) = self.queue.job(&job.id) else { continue };
            if self.announced.insert(job.id.clone()) {
                self.context.out.note(&format!("sending for job {}", job.id));
            }
            let worker = Worker::start(storage, &self.client, &self.cache, self.options.clone());
            self.served.push((job, worker));
        }
    }

    fn handle_event(&mut self, index: usize, event: &WorkerEvent) {
        if let WorkerEvent::Settled { .. } = event {
            let id = &self.served[index].0.id;
            self.quiet.remove(id);
            self.passed_over.remove(id);
        }
        print_event(event, self.context);
    }

    /// Stops serving a job whose worker has stopped.
    async fn finish_job(&mut self, index: usize) {
        let (job, worker) = self.served.swap_remove(index);
        let problem = match worker.finish().await {
            Ok(report) => {
                self.total.batches += report.batches;
                self.total.requests += report.requests;
                self.total.throttled += report.throttled;
                self.total.replayed += report.replayed;
                match report.ending {
                    WorkerEnding::Unauthorized { reason } => Some(reason),
                    WorkerEnding::Idle => {
                        self.quiet.insert(job.id);
                        return;
                    }
                    _ => None,
                }
            }
            Err(error) => Some(error.to_string()),
        };
        let Some(problem) = problem else { return };
        let until = Instant::now() + PASS_OVER;
        let before = self.passed_over.insert(job.id.clone(), (problem.clone(), until));
        if before.is_none_or(|(earlier, _)| earlier != problem) {
            self.context.out.warn(&format!("job {} is left to other workers: {problem}", job.id));
        }
    }
}

/// Returns the next event of any worker, with its index; waits forever if there are none.
async fn next_event(served: &mut [(RunningJob, Worker)]) -> (usize, Option<WorkerEvent>) {
    if served.is_empty() {
        return std::future::pending().await;
    }
    let events = served.iter_mut().map(|(_, worker)| Box::pin(worker.next()));
    let (event, index, _) = select_all(events).await;
    (index, event)
}

fn print_event(event: &WorkerEvent, context: &Context) {
    match event {
        WorkerEvent::Waiting { reason } => context.out.note(&format!("waiting: {reason}")),
        WorkerEvent::Paused { remaining, reason } => {
            context.out.note(&format!("paused for {}: {reason}", duration(*remaining)));
        }
        WorkerEvent::QueueUnavailable { reason } => {
            context.out.warn(&format!("the queue doesn't respond: {reason}"));
        }
        WorkerEvent::QueueAvailable => context.out.note("the queue responds again"),
        WorkerEvent::Panicked => context.out.warn("a batch couldn't be processed; it will be retried"),
        _ => {}
    }
}

fn print(total: &WorkerReport, context: &Context) -> Result<(), Fail> {
    let WorkerReport { batches, requests, throttled, replayed, .. } = total;
    let line = format!(
        "{}, {}, {throttled} throttled (429), {replayed} repeated with the same keys",
        format_count(*batches, "batch"),
        format_count(*requests, "request")
    );
    let document = json!({
        "object": "bulk_worker", "batches": batches, "requests": requests, "throttled": throttled, "replayed": replayed,
    });
    context.out.result(&[line], &document)
}
