//! News of what has just happened, for whoever looks at the sandbox while it runs.
//!
//! It is told where things happen and costs nothing while nobody listens. Who listens too slowly misses some, and is told so.

use std::sync::Arc;

use tokio::sync::broadcast::{self, Receiver, Sender};
use uuid::Uuid;

/// So much a listener may be behind.
const WAITING: usize = 4_096;

/// Something that has just happened.
#[derive(Clone, Debug)]
pub(crate) struct BusEvent {
    /// Whom it concerns; none: everybody.
    pub(crate) tenant: Option<Arc<str>>,
    pub(crate) what: BusEventKind,
}

/// What has happened. Whoever wants more asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BusEventKind {
    /// A mail has left and is in the inbox.
    Mail { id: Uuid, email: Uuid },
    /// Something has happened to an email.
    EmailEvent { email: Uuid, event: &'static str },
    /// A mail has come in.
    Received { id: Uuid },
    /// There is an event for a webhook, or an attempt to deliver it has ended.
    WebhookEvent { webhook: Uuid, event: Uuid },
    /// A request was answered.
    Request,
    /// Mails were deleted, or everything was.
    Forgotten,
    /// The clock was moved, stopped or started.
    Clock,
}

/// Where news is told and heard.
#[derive(Debug)]
pub(crate) struct EventBus {
    sender: Sender<BusEvent>,
}

impl EventBus {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::channel(WAITING).0 }
    }

    /// Tells something of one tenant.
    pub(crate) fn publish(&self, tenant: &str, what: BusEventKind) {
        if self.sender.receiver_count() > 0 {
            // The last listener may go at this very moment.
            let _ = self.sender.send(BusEvent { tenant: Some(tenant.into()), what });
        }
    }

    /// Tells something of all.
    pub(crate) fn publish_to_all(&self, what: BusEventKind) {
        let _ = self.sender.send(BusEvent { tenant: None, what });
    }

    /// Hears everything from now on, of every tenant.
    pub(crate) fn listen(&self) -> Receiver<BusEvent> {
        self.sender.subscribe()
    }
}
