//! The waiting batches: a work-queue stream with one durable pull consumer per job.

use std::time::Duration;

use async_nats::{
    HeaderMap, Message, RequestErrorKind, StatusCode,
    header::NATS_MESSAGE_ID,
    jetstream::{
        self, ErrorCode,
        consumer::{self, AckPolicy, pull},
        stream::ConsumerErrorKind,
    },
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{JOBS, NatsJob, pull::Pull};
use crate::queue::{Lease, Queue, QueueError, QueueStats, Result, Storage};

/// The duration of a lease without an extension.
pub(super) const LEASE: Duration = Duration::from_mins(1);
/// The number of additions in flight.
const MAX_CONCURRENT_PUTS: usize = 256;
/// The maximum number of leases across all workers of a job. It isn't a limit in practice, since a worker holds only as many leases as it has
/// requests in flight.
const MAX_LEASES: i64 = 100_000;
/// The maximum number of pulls waiting at the server, one per worker.
const MAX_PULLS: i64 = 10_000;

impl NatsJob {
    /// Creates the consumer of this generation.
    pub(super) async fn ensure_consumer(&self) -> Result<()> {
        let config = pull::Config {
            durable_name: Some(self.consumer()),
            filter_subject: self.jobs_subject(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.lease_time(),
            max_ack_pending: MAX_LEASES,
            max_waiting: MAX_PULLS,
            // No limit on the server: after too many deliveries, a worker gives the batch a result, whereas a server would just stop delivering it.
            max_deliver: -1,
            ..pull::Config::default()
        };
        self.context()
            .create_consumer_on_stream(config, JOBS)
            .await
            .map(drop)
            .map_err(QueueError::unavailable("create the consumer of the job"))
    }

    async fn put_batch(&self, batch: u32, id: String) -> Result<()> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id);
        let action = "add a batch to the queue";
        let payload = Bytes::from(batch.to_string());
        self.context()
            .publish_with_headers(self.jobs_subject(), headers, payload)
            .await
            .map_err(QueueError::unavailable(action))?
            .await
            .map(drop)
            .map_err(QueueError::unavailable(action))
    }

    /// Sends an acknowledgment and waits until the server has processed it.
    async fn acknowledge(&self, lease: &Lease, kind: &'static str, action: &'static str) -> Result<()> {
        self.queue
            .client
            .request(lease.token.clone(), Bytes::from_static(kind.as_bytes()))
            .await
            .map(drop)
            .map_err(|error| match error.kind() {
                RequestErrorKind::NoResponders => QueueError::Lost { action },
                _ => QueueError::Unavailable { action, source: error.into() },
            })
    }
}

impl Queue for NatsJob {
    async fn put(&self, batches: &[u32], round: u32) -> Result<()> {
        stream::iter(batches.to_vec())
            .map(|batch| {
                let id = match round {
                    0 => format!("{}/{batch}", self.job),
                    _ => format!("{}/{batch}#{round}", self.job),
                };
                self.put_batch(batch, id)
            })
            .buffer_unordered(MAX_CONCURRENT_PUTS)
            .try_collect()
            .await
    }

    async fn take(&self, wait: Duration) -> Result<Option<Lease>> {
        let action = "take a batch from the queue";
        let client = &self.queue.client;
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{JOBS}.{}", self.consumer());
        let mut pull = match self.idle_pull(&subject) {
            Some(pull) => pull,
            None => Pull::new(client, subject).await?,
        };
        let message = pull.next(client, wait).await?;
        self.pulls.lock().push(pull);
        match message.status {
            None => self.lease(message).map(Some),
            Some(StatusCode::NOT_FOUND | StatusCode::TIMEOUT) => Ok(None),
            Some(StatusCode::NO_RESPONDERS) => Err(QueueError::Lost { action }),
            Some(status) => {
                let text = message.description.unwrap_or_default();
                if text.contains("Consumer Deleted") || text.contains("Consumer is deleted") {
                    return Err(QueueError::Lost { action });
                }
                Err(QueueError::Unavailable { action, source: format!("{status} {text}").into() })
            }
        }
    }

    async fn extend(&self, lease: &Lease) -> Result<()> {
        self.queue
            .client
            .publish(lease.token.clone(), Bytes::from_static(b"+WPI"))
            .await
            .map_err(QueueError::unavailable("extend the lease of a batch"))
    }

