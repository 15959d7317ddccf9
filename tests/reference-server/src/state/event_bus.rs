//! Live events, for pages that show the sandbox while it runs.
//!
//! Publishing costs nothing without subscribers, and the queue is allocated for the first one. A subscriber that falls behind misses events
//! and receives an error that says so.

use std::sync::{Arc, OnceLock};

use tokio::sync::broadcast::{self, Receiver, Sender};
use uuid::Uuid;

/// The maximum lag of a subscriber, in events.
const CAPACITY: usize = 4_096;

/// A live event.
#[derive(Clone, Debug)]
pub struct BusEvent {
    /// The tenant that the event belongs to; `None` for all tenants.
    pub tenant: Option<Arc<str>>,
    pub kind: BusEventKind,
}

/// The kind of a live event, with IDs only: subscribers request the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusEventKind {
    /// An email was captured.
    Mail { id: Uuid, email: Uuid },
    /// A sent email has a new event.
    EmailEvent { email: Uuid, event: &'static str },
    /// An email was received.
    Received { id: Uuid },
    /// A mail was deleted.
    Deleted { id: Uuid },
    /// A mail was marked as read or unread.
    Marked { id: Uuid },
    /// A webhook event was created, or an attempt to deliver it ended.
    WebhookEvent { webhook: Uuid, event: Uuid },
    /// A request was answered.
    Request,
    /// Many mails were deleted or marked, or the service was reset.
    Forgotten,
    /// The clock was moved, stopped or resumed.
    Clock,
}

/// Publishes live events to all subscribers.
#[derive(Debug, Default)]
pub struct EventBus {
    sender: OnceLock<Sender<BusEvent>>,
}

impl EventBus {
    /// Publishes an event of one tenant.
    pub fn publish(&self, tenant: &str, kind: BusEventKind) {
        self.send(|| BusEvent { tenant: Some(tenant.into()), kind });
    }

    /// Publishes an event that concerns all tenants.
    pub fn publish_to_all(&self, kind: BusEventKind) {
        self.send(|| BusEvent { tenant: None, kind });
    }

    fn send(&self, event: impl FnOnce() -> BusEvent) {
        if let Some(sender) = self.sender.get().filter(|sender| sender.receiver_count() > 0) {
            // The last subscriber may disappear at any time.
            let _ = sender.send(event());
        }
    }

    /// Subscribes to the events of all tenants from now on.
    pub fn subscribe(&self) -> Receiver<BusEvent> {
        self.sender.get_or_init(|| broadcast::channel(CAPACITY).0).subscribe()
    }
}
