//! Intents and results: one subject per batch, written by compare-and-set on the subject's last sequence.

use std::time::Duration;

use async_nats::{
    Client, HeaderMap, StatusCode, Subject,
    header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_SEQUENCE, NATS_SUBJECT},
    jetstream::{
        ErrorCode, context::PublishErrorKind, message::StreamMessage, stream::LastRawMessageErrorKind,
    },
};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::{INTENTS, NatsJob, RESULTS, connect::TIMEOUT};
use crate::queue::{Entry, Intent, IntentResult, Ledger, QueueError, Result, StoredIntent};

/// The status that ends a batch of direct get responses.
const END_OF_BATCH: u16 = 204;

/// The outcome of a conditional write.
pub(super) enum Written {
    /// The message is durable at this position.
    At(u64),
    /// The subject has another last message.
    Conflict,
}

impl NatsJob {
    /// Appends a message if the subject's last message is the expected one (0: none).
    pub(super) async fn write(
        &self,
        subject: String,
        payload: Bytes,
        expected: u64,
        action: &'static str,
    ) -> Result<Written> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
        let bytes = payload.len();
        let published = async { self.context().publish_with_headers(subject, headers, payload).await?.await };
        match published.await {
            Ok(ack) => Ok(Written::At(ack.sequence)),
            Err(error) => match error.kind() {
                PublishErrorKind::WrongLastSequence => Ok(Written::Conflict),
                PublishErrorKind::StreamNotFound => Err(QueueError::Lost { action }),
                PublishErrorKind::MaxPayloadExceeded => {
                    let limit = self.queue.client.server_info().max_payload;
                    let problem = format!(
                        "couldn't {action}: its {bytes} bytes and headers exceed the server's `max_payload` of {limit}"
                    );
                    Err(QueueError::job(&*self.job, problem))
                }
                _ => Err(QueueError::Unavailable { action, source: error.into() }),
            },
        }
    }

    /// Reads a subject's last message from the stream's leader, since a follower's copy can lag behind.
    pub(super) async fn last(
        &self,
        stream: &str,
        subject: &str,
        action: &'static str,
    ) -> Result<Option<StreamMessage>> {
        let stream =
            self.context().get_stream_no_info(stream).await.map_err(QueueError::unavailable(action))?;
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message)),
            Err(error) => {
                let code = match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Some(ErrorCode::NO_MESSAGE_FOUND),
                    LastRawMessageErrorKind::JetStream(cause) => Some(cause.error_code()),
                    _ => None,
                };
                match code {
                    Some(ErrorCode::NO_MESSAGE_FOUND) => Ok(None),
                    Some(ErrorCode::STREAM_NOT_FOUND) => Err(QueueError::Lost { action }),
                    _ => Err(QueueError::Unavailable { action, source: error.into() }),
                }
            }
        }
    }

    async fn read(&self, stream: &str, filter: String, behind: u64, limit: usize) -> Result<Vec<Entry>> {
        let stored = read(&self.queue.client, stream, filter, behind, limit).await?;
        let entry = |stored: Stored| {
            let Stored { key, position, payload } = stored;
            let unnamed = |_| QueueError::job(&*self.job, "a record doesn't name its batch");
            Ok(Entry { batch: key.parse().map_err(unnamed)?, position, payload })
        };
        stored.into_iter().map(entry).collect()
    }
}

/// A message in a stream.
pub(super) struct Stored {
    /// The last part of its subject.
    pub(super) key: String,
    pub(super) position: u64,
    pub(super) payload: Bytes,
}

