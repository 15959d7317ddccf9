//! Sent emails and their events.

pub mod attachments;
pub mod bodies;
pub mod draft;
pub mod engagement;
pub mod headers;
pub mod html_and_text;
pub mod index;
pub mod personalized;
pub mod recipients;
pub mod tags;

use std::mem::replace;
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::nanosecond;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::attachments::Attachment;
use self::bodies::Bodies;
use self::draft::{Draft, Origin};
use self::engagement::{BounceType, Engagement, EventDetail};
use self::recipients::Mailbox;
use self::tags::Tag;
use crate::lock::Locked;
use crate::model::domain::Domain;
use crate::model::metric::Metric;
use crate::model::relayed::RelayLog;
use crate::store::size;
use crate::store::table::Record as _;
use crate::wire::{to_database_format, view, words};

/// The maximum number of events per email.
const MAX_EVENTS: usize = 200;
/// The number of events of an email that was delivered and never opened.
const TYPICAL_EVENTS: usize = 2;

/// The size of an event in the index by time, in bytes; nodes are at least half full.
const TIME_ENTRY: usize = 2 * size_of::<(Timestamp, Uuid)>();
/// The size of an event in the index by broadcast.
const RECIPIENT_ENTRY: usize = 2 * size_of::<(Uuid, Metric, u64)>();

/// A sent email: its delivery state and its events, beside the content.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Email {
    content: Arc<EmailContent>,
    progress: Locked<Progress>,
    /// The attempts to send it through a real server.
    #[serde(default, skip_serializing_if = "RelayLog::is_empty")]
    pub relayed: RelayLog,
}

/// The part of an email that never changes, which clones share.
#[derive(Debug, Deserialize, Serialize)]
pub struct EmailContent {
    pub id: Uuid,
    /// Including its angle brackets.
    pub message_id: Arc<str>,
    #[serde(with = "nanosecond::required")]
    pub created_at: Timestamp,
    pub from: Arc<str>,
    pub to: Vec<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cc: Option<Vec<Arc<str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bcc: Option<Vec<Arc<str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Vec<Arc<str>>>,
    pub subject: String,
    pub bodies: Bodies,
    /// The custom headers, without those that the service adds to the emails of a broadcast.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    pub tags: Arc<[Tag]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Origin::is_request")]
    pub origin: Origin,
}

impl Deref for Email {
    type Target = EmailContent;

