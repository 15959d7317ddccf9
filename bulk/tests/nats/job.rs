//! Jobs of single emails, so that each row is a batch.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use idempost::Client;
use idempost_bulk::{
    Bulk, DistributeOptions, Ending, Input, Job, Message, Report, RowOutcome, Run,
    queue::{Backend, Ledger as _, NatsJob},
    worker::{Worker, WorkerOptions},
};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{server::Server, service::Service};

/// How long a job may take.
pub(crate) const MAX_WAIT: Duration = Duration::from_mins(2);

/// Plans a job whose rows are sent one by one, in a folder of its own.
pub(crate) async fn planned_on(
    server: Server,
    service: Service,
    rows: usize,
) -> (Server, Service, TempDir, Job) {
    let folder = tempfile::tempdir().expect("a folder");
    let job = planned(folder.path(), &service.client(), rows).await;
    (server, service, folder, job)
}

/// Plans a job whose rows are sent in batches of 100, in a folder of its own.
pub(crate) async fn planned_in_batches_on(
    server: Server,
    service: Service,
    rows: usize,
) -> (Server, Service, TempDir, Job) {
    let folder = tempfile::tempdir().expect("a folder");
    let job = planned_in_batches(folder.path(), &service.client(), rows).await;
    (server, service, folder, job)
}

/// Plans a job whose rows are sent one by one.
pub(crate) async fn planned(folder: &Path, client: &Client, rows: usize) -> Job {
    let message = message().scheduled_at("in 1 hour");
    plan(folder, client, rows, message).await
}

/// Plans a job whose rows are sent in batches of 100.
pub(crate) async fn planned_in_batches(folder: &Path, client: &Client, rows: usize) -> Job {
    plan(folder, client, rows, message()).await
}

fn message() -> Message {
    Message::new().from("hi@acme.test").subject("Hello {{{NAME}}}").text("It works, {{{NAME}}}")
}

/// Plans a job whose rows are sent one by one, to recipients whose addresses start with this name.
pub(crate) async fn planned_at(folder: &Path, client: &Client, name: &str, rows: usize) -> Job {
    plan_for(folder, client, name, rows, message().scheduled_at("in 1 hour")).await
}

async fn plan(folder: &Path, client: &Client, rows: usize, message: Message) -> Job {
    plan_for(folder, client, "r", rows, message).await
}

async fn plan_for(folder: &Path, client: &Client, name: &str, rows: usize, message: Message) -> Job {
    let mut csv = String::from("to,var:NAME\n");
    for row in 1..=rows {
        writeln!(csv, "{name}{row}@example.com,Ada {row}").expect("written");
    }
    let path = folder.join("people.csv");
    fs::write(&path, csv).expect("written");
    Bulk::new(Input::csv(path), message).plan(client, folder.join("jobs")).await.expect("a plan")
}

/// Starts workers, each with its own connection, client and cache.
pub(crate) async fn workers(
    server: &Server,
    service: &Service,
    job: &Job,
    folder: &Path,
    count: usize,
) -> Vec<Worker> {
    let mut workers = Vec::new();
    for index in 0..count {
        workers.push(worker(server, service, job, &folder.join(format!("cache-{index}"))).await);
    }
    workers
}

pub(crate) async fn worker(server: &Server, service: &Service, job: &Job, cache: &Path) -> Worker {
    worker_with(server, service, job, cache, WorkerOptions::default()).await
}

pub(crate) async fn worker_with(
    server: &Server,
    service: &Service,
    job: &Job,
    cache: &Path,
    options: WorkerOptions,
) -> Worker {
    Worker::start(server.job(job.plan().id()).await, &service.client(), cache, options)
}

pub(crate) async fn distribute(server: &Server, job: &Job) -> Run {
    let client = Service::new().client();
    job.distribute(&client, backend(server, job).await, DistributeOptions::default())
        .expect("no invalid rows")
}

pub(crate) async fn backend(server: &Server, job: &Job) -> NatsJob {
    server.job(job.plan().id()).await
}

/// Waits for the report of a job that finishes.
pub(crate) async fn finished(run: Run) -> Report {
    let report = timeout(MAX_WAIT, run.finish()).await.expect("the job ends in time").expect("a report");
    assert_eq!(report.ending, Ending::Finished, "{report:?}");
    report
}

/// Waits until a condition holds.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    timeout(MAX_WAIT, async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the condition holds in time");
}

/// Waits until a condition holds whose check takes requests.
pub(crate) async fn until_async(mut condition: impl AsyncFnMut() -> bool) {
    timeout(MAX_WAIT, async {
        while !condition().await {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("the condition holds in time");
}

/// Waits until the coordinator of a job has journaled all intents that are in the ledger now.
pub(crate) async fn until_journaled(backend: &NatsJob, job: &Job) {
    let last = backend.intents(0, 1_000).await.expect("intents").last().expect("an intent").position;
    let memory = job.plan().dir().join("queue.json");
    until(|| {
        let memory = std::fs::read(&memory).unwrap_or_default();
        let memory: serde_json::Value = serde_json::from_slice(&memory).unwrap_or_default();
        memory["last_intent"].as_u64().is_some_and(|position| position >= last)
    })
    .await;
}

/// Waits until the queue has this many waiting batches.
pub(crate) async fn until_waiting(backend: &impl Backend, batches: u64) {
    timeout(MAX_WAIT, async {
        while let Ok(stats) = backend.stats().await
            && stats.waiting != batches
        {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("the queue is filled in time");
}

pub(crate) async fn outcomes(job: &Job) -> Vec<RowOutcome> {
    let (send, receive) = std::sync::mpsc::channel();
    job.outcomes(move |outcome| {
        send.send(outcome).expect("received");
        Ok(())
    })
    .await
    .expect("outcomes");
    let mut all: Vec<_> = receive.into_iter().collect();
    all.sort_by_key(|outcome| outcome.row);
    all
}
