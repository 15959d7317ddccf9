//! Pull requests.
//!
//! A delivery arrives under the subject of its stream, so a pull needs a subscription of its own. It is kept for later pulls once it is answered. A
//! pull that is dropped before ends its subscription, and with it the server's interest in delivering to it.

use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::queue::{QueueError, Result};

/// The time that the server's response may take beyond the requested wait.
const GRACE: Duration = Duration::from_secs(2);

/// A subscription for the pulls of one consumer, one at a time.
#[derive(Debug)]
pub(super) struct Pull {
    subject: String,
    inbox: String,
    responses: Subscriber,
}

impl Pull {
    /// Subscribes to responses of the consumer that is pulled with this subject.
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

    /// Pulls one message that arrives within this time, and returns the server's response.
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
