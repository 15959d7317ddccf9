//! The `data` of each event.
//!
//! The specification doesn't define it; the shapes are Resend's, with all times in ISO 8601 and `tags` as an object from name to value.

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::contact::Contact;
use crate::model::domain::{CapabilitiesItem, Domain};
use crate::model::email::{Email, Event};
use crate::model::mail::tracking;
use crate::model::received::Received;
use crate::model::suppression::Suppression;
use crate::model::topic::Topic;
use crate::wire::to_iso;

/// The webhook type of an email's event, and the field that it adds; `None` for events that aren't sent.
pub fn kind(event: Event) -> Option<&'static str> {
    Some(match event {
        Event::Queued | Event::Canceled => return None,
        Event::Scheduled => "email.scheduled",
        Event::Failed => "email.failed",
        Event::Suppressed => "email.suppressed",
        Event::Sent => "email.sent",
        Event::DeliveryDelayed => "email.delivery_delayed",
        Event::Bounced => "email.bounced",
        Event::Delivered => "email.delivered",
        Event::Opened => "email.opened",
        Event::Clicked => "email.clicked",
        Event::Complained => "email.complained",
    })
}

/// The `email.…` events, except `email.received`. `known` is merged over the default content of the event's own field (RFC 7396); links
/// that start with `own` belong to the service, and no recipient clicks them.
pub fn email(email: &Email, event: Event, known: Option<&Value>, at: Timestamp, own: &str) -> Value {
    let mut data = json!({
        "email_id": email.id.to_string(),
        "created_at": to_iso(email.created_at),
        "from": email.from,
        "to": email.to,
        "subject": email.subject,
        "message_id": email.message_id,
    });
    if let Some(broadcast) = email.origin.broadcast {
        data["broadcast_id"] = broadcast.to_string().into();
    }
    if let Some(template) = email.origin.template {
        data["template_id"] = template.to_string().into();
    }
    if !email.headers.is_empty() {
        let headers = email.headers.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        data["headers"] = headers.collect();
    }
    if !email.tags.is_empty() {
        let tags = email.tags.iter().map(|tag| (tag.name.clone(), Value::String(tag.value.clone())));
        data["tags"] = Value::Object(tags.collect());
    }
    if let Some((field, mut default)) = kind(event).and_then(|kind| detail(kind, &to_iso(at))) {
        if event == Event::Clicked {
            default["link"] = clicked_link(email, own).into();
        }
        if let (Value::Object(default), Some(Value::Object(given))) = (&mut default, known) {
            default.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
            default.retain(|_, value| !value.is_null());
        }
        data[field] = default;
    }
    data
}

/// The link that recipients click: the email's first one, except those that start with `own`.
pub fn clicked_link(email: &Email, own: &str) -> String {
    let link = email.bodies.html().and_then(|html| tracking::first_link(&html, own));
    link.unwrap_or_else(|| DEFAULT_LINK.to_owned())
}

/// The clicked link of an email without links.
const DEFAULT_LINK: &str = "https://example.com/";

/// The diagnostic code of an unknown address in a delivery status notification (RFC 3464, 2.3.6; RFC 3463, 3.2). Programs that classify
/// bounces parse it.
const UNKNOWN_USER: &str = "smtp; 550 5.1.1 user unknown";

/// Resend's texts for a permanent bounce and a suppressed address, from which receivers such as django-anymail derive the reason.
const HARD_BOUNCE: &str = "The recipient's email provider sent a hard bounce message, but didn't specify the reason for the hard bounce.";
const SUPPRESSED: &str =
    "Resend has suppressed sending to this address because it is on the account-level suppression list.";

/// The reason for a simulated failure.
pub(crate) const RECIPIENT_REFUSED: &str = "recipient_refused";

