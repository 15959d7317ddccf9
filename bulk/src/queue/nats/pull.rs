//! Pull requests.
//!
//! Deliveries arrive under their stream's subject, so each pull needs its own subscription, which later pulls reuse once the pull is answered.
//! Dropping a pull before that ends its subscription, and the server stops delivering to it.

use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::queue::{QueueError, Result};

/// How much longer than the requested wait the server's response may take.
const GRACE: Duration = Duration::from_secs(2);

/// A subscription for pulls from one consumer, one at a time.
#[derive(Debug)]
pub(super) struct Pull {
    subject: String,
    inbox: String,
    responses: Subscriber,
}

impl Pull {
    /// Subscribes to responses from the consumer with this pull subject.
    pub(super) async fn new(client: &Client, subject: String) -> Result<Self> {
        let inbox = client.new_inbox();
        let responses = client
            .subscribe(inbox.clone())
            .await
            .map_err(QueueError::unavailable("subscribe to the queue"))?;
        Ok(Self { subject, inbox, responses })
    }

    pub(super) fn subject(&self) -> &str {
        &self.subject
    }

    /// Pulls one message within this time, and returns the server's response.
    pub(super) async fn next(&mut self, client: &Client, wait: Duration) -> Result<Message> {
        let action = "take a batch from the queue";
        let expires = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let request = serde_json::json!({ "batch": 1, "expires": expires });
        client
            .publish_with_reply(self.subject.clone(), self.inbox.clone(), Bytes::from(request.to_string()))
            .await
            .map_err(QueueError::unavailable(action))?;
        timeout(wait + GRACE, self.responses.next())
            .await
            .map_err(QueueError::unavailable(action))?
            .ok_or_else(|| QueueError::Unavailable { action, source: "the connection is closed".into() })
    }
}
