//! `bulk worker`: sends the batches of distributed jobs.

use std::collections::BTreeSet;
use std::time::Duration;

use idempost_bulk::BulkError;
use idempost_bulk::queue::NatsQueue;
use idempost_bulk::worker::{Worker, WorkerEnding, WorkerEvent, WorkerOptions, WorkerReport};
use serde_json::json;

use super::account::{self, AccountArgs};
use super::job::folder;
use super::queue::{self, QueueArgs};
use super::words::count;
use super::{failure, running};
use crate::context::Context;
use crate::diagnostics::{Fail, Signal};
use crate::input::flags::Flags;
use crate::signals::Signals;

/// The time between two looks for a job.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// How long a job may have nothing to send before its worker looks for another one.
const IDLE: Duration = Duration::from_secs(10);

/// Send the batches of distributed jobs
///
/// Start any number of workers, on any machine; each has its own profile and credential. A worker takes one batch after another from the queue
/// (--queue), at a rate that all workers share, and can be stopped or killed at any time: another worker repeats its batches in flight under the
/// same idempotency keys. Without JOB, it serves the jobs in the queue in turn, each until nothing is left to send, and waits for more until it is
/// stopped; jobs of other accounts are left to other workers. If the workers of a job have different API keys of one account, start them with
/// --same-account.
///
/// The first Ctrl-C finishes the requests in flight, the second stops at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost bulk worker --queue nats://queue.acme.test:4222\n  \
    IDEMPOST_QUEUE=tls://queue.acme.test idempost --profile mailer bulk worker 3f9a1c2b7d4e-1 --queue-creds mailer.creds")]
pub(crate) struct Args {
    /// ID of the job to serve, as `bulk list` prints it; the worker ends with it [default: all jobs]
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// Maximum number of requests in flight, from 1 to 64
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
        flags.missing("--queue");
    }
    let options = args.queue.read(&mut flags);
    flags.finish()?;
    let Some(options) = options else { return Ok(()) };
    let client = context.client_for_jobs()?;
    let cache = folder(context)?.join(".worker");
    context.out.note(&format!("sending as {}", context.identity()?));
    let queue = running::unless_interrupted(&mut signals, Box::pin(queue::connect(options, context))).await?;
    let mut total = WorkerReport::default();
    let account = account::of(args.account.same_account, &client, context).await?;
    let mut options = WorkerOptions::default().concurrency(concurrency).account(account);
    let named = args.job.is_some();
    if !named {
        options = options.leave_when_idle(IDLE);
    }
    let (mut served, mut last, mut others) = (args.job, None, BTreeSet::new());
    loop {
        let job = match served.take() {
            Some(job) => job,
            None => match next_job(&queue, last.as_deref(), &others, &mut signals, context).await? {
                Some(job) => job,
                None => break,
            },
        };
        if last.as_ref() != Some(&job) {
            context.out.note(&format!("sending for job {job}"));
        }
        let worker = Worker::start(queue::job(&queue, &job)?, &client, &cache, options.clone());
        let (report, stopped) = match serve(worker, &mut signals, context).await {
            Err(error @ BulkError::Account(_)) if !named => {
                context.out.warn(&format!("job {job} is left to other workers: {error}"));
                others.insert(job);
                continue;
            }
            served => served.map_err(failure::of)?,
        };
        total.batches += report.batches;
        total.requests += report.requests;
        total.throttled += report.throttled;
        total.replayed += report.replayed;
        if let WorkerEnding::Unauthorized { reason } = report.ending {
            print(&total, context)?;
            return Err(Fail::Auth {
                message: reason,
                hint: Some(
                    "log in, then start the worker again; other workers continue meanwhile".to_owned(),
                ),
            });
        }
        if named || stopped {
            break;
        }
        last = Some(job);
    }
    print(&total, context)
}

/// Waits for a job that needs workers, except those of `others`: by name the one after the last, or else the first. `None` if a signal arrives first.
async fn next_job(
    queue: &NatsQueue,
    last: Option<&str>,
    others: &BTreeSet<String>,
    signals: &mut Signals,
    context: &Context,
) -> Result<Option<String>, Fail> {
    let mut announced = false;
    loop {
        let mut jobs = queue.running_jobs().await.map_err(queue::failed)?;
        jobs.retain(|job| !others.contains(job));
        let next = jobs.iter().find(|job| Some(job.as_str()) > last).or(jobs.first());
        if let Some(job) = next {
            return Ok(Some(job.clone()));
        }
        if !std::mem::replace(&mut announced, true) {
            context.out.note("waiting for a job");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_INTERVAL) => {}
            _ = signals.next() => return Ok(None),
        }
    }
}

/// Runs a worker until its job ends or a signal stops it.
async fn serve(
    mut worker: Worker,
    signals: &mut Signals,
    context: &Context,
) -> Result<(WorkerReport, bool), BulkError> {
    let mut stopped: Option<Signal> = None;
    loop {
        tokio::select! {
            event = worker.next() => match event {
                Some(event) => tell(&event, context),
                None => break,
            },
            signal = signals.next() => {
                if stopped.replace(signal).is_some() {
                    worker.abort();
                } else {
                    worker.stop();
                    context.out.note("stopping after the requests in flight; interrupt again to stop at once");
                }
            }
        }
    }
    let report = worker.finish().await?;
    Ok((report, stopped.is_some()))
}

fn tell(event: &WorkerEvent, context: &Context) {
    match event {
        WorkerEvent::Waiting { reason } => context.out.note(&format!("waiting: {reason}")),
        WorkerEvent::Paused { remaining, reason } => {
            context.out.note(&format!("paused for {} s: {reason}", remaining.as_secs().max(1)));
        }
        WorkerEvent::QueueUnavailable { reason } => {
            context.out.warn(&format!("the queue doesn't respond: {reason}"));
        }
        WorkerEvent::QueueAvailable => context.out.note("the queue responds again"),
        WorkerEvent::Panicked => context.out.warn("a batch couldn't be processed; it is delivered again"),
        _ => {}
    }
}

fn print(total: &WorkerReport, context: &Context) -> Result<(), Fail> {
    let WorkerReport { batches, requests, throttled, replayed, .. } = total;
    let line = format!(
        "{}, {}, {throttled} throttled (429), {replayed} repeated under their keys",
        count(*batches, "batch"),
        count(*requests, "request")
    );
    let document = json!({
        "object": "bulk_worker", "batches": batches, "requests": requests, "throttled": throttled, "replayed": replayed,
    });
    context.out.result(&[line], &document)
}
