//! The queue in NATS JetStream.
//!
//! | stored in | subjects, keys | contents |
//! |---|---|---|
//! | stream `BULK_JOBS` (work queue) | `bulk.jobs.<job>` | one message per waiting batch; one durable consumer per job |
//! | stream `BULK_INTENTS` | `bulk.intents.<job>.<batch>` | the latest version of each intent, written by compare-and-set |
//! | stream `BULK_RESULTS` | `bulk.results.<job>.<batch>` | the first result of each batch |
//! | key-value bucket `bulk_control` | `<job>` | what the workers do |
//! | key-value bucket `bulk_rate` | the scope | the shared rate limit |
//! | object store `bulk_files` | `<job>/<file>` | the files of the job |
//!
//! Workers answer requests to `bulk.workers.<job>`, which aren't stored; that is how the coordinator detects whether there are any.

mod cells;
mod connect;
mod entries;
mod files;
mod ledger;
mod monitoring;
mod pull;
mod restore;
mod streams;

use std::{collections::HashMap, sync::Arc};

use async_nats::{Client, jetstream};

use self::pull::Pull;
use super::{Control, ControlState, Durability, Priority, QueueError, QueueOptions, Result, RunningJob};
use crate::locked::Locked;

/// The stream of waiting batches.
const JOBS: &str = "BULK_JOBS";
/// The stream of intents.
const INTENTS: &str = "BULK_INTENTS";
/// The stream of results.
const RESULTS: &str = "BULK_RESULTS";
/// The bucket of control records.
const CONTROL: &str = "bulk_control";
/// The bucket of shared rate limits.
const RATE: &str = "bulk_rate";
/// The bucket of files.
const FILES: &str = "bulk_files";
/// The number of records per request.
const PAGE: usize = 500;

/// A connection to a queue in NATS JetStream. It reconnects automatically.
#[derive(Clone, Debug)]
pub struct NatsQueue {
    client: Client,
    context: jetstream::Context,
    options: Arc<QueueOptions>,
    known: Arc<Locked<KnownJobs>>,
}

/// The jobs in the queue. Their control records remain when they have ended, so each is read only when it changes.
#[derive(Debug, Default)]
struct KnownJobs {
    /// When the bucket was created.
    created: String,
    /// The position of the last record that was read.
    position: u64,
    /// The priority of each running job; `None` for the others.
    jobs: HashMap<String, Option<Priority>>,
}

impl NatsQueue {
    /// Connects to the queue.
    ///
    /// # Errors
    /// [`QueueError::Option`] if a certificate or a credential can't be read, [`QueueError::Connect`] if no server can be reached or the server
    /// rejects the credentials, and [`QueueError::ServerVersion`] if the server is older than NATS 2.12.
    pub async fn connect(options: QueueOptions) -> Result<Self> {
        let client = connect::connect(&options).await?;
        let context = jetstream::ContextBuilder::new().timeout(connect::TIMEOUT).build(client.clone());
        Ok(Self { client, context, options: Arc::new(options), known: Arc::default() })
    }

    /// Checks whether the server syncs each record to disk, through its [monitoring address](QueueOptions::monitoring).
    pub async fn durability(&self) -> Durability {
        monitoring::durability(&self.options).await
    }

    /// Returns the storage of one job. Nothing is created until the coordinator starts.
    ///
    /// # Errors
    /// [`QueueError::Job`] if the name can't be part of a subject: only letters, digits, `-` and `_` are allowed.
    pub fn job(&self, job: &str) -> Result<NatsJob> {
        let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        if job.is_empty() || job.len() > 128 || !job.chars().all(plain) {
            return Err(QueueError::job(job, "a job name must consist of letters, digits, `-` and `_`"));
        }
        Ok(NatsJob {
            queue: self.clone(),
            job: job.into(),
            generation: Arc::default(),
            pulls: Arc::default(),
        })
    }

    /// Returns the jobs that need workers, ordered by priority and name. Excludes paused, canceled and finished jobs.
    ///
    /// # Errors
    /// The queue doesn't respond.
    pub async fn running_jobs(&self) -> Result<Vec<RunningJob>> {
        let bucket = format!("KV_{CONTROL}");
        let Some(info) = streams::info(&self.context, &bucket).await? else { return Ok(Vec::new()) };
        let (created, state) = (info.created.to_string(), info.state);
        let mut known = std::mem::take(&mut *self.known.lock());
        let is_lost = known.position > state.last_sequence || known.jobs.len() as u64 > state.messages;
        if is_lost || known.created != created {
            known = KnownJobs { created, ..KnownJobs::default() };
        }
        loop {
            let filter = format!("$KV.{CONTROL}.*");
            let records = ledger::read(&self.client, &bucket, filter, known.position, PAGE).await?;
            let reaches_end = records.len() < PAGE;
            for record in records {
                known.position = record.position;
                let priority = match serde_json::from_slice(&record.payload) {
                    Ok(Control { state: ControlState::Running, priority, .. }) => Some(priority),
                    _ => None,
                };
                known.jobs.insert(record.key, priority);
            }
            if reaches_end {
                break;
            }
        }
        let running = |(id, priority): (&String, &Option<Priority>)| {
            priority.map(|priority| RunningJob { id: id.clone(), priority })
        };
        let mut running: Vec<_> = known.jobs.iter().filter_map(running).collect();
        *self.known.lock() = known;
        running.sort_unstable_by(|one, other| (other.priority, &one.id).cmp(&(one.priority, &other.id)));
        Ok(running)
    }
}

/// One job in a [`NatsQueue`].
#[derive(Clone, Debug)]
pub struct NatsJob {
    queue: NatsQueue,
    job: Arc<str>,
    generation: Arc<Locked<String>>,
    pulls: Arc<Locked<Vec<Pull>>>,
}

impl NatsJob {
    fn context(&self) -> &jetstream::Context {
        &self.queue.context
    }

    fn jobs_subject(&self) -> String {
        format!("bulk.jobs.{}", self.job)
    }

    fn workers_subject(&self) -> String {
        format!("bulk.workers.{}", self.job)
    }

    fn intent_subject(&self, batch: u32) -> String {
        format!("bulk.intents.{}.{batch}", self.job)
    }

    fn result_subject(&self, batch: u32) -> String {
        format!("bulk.results.{}.{batch}", self.job)
    }

    /// Returns the name of the durable consumer that all workers share. Each generation has its own, since an acknowledgment contains only the
    /// consumer and a number: an acknowledgment of a lost message could otherwise remove a restored message with the same number.
    fn consumer(&self) -> String {
        format!("{}-{}", self.job, self.generation.lock())
    }
}