    async fn complete(&self, lease: &Lease) -> Result<()> {
        self.acknowledge(lease, "+ACK", "remove a batch from the queue").await
    }

    async fn reject(&self, lease: &Lease) -> Result<()> {
        // Add a second entry before removing the first one: a negative acknowledgment would count as a failed delivery.
        self.put_batch(lease.batch, format!("{}/{}@{}", self.job, lease.batch, lease.token)).await?;
        self.complete(lease).await
    }

    async fn announce_worker(&self) -> Result<()> {
        let client = &self.queue.client;
        let failed =
            |error: async_nats::SubscribeError| QueueError::unavailable("reply to the coordinator")(error);
        let mut questions = client.subscribe(self.workers_subject()).await.map_err(failed)?;
        while let Some(question) = questions.next().await {
            if let Some(reply) = question.reply {
                // If this fails, the coordinator asks again.
                let _ = client.publish(reply, Bytes::new()).await;
            }
        }
        Ok(())
    }

    async fn is_attended(&self) -> Result<bool> {
        match self.queue.client.request(self.workers_subject(), Bytes::new()).await {
            Ok(_) => Ok(true),
            // A frozen or disconnected worker doesn't answer.
            Err(error)
                if matches!(error.kind(), RequestErrorKind::NoResponders | RequestErrorKind::TimedOut) =>
            {
                Ok(false)
            }
            Err(error) => Err(QueueError::unavailable("look up the job's workers")(error)),
        }
    }

    async fn stats(&self) -> Result<QueueStats> {
        let action = "count the entries of the queue";
        let consumer = self.consumer_info(action).await?.ok_or(QueueError::Lost { action })?;
        // After deletions, the consumer's own count of waiting messages is wrong until a pull finds none.
        let stream = self.context().get_stream(JOBS).await.map_err(QueueError::unavailable(action))?;
        let mut subjects =
            stream.info_with_subjects(self.jobs_subject()).await.map_err(QueueError::unavailable(action))?;
        let mut entries = 0;
        while let Some((_, messages)) = subjects.try_next().await.map_err(QueueError::unavailable(action))? {
            entries += messages as u64;
        }
        let leased = (consumer.num_ack_pending as u64).min(entries);
        Ok(QueueStats { waiting: entries - leased, leased })
    }
}

impl NatsJob {
    /// Returns an idle subscription. Subscriptions of earlier generations end.
    fn idle_pull(&self, subject: &str) -> Option<Pull> {
        let mut pulls = self.pulls.lock();
        pulls.retain(|pull| pull.subject() == subject);
        pulls.pop()
    }

    /// Returns the consumer description for this generation, or `None` if it doesn't exist.
    pub(super) async fn consumer_info(&self, action: &'static str) -> Result<Option<consumer::Info>> {
        let consumer =
            self.context().get_consumer_from_stream::<pull::Config, _, _>(self.consumer(), JOBS).await;
        match consumer {
            Ok(consumer) => Ok(Some(consumer.cached_info().clone())),
            Err(error) => match error.kind() {
                ConsumerErrorKind::JetStream(cause)
                    if matches!(
                        cause.error_code(),
                        ErrorCode::CONSUMER_NOT_FOUND | ErrorCode::STREAM_NOT_FOUND
                    ) =>
                {
                    Ok(None)
                }
                _ => Err(QueueError::Unavailable { action, source: error.into() }),
            },
        }
    }

    fn lease(&self, message: Message) -> Result<Lease> {
        let unreadable = |problem: &str| QueueError::job(&*self.job, problem);
        let batch = std::str::from_utf8(&message.payload)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| unreadable("the queue contains an entry that isn't a batch number"))?;
        let message = jetstream::Message { message, context: self.context().clone() };
        let deliveries = match message.info() {
            Ok(info) => u32::try_from(info.delivered).unwrap_or(u32::MAX),
            Err(_) => return Err(unreadable("the queue contains an entry that can't be acknowledged")),
        };
        let token = message.reply.as_ref().map(ToString::to_string).unwrap_or_default();
        Ok(Lease { batch, deliveries, token })
    }
}
