//! A worker of distributed bulk jobs: any number of these processes, on any machine, share the batches of a job and the service's rate limit.
//!
//! The job is planned and started by another process, with `Job::distribute` or `idempost bulk send --queue`.

use std::path::Path;

use idempost::{Client, ClientBuilder, call::RateLimit};
use idempost_bulk::queue::{NatsQueue, QueueOptions};
use idempost_bulk::worker::{Worker, WorkerEvent, WorkerOptions, WorkerReport};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Sends batches of a job until it ends. The worker has its own client, so the credential stays on this machine.
#[expect(clippy::print_stderr, reason = "a service logs to standard error")]
async fn work(queue: &str, job: &str, client: &Client, cache: &Path) -> Result<WorkerReport, Failure> {
    let queue = NatsQueue::connect(QueueOptions::new(queue)?).await?;
    let durability = queue.durability().await;
    if !durability.is_always() {
        eprintln!("{durability}");
    }
    let mut worker = Worker::start(queue.job(job)?, client, cache, WorkerOptions::default().concurrency(8));
    while let Some(event) = worker.next().await {
        if let WorkerEvent::Paused { remaining, reason } = event {
            eprintln!("paused for {} s: {reason}", remaining.as_secs());
        }
    }
    Ok(worker.finish().await?)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the number of batches is the program's result")]
async fn main() -> Result<(), Failure> {
    let client = ClientBuilder::from_env().rate_limit(RateLimit::Off).build()?;
    let job = std::env::args().nth(1).ok_or("usage: bulk_worker JOB")?;
    let report = work("nats://127.0.0.1:4222", &job, &client, Path::new("cache")).await?;
    println!("{} batches in {} requests", report.batches, report.requests);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_queue_that_is_not_there_is_an_error_that_names_its_address() {
        let client = Client::new("http://127.0.0.1:1", "re_x").unwrap();
        let error =
            work("nats://127.0.0.1:1", "3f9a1c2b7d4e-1", &client, Path::new("cache")).await.unwrap_err();
        assert!(error.to_string().contains("nats://127.0.0.1:1"), "{error}");
    }
}