/// Reads messages after a position with one request. It needs no consumer, so it works even after a restart or a restoration.
pub(super) async fn read(
    client: &Client,
    stream: &str,
    filter: String,
    behind: u64,
    limit: usize,
) -> Result<Vec<Stored>> {
    let action = "read the records of the queue";
    let inbox = client.new_inbox();
    let mut replies = client.subscribe(inbox.clone()).await.map_err(QueueError::unavailable(action))?;
    let request = serde_json::json!({ "seq": behind + 1, "next_by_subj": filter, "batch": limit });
    client
        .publish_with_reply(format!("$JS.API.DIRECT.GET.{stream}"), inbox, Bytes::from(request.to_string()))
        .await
        .map_err(QueueError::unavailable(action))?;
    let mut found = Vec::new();
    loop {
        let reply = timeout(TIMEOUT, replies.next())
            .await
            .map_err(QueueError::unavailable(action))?
            .ok_or_else(|| QueueError::Unavailable { action, source: "the connection is closed".into() })?;
        match reply.status {
            None => {
                let headers = reply.headers.unwrap_or_default();
                let position = headers.get(NATS_SEQUENCE).and_then(|value| value.as_str().parse().ok());
                let key = headers.get(NATS_SUBJECT).and_then(|value| value.as_str().rsplit('.').next());
                let (Some(position), Some(key)) = (position, key) else {
                    return Err(QueueError::unavailable(action)("a record has no position or subject"));
                };
                found.push(Stored { key: key.to_owned(), position, payload: reply.payload });
            }
            Some(StatusCode::NOT_FOUND) => break,
            Some(status) if status.as_u16() == END_OF_BATCH => break,
            Some(StatusCode::NO_RESPONDERS) => return Err(QueueError::Lost { action }),
            Some(status) => {
                let text = reply.description.unwrap_or_default();
                return Err(QueueError::unavailable(action)(format!("{status} {text}")));
            }
        }
    }
    Ok(found)
}

impl Ledger for NatsJob {
    async fn now(&self) -> Result<Duration> {
        let action = "read the queue's time";
        let subject: Subject = format!("$JS.API.STREAM.INFO.{RESULTS}").into();
        let message = self
            .queue
            .client
            .request(subject, Bytes::new())
            .await
            .map_err(QueueError::unavailable(action))?;
        let unreadable = || QueueError::Unavailable { action, source: "the server doesn't report it".into() };
        let info: serde_json::Value = serde_json::from_slice(&message.payload).map_err(|_| unreadable())?;
        if info["error"]["err_code"] == ErrorCode::STREAM_NOT_FOUND.0 {
            return Err(QueueError::Lost { action });
        }
        let time = info["ts"]
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok())
            .ok_or_else(unreadable)?;
        Duration::try_from(time.as_duration()).map_err(|_| unreadable())
    }

    async fn record_intent(
        &self,
        batch: u32,
        intent: &Intent,
        expected: Option<u64>,
    ) -> Result<IntentResult> {
        let action = "record an intent";
        let payload = serde_json::to_vec(intent).map_err(QueueError::unavailable(action))?;
        match self.write(self.intent_subject(batch), payload.into(), expected.unwrap_or(0), action).await? {
            Written::At(revision) => Ok(IntentResult::Recorded(revision)),
            Written::Conflict => match self.intent(batch).await? {
                // Recorded by an earlier call whose response was lost.
                Some(stored) if stored.intent == *intent => Ok(IntentResult::Recorded(stored.revision)),
                Some(stored) => Ok(IntentResult::Conflict(stored)),
                None => Err(QueueError::Lost { action }),
            },
        }
    }

    async fn intent(&self, batch: u32) -> Result<Option<StoredIntent>> {
        let Some(message) = self.last(INTENTS, &self.intent_subject(batch), "read an intent").await? else {
            return Ok(None);
        };
        let intent = serde_json::from_slice(&message.payload)
            .map_err(|_| QueueError::job(&*self.job, format!("the intent of batch {batch} is unreadable")))?;
        Ok(Some(StoredIntent { intent, revision: message.sequence }))
    }

    async fn record_result(&self, batch: u32, result: Bytes) -> Result<bool> {
        let written = self.write(self.result_subject(batch), result, 0, "record a result").await?;
        Ok(matches!(written, Written::At(_)))
    }

    async fn result(&self, batch: u32) -> Result<Option<Bytes>> {
        let message = self.last(RESULTS, &self.result_subject(batch), "read a result").await?;
        Ok(message.map(|message| message.payload))
    }

    async fn intents(&self, behind: u64, limit: usize) -> Result<Vec<Entry>> {
        self.read(INTENTS, format!("bulk.intents.{}.*", self.job), behind, limit).await
    }

    async fn results(&self, behind: u64, limit: usize) -> Result<Vec<Entry>> {
        self.read(RESULTS, format!("bulk.results.{}.*", self.job), behind, limit).await
    }
}
