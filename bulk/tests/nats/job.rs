//! Jobs of single emails, so that each row is a batch.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use idempost::Client;
use idempost_bulk::{
    Bulk, Counts, DistributeOptions, Ending, Input, Job, Message, Report, RowOutcome, Run,
    queue::{Backend, Ledger as _, NatsJob},
    worker::{Worker, WorkerOptions},
};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::{server::Server, service::Service};

/// How long a job may take.
pub(crate) const MAX_WAIT: Duration = Duration::from_mins(2);

/// A queue's server, the service that its workers send to, and a planned job.
pub(crate) struct Fixture {
    pub(crate) server: Server,
    pub(crate) service: Service,
    pub(crate) job: Job,
    folder: TempDir,
}

impl Fixture {
    /// With a job whose rows are sent one by one.
    pub(crate) async fn new(server: Server, service: Service, rows: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let job = planned(folder.path(), &service.client(), rows).await;
        Self { server, service, job, folder }
    }

    /// With a job whose rows are sent in batches of 100.
    pub(crate) async fn in_batches(server: Server, service: Service, rows: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let job = planned_in_batches(folder.path(), &service.client(), rows).await;
        Self { server, service, job, folder }
    }

    /// Connects to the job in the queue.
    pub(crate) async fn backend(&self) -> NatsJob {
        self.server.job(self.job.plan().id()).await
    }

    pub(crate) async fn distribute(&self) -> Run {
        self.distribute_with(DistributeOptions::default()).await
    }

    pub(crate) async fn distribute_with(&self, options: DistributeOptions) -> Run {
        let backend = self.backend().await;
        self.job.distribute(&self.service.client(), backend, options).expect("no invalid rows")
    }

    /// The folder of a worker's files.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts workers, each with its own connection, client and cache.
    pub(crate) async fn workers(&self, count: usize) -> Vec<Worker> {
        let mut workers = Vec::new();
        for index in 0..count {
            workers.push(self.worker(&format!("cache-{index}")).await);
        }
        workers
    }

    pub(crate) async fn worker(&self, cache: &str) -> Worker {
        self.worker_with(cache, WorkerOptions::default()).await
    }

    pub(crate) async fn worker_with(&self, cache: &str, options: WorkerOptions) -> Worker {
        Worker::start(self.backend().await, &self.service.client(), self.cache(cache), options)
    }

    /// Waits until a job of this many rows is finished, and asserts that each of them was sent once.
    pub(crate) async fn assert_all_sent(&self, run: Run, rows: usize) -> Report {
        let report = finished(run).await;
        assert_eq!(report.counts, Counts { sent: rows as u64, ..Counts::default() });
        self.service.assert_delivered_once(rows);
        report
    }
}

/// Plans a job whose rows are sent one by one.
pub(crate) async fn planned(folder: &Path, client: &Client, rows: usize) -> Job {
    planned_at(folder, client, "r", rows).await
}

/// Plans a job whose rows are sent in batches of 100.
pub(crate) async fn planned_in_batches(folder: &Path, client: &Client, rows: usize) -> Job {
    plan(folder, client, "r", rows, message()).await
}

fn message() -> Message {
    Message::new().from("hi@acme.test").subject("Hello {{{NAME}}}").text("It works, {{{NAME}}}")
}

/// Plans a job whose rows are sent one by one, to recipients whose addresses start with this name.
pub(crate) async fn planned_at(folder: &Path, client: &Client, name: &str, rows: usize) -> Job {
    plan(folder, client, name, rows, message().scheduled_at("in 1 hour")).await
}

async fn plan(folder: &Path, client: &Client, name: &str, rows: usize, message: Message) -> Job {
    let mut csv = String::from("to,var:NAME\n");
    for row in 1..=rows {
        writeln!(csv, "{name}{row}@example.com,Ada {row}").expect("written");
    }
    let path = folder.join("people.csv");
    fs::write(&path, csv).expect("written");
    Bulk::new(Input::csv(path), message).plan(client, folder.join("jobs")).await.expect("a plan")
}

/// Waits for the report of a job that finishes.
pub(crate) async fn finished(run: Run) -> Report {
    let report = timeout(MAX_WAIT, run.finish()).await.expect("the job ends in time").expect("a report");
    assert_eq!(report.ending, Ending::Finished, "{report:?}");
    report
}

/// Waits until a condition holds.
pub(crate) async fn until(mut condition: impl FnMut() -> bool) {
    until_async(async || condition()).await;
}

/// Waits until a condition holds whose check takes requests.
pub(crate) async fn until_async(mut condition: impl AsyncFnMut() -> bool) {
    timeout(MAX_WAIT, async {
        while !condition().await {
            sleep(Duration::from_millis(10)).await;
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
    until_async(async || backend.stats().await.is_ok_and(|stats| stats.waiting == batches)).await;
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