    fn deref(&self) -> &EmailContent {
        &self.content
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Progress {
    last_event: EventAt,
    /// All events, oldest first.
    history: Vec<EventAt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled_at: Option<Timestamp>,
    /// The content to send, until it has been sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Box<Draft>>,
    /// The captured email in the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    captured: Option<Uuid>,
    /// Why it was not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engagement: Option<Box<Engagement>>,
}

/// An event and its time, which is persisted as a number: to format it would take longer than to write the rest.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct EventAt(#[serde(with = "nanosecond::required")] Timestamp, Event);

words! {
    /// An event of an email. The specification names two of these twelve.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
    pub enum Event {
        Queued = "queued",
        Scheduled = "scheduled",
        Canceled = "canceled",
        Failed = "failed",
        Suppressed = "suppressed",
        Sent = "sent",
        DeliveryDelayed = "delivery_delayed",
        Bounced = "bounced",
        Delivered = "delivered",
        Opened = "opened",
        Clicked = "clicked",
        Complained = "complained",
    }
}

impl Event {
    /// The metric for this event.
    pub fn metric(self) -> Option<Metric> {
        Some(match self {
            Self::Queued | Self::Scheduled | Self::Canceled => return None,
            Self::Failed => Metric::Failed,
            Self::Suppressed => Metric::Suppressed,
            Self::Sent => Metric::Sent,
            Self::DeliveryDelayed => Metric::DeliveryDelayed,
            Self::Bounced => Metric::Bounced,
            Self::Delivered => Metric::Delivered,
            Self::Opened => Metric::Opened,
            Self::Clicked => Metric::Clicked,
            Self::Complained => Metric::Complained,
        })
    }
}

impl Email {
    pub fn new(id: Uuid, draft: Box<Draft>, created_at: Timestamp) -> Self {
        let texts = |list: &[Mailbox]| list.iter().map(|one| Arc::clone(&one.text)).collect();
        let headers = if draft.origin.broadcast.is_none() { draft.headers.clone() } else { Vec::new() };
        let mut buffer = Uuid::encode_buffer();
        let local: &str = id.hyphenated().encode_lower(&mut buffer);
        let content = EmailContent {
            id,
            message_id: ["<", local, "@", draft.from.message_id_domain(), ">"].concat().into(),
            created_at,
            from: Arc::clone(&draft.from.text),
            to: texts(&draft.to),
            cc: draft.cc.as_deref().map(texts),
            bcc: draft.bcc.as_deref().map(texts),
            reply_to: draft.reply_to.as_deref().map(texts),
            subject: draft.subject.clone(),
            bodies: draft.bodies.clone(),
            headers,
            tags: Arc::clone(&draft.tags),
            topic: draft.topic,
            origin: draft.origin,
        };
        Self {
            content: Arc::new(content),
            progress: Locked::new(Progress {
                last_event: EventAt(created_at, Event::Queued),
                history: Vec::with_capacity(TYPICAL_EVENTS),
                scheduled_at: draft.scheduled_at,
                waiting: Some(draft),
                captured: None,
                failure: None,
                engagement: None,
            }),
            relayed: RelayLog::default(),
        }
    }

    /// The recipients in `to`, `cc` and `bcc`.
    pub fn recipients(&self) -> impl Iterator<Item = &Arc<str>> {
        [Some(&self.to), self.cc.as_ref(), self.bcc.as_ref()].into_iter().flatten().flatten()
    }

    pub fn last_event(&self) -> Event {
        self.progress.lock().last_event.1
    }

    /// Whether this event has happened, or is the last one.
    pub fn has_event(&self, event: Event) -> bool {
        let progress = self.progress.lock();
        progress.last_event.1 == event || progress.history.iter().any(|EventAt(_, known)| *known == event)
    }

    /// All events, oldest first. Beyond the limit, the latest are dropped.
    pub fn history(&self) -> Vec<(Timestamp, Event)> {
        self.progress.lock().history.iter().map(|EventAt(at, event)| (*at, *event)).collect()
    }

    /// Adds an event. It becomes the last one unless a later one is recorded already; an email that waits may have a later event only since the clock
    /// was set back. Returns the bytes by which the email's size grew, or `None` if the history is full.
    pub fn add_event(&self, at: Timestamp, event: Event, detail: Option<EventDetail>) -> Option<usize> {
        let mut progress = self.progress.lock();
        let EventAt(last_at, last) = progress.last_event;
        if at >= last_at || matches!(last, Event::Queued | Event::Scheduled) {
            progress.last_event = EventAt(at, event);
        }
        if progress.history.len() >= MAX_EVENTS {
            return None;
        }
        let before = self.events_size(progress.history.len());
        let place = progress.history.partition_point(|EventAt(known, _)| *known <= at);
        progress.history.insert(place, EventAt(at, event));
        let mut grown = self.events_size(progress.history.len()) - before;
        if let Some(detail) = detail {
            grown += detail.size();
            progress.engagement.get_or_insert_default().add(at, detail);
        }
        Some(grown)
    }

    /// Records that its recipient used its unsubscribe link. Returns false if it is already recorded.
    pub fn unsubscribe(&self, at: Timestamp) -> bool {
        let mut progress = self.progress.lock();
        let engagement = progress.engagement.get_or_insert_default();
        let is_first = engagement.unsubscribed_at.is_none();
        engagement.unsubscribed_at.get_or_insert(at);
        is_first
    }

    /// The facts that metrics count, with their times. A repeated open or click counts, but is unique only once.
    pub fn facts(&self) -> Vec<(Timestamp, Metric)> {
        let progress = self.progress.lock();
        let engagement = progress.engagement.as_deref();
        let mut facts = vec![(self.created_at, Metric::Received)];
        let (mut opened, mut clicked) = (false, false);
        for EventAt(at, event) in &progress.history {
            let also = match event {
                Event::Opened if !replace(&mut opened, true) => Some(Metric::UniqueOpened),
                Event::Clicked if !replace(&mut clicked, true) => Some(Metric::UniqueClicked),
                Event::Bounced => Some(bounce(engagement, *at).metric()),
                _ => None,
            };
            facts.extend(event.metric().into_iter().chain(also).map(|metric| (*at, metric)));
        }
        let unsubscribed = engagement.and_then(|known| known.unsubscribed_at);
        facts.extend(unsubscribed.map(|at| (at, Metric::Unsubscribed)));
        facts
    }

    /// How often this event was recorded.
    pub fn event_count(&self, event: Event) -> usize {
        self.progress.lock().history.iter().filter(|EventAt(_, known)| *known == event).count()
    }

    /// Details of its bounces, clicks and unsubscriptions.
    pub fn engagement(&self) -> Engagement {
        self.progress.lock().engagement.as_deref().cloned().unwrap_or_default()
    }

    /// The type of its latest bounce.
    pub fn bounce(&self) -> Option<BounceType> {
        let progress = self.progress.lock();
        let EventAt(at, _) =
            progress.history.iter().rev().find(|EventAt(_, event)| *event == Event::Bounced)?;
        Some(bounce(progress.engagement.as_deref(), *at))
    }

    /// The domain of its sender.
    pub fn sender_domain(&self) -> String {
        let (_, domain) = self.from.rsplit_once('@').unwrap_or_default();
        Domain::normalize(domain.trim_end_matches('>')).into_owned()
    }

    /// The bytes that this many events take in the history and in the index, at least those of a typical email: so an email doesn't grow soon.
    fn events_size(&self, count: usize) -> usize {
        // Vectors count as half full, as everywhere.
        count.max(TYPICAL_EVENTS) * (2 * size_of::<EventAt>() + self.fact_size())
    }

    /// The bytes that a fact takes in the index.
    fn fact_size(&self) -> usize {
        TIME_ENTRY + if self.origin.broadcast.is_some() { RECIPIENT_ENTRY } else { 0 }
    }

    /// The number of bytes, including the content to send while it waits, which shares the bodies.
    pub fn size(&self) -> usize {
        let progress = self.progress.lock();
        let Progress { history, waiting, failure, engagement, .. } = &*progress;
        let addresses = (&self.from, &self.to, &self.cc, &self.bcc, &self.reply_to);
        let content = (&self.message_id, &self.subject, &self.headers, &self.tags, &self.relayed);
        let events = self.events_size(history.len()) + 2 * self.fact_size();
        let waiting = waiting.as_ref().map_or(0, |draft| draft.size());
        let heap = size::heap(&(addresses, content, failure, engagement));
        size::row::<Self>(size_of::<EmailContent>() + heap + self.bodies.size() + waiting + events)
    }

    pub fn scheduled_at(&self) -> Option<Timestamp> {
        self.progress.lock().scheduled_at
    }

    /// Takes the content to send, once, if it is due.
    pub fn take_waiting(&self, at: Timestamp) -> Option<Box<Draft>> {
        let mut progress = self.progress.lock();
        if progress.scheduled_at.is_some_and(|due| due > at) {
            // It was rescheduled after this job was scheduled.
            return None;
        }
        progress.waiting.take()
    }

    /// Reschedules the email if it still waits. The error is its last event.
    pub fn reschedule(&self, to: Timestamp) -> Result<(), Event> {
        let mut progress = self.progress.lock();
        if progress.waiting.is_none() || progress.scheduled_at.is_none() {
            return Err(progress.last_event.1);
        }
        progress.scheduled_at = Some(to);
        Ok(())
    }

    /// Cancels the email if it still waits; repeating it succeeds. The error is its last event.
    pub fn cancel(&self, at: Timestamp) -> Result<(), Event> {
        let mut progress = self.progress.lock();
        let scheduled = progress.scheduled_at.is_some();
        match progress.waiting.take_if(|_| scheduled) {
            Some(_) => {
                progress.last_event = EventAt(at, Event::Canceled);
                progress.history.push(EventAt(at, Event::Canceled));
            }
            None if progress.last_event.1 == Event::Canceled => {}
            None => return Err(progress.last_event.1),
        }
        Ok(())
    }

    /// Whether it waits to be sent.
    pub fn is_waiting(&self) -> bool {
        self.progress.lock().waiting.is_some()
    }

    /// The attachments, while it waits to be sent.
    pub fn waiting_attachments(&self) -> Option<Vec<Attachment>> {
        self.progress.lock().waiting.as_ref().map(|draft| draft.attachments.clone())
    }

    pub fn captured_id(&self) -> Option<Uuid> {
        self.progress.lock().captured
    }

    /// Why it was not sent, or not to all recipients.
    pub fn failure(&self) -> Option<Arc<str>> {
        self.progress.lock().failure.clone()
    }

    pub fn set_failure(&self, reason: &str) {
        self.progress.lock().failure = Some(reason.into());
    }

    pub fn set_captured(&self, id: Uuid) {
        self.progress.lock().captured = Some(id);
    }
}

/// The type of the bounce at this time.
fn bounce(engagement: Option<&Engagement>, at: Timestamp) -> BounceType {
    engagement.map(|known| known.bounce(at)).unwrap_or_default()
}

view! {
    /// `docs/specification.md`, Sent email (list item).
    Listing of email: Email {
        id: email.id,
        message_id: email.message_id,
        to: email.to,
        from: email.from,
        created_at: to_database_format(email.created_at),
        subject: email.subject,
        bcc: email.bcc,
        cc: email.cc,
        reply_to: email.reply_to,
        last_event: email.last_event().as_str(),
        scheduled_at: email.scheduled_at().map(to_database_format),
    }
}

view! {
    /// The specification's list item has no topic, so the field is omitted for emails without one.
    pub Item of email: Email { ..Listing, topic_id?: email.topic, }
}

view! {
    pub Detail of email: Email {
        object: "email",
        ..Listing,
        html: email.bodies.html(),
        text: email.bodies.text(),
        tags: email.tags,
        topic_id: email.topic,
    }
}
