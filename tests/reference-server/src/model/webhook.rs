//! Webhooks: endpoints that events are delivered to.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::store::table;
use crate::wire::{enabled_or_disabled, to_database_format, view};

/// The subscribable event types. The specification names four and says that there are more; these are Resend's. Others
/// are rejected: a misspelled type would silently never be delivered.
pub const EVENTS: &[&str] = &[
    "email.sent",
    "email.scheduled",
    "email.delivered",
    "email.delivery_delayed",
    "email.bounced",
    "email.complained",
    "email.opened",
    "email.clicked",
    "email.failed",
    "email.suppressed",
    "email.received",
    "contact.created",
    "contact.updated",
    "contact.deleted",
    "contact.topics.updated",
    "domain.created",
    "domain.updated",
    "domain.deleted",
    "suppression.added",
    "suppression.removed",
    "topic.created",
    "topic.updated",
    "topic.deleted",
];

/// Further subscribable types: events of inboxes, which are in beta. `inbox.thread.assigned` and `inbox.thread.unassigned` never occur, since
/// no operation assigns threads.
pub const INBOX_EVENTS: &[&str] = &[
    "inbox.created",
    "inbox.updated",
    "inbox.deleted",
    "inbox.thread.created",
    "inbox.thread.folder.updated",
    "inbox.thread.assigned",
    "inbox.thread.unassigned",
    "inbox.thread.labels.updated",
    "inbox.email.received",
    "inbox.email.sent",
    "inbox.draft.created",
    "inbox.draft.updated",
    "inbox.draft.sent",
    "inbox.draft.deleted",
];

/// A webhook.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Webhook {
    pub id: Uuid,
    pub endpoint: String,
    pub events: Vec<String>,
    pub enabled: bool,
    pub created_at: Timestamp,
    pub secret: String,
    /// The replaced secrets, newest first, each with its expiry.
    pub replaced: Vec<(String, Timestamp)>,
}

/// The enabled webhooks that are subscribed to an event type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Subscribed(pub Cow<'static, str>);

impl table::Record for Webhook {
    const NOUN: &'static str = "a webhook";
    const PLURAL: &'static str = "webhooks";

    type Group = Subscribed;

    fn groups(&self) -> Vec<Subscribed> {
        let events = self.events.iter().filter(|_| self.enabled);
        events.map(|event| Subscribed(event.clone().into())).collect()
    }
}

/// The time during which a replaced secret still signs.
const RETIREMENT: SignedDuration = SignedDuration::from_hours(24);
/// The maximum number of replaced secrets that still sign: the header of a delivery grows with each.
const MAX_REPLACED: usize = 10;

impl Webhook {
    /// The secrets that sign at this time, newest first.
    pub fn active_secrets(&self, now: Timestamp) -> Vec<&str> {
        let replaced = self.replaced.iter().filter(|(_, until)| now < *until);
        std::iter::once(&self.secret).chain(replaced.map(|(secret, _)| secret)).map(String::as_str).collect()
    }

    /// Replaces the current secret, which still signs during its retirement. A secret whose retirement has ended stays: an attempt that was due
    /// earlier may still be pending.
    pub fn rotate(&mut self, secret: String, now: Timestamp) {
        let before = std::mem::replace(&mut self.secret, secret);
        self.replaced.insert(0, (before, saturating_add(now, RETIREMENT)));
        self.replaced.truncate(MAX_REPLACED);
    }
}

view! {
    /// `docs/specification.md`, Webhook (list item).
    pub Item of webhook: Webhook {
        id: webhook.id,
        created_at: to_database_format(webhook.created_at),
        status: enabled_or_disabled(webhook.enabled),
        endpoint: webhook.endpoint,
        events: webhook.events,
    }
}

view! {
    pub Detail of webhook: Webhook { object: "webhook", ..Item, signing_secret: webhook.secret, }
}
