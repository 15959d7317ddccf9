//! Sample events for `POST /_/events`, for testing a receiver.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::delivery::webhooks::payload;
use crate::state::State;
use crate::wire::to_iso;

/// Sample `data` of an event type. Every type has one; the IDs are new each time.
pub fn data(state: &State, kind: &str, now: Timestamp) -> Value {
    let now = to_iso(now);
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
        ("inbox", event) => inbox(event, &now, id),
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

/// Sample data of an event of an inbox.
fn inbox(event: &str, now: &str, id: impl Fn() -> String) -> Value {
    let address = "support@acme.test";
    let inbox_id = id();
    let mut data = json!({ "source": "dashboard", "inbox_id": inbox_id });
    let mut add = |fields: Value| {
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
    };
    let thread = json!({
        "object": "inbox_thread", "id": id(), "subject": "A question", "folder": "archive", "labels": [], "read": false,
    });
    let email = |direction, from, to| {
        let email = id();
        json!({
            "id": email, "direction": direction, "from": from, "to": [to], "cc": [], "bcc": [], "reply_to": [],
            "subject": "A question", "message_id": format!("<{email}@example.com>"), "attachments": [], "read": false,
            "received_at": now,
        })
    };
    let of_thread = json!({ "thread_id": thread["id"], "thread": thread });
    let of_email = |email: &Value| json!({ "email_id": email["id"], "email": email });
    let (about, rest) = event.split_once('.').unwrap_or(("inbox", event));
    match about {
        "thread" => {
            add(of_thread);
            add(match rest {
                "folder.updated" => json!({ "from": "inbox", "to": "archive" }),
                "labels.updated" => {
                    json!({ "added": [{ "id": id(), "name": "Urgent", "color": "#AB12EF" }], "removed": [] })
                }
                "assigned" => json!({
                    "assignee_email": "grace@acme.test", "assigned_by_email": "bob@acme.test", "previous_assignee_email": null,
                }),
                "unassigned" => json!({ "previous_assignee_email": "grace@acme.test" }),
                _ => of_email(&email("inbound", "ada@example.com", address)),
            });
        }
        "email" => {
            let (direction, from, to) = match rest {
                "sent" => ("outbound", address, "ada@example.com"),
                _ => ("inbound", "ada@example.com", address),
            };
            add(of_thread);
            add(of_email(&email(direction, from, to)));
        }
        "draft" => {
            let draft = id();
            add(json!({ "draft_id": draft }));
            let sent = (rest == "sent").then(|| email("outbound", address, "ada@example.com"));
            if let Some(email) = &sent {
                add(of_thread);
                add(of_email(email));
            }
            if rest != "deleted" {
                add(json!({ "draft": {
                    "object": "inbox_draft", "id": draft, "type": "standalone", "to": ["ada@example.com"], "cc": [], "bcc": [],
                    "subject": "An offer", "thread_id": null, "reply_to_email_id": null, "email_id": sent.map(|email| email["id"].clone()),
                    "created_at": now, "updated_at": now, "attachments": [],
                }}));
            }
        }
        _ if rest != "deleted" => add(json!({ "inbox": {
            "object": "inbox", "id": inbox_id, "name": "Support", "email_address": address, "domain_id": id(),
            "receiving_address": null, "from_name": null, "unread": 0, "drafts": 0, "last_received": null, "created_at": now, "updated_at": now,
        }})),
        _ => {}
    }
    data
}

/// Applies the caller's changes as a JSON merge patch (RFC 7396).
pub fn merge(data: &mut Value, patch: &Value) {
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
