//! One open pull request of a worker.
//!
//! A delivery arrives under the subject of its stream, so a pull needs a subscription of its own. It is kept from pull to pull, and an open pull
//! survives a dropped future: the next call waits for the same response. Otherwise each interrupted wait could leave a batch leased to nobody
//! until the lease expires.

use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::queue::{QueueError, Result};

/// The time that the server's response may take beyond the requested wait.
const GRACE: Duration = Duration::from_secs(2);

/// The subscription of a worker for one consumer.
#[derive(Debug)]
pub(super) struct Pull {
    subject: String,
    inbox: String,
    responses: Subscriber,
    /// When the open pull is overdue.
    open_until: Option<Instant>,
}

impl Pull {
    /// Subscribes to responses of the consumer that is pulled with this subject.
    pub(super) async fn new(client: &Client, subject: String) -> Result<Self> {
        let inbox = client.new_inbox();
        let responses = client
            .subscribe(inbox.clone())
            .await
            .map_err(QueueError::unavailable("subscribe to the queue"))?;
        Ok(Self { subject, inbox, responses, open_until: None })
    }

    pub(super) fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the response to the open pull, after opening one that waits for this time. An error ends the subscription.
    pub(super) async fn next(&mut self, client: &Client, wait: Duration) -> Result<Message> {
        let action = "take a batch from the queue";
        let overdue = match self.open_until {
            Some(overdue) => overdue,
            None => {
                let expires = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
                let request = serde_json::json!({ "batch": 1, "expires": expires });
                client
                    .publish_with_reply(
                        self.subject.clone(),
                        self.inbox.clone(),
                        Bytes::from(request.to_string()),
                    )
                    .await
                    .map_err(QueueError::unavailable(action))?;
                *self.open_until.insert(Instant::now() + wait + GRACE)
            }
        };
        let response =
            timeout_at(overdue, self.responses.next()).await.map_err(QueueError::unavailable(action))?;
        self.open_until = None;
        response.ok_or_else(|| QueueError::Unavailable { action, source: "the connection is closed".into() })
    }
}
