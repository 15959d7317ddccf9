//! Sample events for `POST /_/events`, for testing a receiver.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::delivery::webhooks::payload;
use crate::state::State;
use crate::wire::timestamp::iso;

/// Sample `data` of an event type. Every type has one; the IDs are new each time.
pub(crate) fn data(state: &State, kind: &str, now: Timestamp) -> Value {
    let now = iso(now);
    let id = || state.next_id().to_string();
    let (group, rest) = kind.split_once('.').unwrap_or((kind, ""));
    match (group, rest) {
        ("email", "received") => json!({
            "email_id": id(),
            "created_at": now,
            "from": "ada@example.com",
            "to": ["support@acme.test"],
            "cc": [],
            "bcc": [],
            "message_id": format!("<{}@example.com>", id()),
            "subject": "A question",
            "received_for": ["support@acme.test"],
            "attachments": [{
                "id": id(),
                "filename": "screenshot.png",
                "content_type": "image/png",
                "content_disposition": "attachment",
                "content_id": null,
            }],
        }),
        ("email", _) => {
            let email = id();
            let mut data = json!({
                "email_id": email,
                "created_at": now,
                "from": "Acme <hi@acme.test>",
                "to": ["ada@example.com"],
                "subject": "Hello",
                "message_id": format!("<{email}@acme.test>"),
                "tags": { "category": "welcome" },
            });
            if let Some((field, detail)) = payload::detail(kind, &now) {
                data[field] = detail;
            }
            data
        }
        ("contact", "topics.updated") => json!({
            "email": "ada@example.com",
            "topics": [{ "id": id(), "subscription": "opt_out" }],
        }),
        ("contact", _) => json!({
            "id": id(),
            "audience_id": id(),
            "segment_ids": [],
            "created_at": now,
            "updated_at": now,
            "email": "ada@example.com",
            "first_name": "Ada",
            "last_name": "Lovelace",
            "unsubscribed": false,
        }),
        ("domain", event) => json!({
            "id": id(),
            "name": "acme.test",
            "status": if event == "created" { "not_started" } else { "verified" },
            "created_at": now,
            "region": "us-east-1",
            "records": [{
                "record": "SPF",
                "name": "send.acme.test",
                "type": "MX",
                "value": "feedback.us-east-1.mail.example",
                "ttl": "Auto",
                "status": if event == "created" { "not_started" } else { "verified" },
                "priority": 10,
            }],
            "capabilities": { "sending": "enabled", "receiving": "disabled" },
        }),
        ("suppression", _) => json!({
            "id": id(),
            "email": "ada@example.com",
            "origin": "bounce",
            "source_id": id(),
            "created_at": now,
        }),
        _ => json!({
            "id": id(),
            "name": "Product news",
            "description": null,
            "default_subscription": "opt_in",
            "deleted": rest == "deleted",
            "created_at": now,
            "updated_at": now,
        }),
    }
}

/// Applies the caller's changes as a JSON merge patch (RFC 7396).
pub(crate) fn merge(data: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *data = patch.clone();
        return;
    };
    if !data.is_object() {
        *data = json!({});
    }
    let Some(fields) = data.as_object_mut() else { return };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}