/// The event type's own field, with its default content.
pub(super) fn detail(kind: &str, at: &str) -> Option<(&'static str, Value)> {
    Some(match kind {
        "email.bounced" => (
            "bounce",
            json!({
                "message": HARD_BOUNCE,
                "type": "Permanent",
                "subType": "General",
                "diagnosticCode": [UNKNOWN_USER],
            }),
        ),
        "email.clicked" => (
            "click",
            json!({
                "ipAddress": "192.0.2.1",
                "link": DEFAULT_LINK,
                "timestamp": at,
                "userAgent": "Mozilla/5.0 (sandbox)",
            }),
        ),
        "email.failed" => ("failed", json!({ "reason": RECIPIENT_REFUSED })),
        "email.suppressed" => (
            "suppressed",
            json!({
                "message": SUPPRESSED,
                "type": "OnAccountSuppressionList",
                "reason": "previous_bounce",
                "diagnosticCode": [UNKNOWN_USER],
            }),
        ),
        _ => return None,
    })
}

/// `email.received`. Excludes the bodies, which receivers request separately.
pub fn received(email: &Received) -> Value {
    let attachments = email.attachments.iter().map(|file| {
        json!({
            "id": file.id.to_string(),
            "filename": file.filename,
            "content_type": file.content_type,
            "content_disposition": if file.inline { "inline" } else { "attachment" },
            "content_id": file.content_id,
        })
    });
    json!({
        "email_id": email.id.to_string(),
        "created_at": to_iso(email.created_at),
        "from": email.from,
        "to": email.to,
        "cc": email.cc,
        "bcc": email.bcc,
        "message_id": email.message_id,
        "subject": email.subject,
        "received_for": email.recipients,
        "attachments": attachments.collect::<Vec<_>>(),
    })
}

/// `contact.created`, `contact.updated`, `contact.deleted`. `audience` is the account's default audience.
pub fn contact(contact: &Contact, audience: Uuid) -> Value {
    let segments: Vec<_> = contact.segments.iter().map(ToString::to_string).collect();
    json!({
        "id": contact.id.to_string(),
        // The deprecated name of the first segment, or the account's default audience if there is none, since clients expect a string.
        "audience_id": segments.first().unwrap_or(&audience.to_string()),
        "segment_ids": segments,
        "created_at": to_iso(contact.created_at),
        "updated_at": to_iso(contact.updated_at),
        "email": contact.email,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "unsubscribed": contact.unsubscribed,
    })
}

/// `contact.topics.updated`: every choice of the contact.
pub fn contact_topics(contact: &Contact) -> Value {
    let topics = contact.topics.iter();
    let topics =
        topics.map(|(id, subscription)| json!({ "id": id.to_string(), "subscription": subscription }));
    json!({ "email": contact.email, "topics": topics.collect::<Vec<_>>() })
}

/// `domain.created`, `domain.updated`, `domain.deleted`.
pub fn domain(domain: &Domain) -> Value {
    json!({
        "id": domain.id.to_string(),
        "name": domain.setup.name,
        "status": domain.status.as_str(),
        "created_at": to_iso(domain.created_at),
        "region": domain.setup.region.as_str(),
        "records": domain.records,
        "capabilities": CapabilitiesItem(&domain.setup.capabilities),
    })
}

/// `topic.created`, `topic.updated`, `topic.deleted`.
pub fn topic(topic: &Topic, deleted: bool) -> Value {
    json!({
        "id": topic.id.to_string(),
        "name": topic.name,
        "description": topic.description,
        "default_subscription": topic.default_subscription,
        "deleted": deleted,
        "created_at": to_iso(topic.created_at),
        "updated_at": to_iso(topic.updated_at),
    })
}

/// `suppression.added`, `suppression.removed`.
pub fn suppression(entry: &Suppression) -> Value {
    json!({
        "id": entry.id.to_string(),
        "email": entry.email,
        "origin": entry.origin,
        "source_id": entry.source.map(|id| id.to_string()),
        "created_at": to_iso(entry.created_at),
    })
}
