//! The clauses of the specification, tested with the client and the reference server, and the behavior of either when the other fails.
//!
//! A comment such as `EMAIL-09` names the clause that a test proves, listed in `clauses.toml`; one such as `A-09` a promise of `reliability.toml`.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod agreement;
mod architecture;
mod assertions;
mod attachments;
mod auth;
mod automations;
mod batch;
mod broadcasts;
mod clauses;
mod completeness;
mod contacts;
mod deliveries;
mod delivery;
mod document;
mod domains;
mod emails;
mod errors;
mod faults;
mod forwarding;
mod generated;
mod hostile;
mod idempotency;
mod inputs;
mod layers;
mod limits;
mod lists;
mod logs;
mod oauth;
mod operations;
mod published;
mod received;
mod recipients;
mod responses;
mod templates;
mod topics;
mod webhook_events;
mod webhooks;

use serde_json::{Value, json};

/// The minimal email.
fn least() -> Value {
    json!({ "from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works" })
}

/// The minimal email with some fields set; `null` removes one.
fn with(fields: Value) -> Value {
    let mut email = least();
    let Value::Object(fields) = fields else { panic!("not an object: {fields}") };
    for (name, value) in fields {
        if value.is_null() {
            email.as_object_mut().unwrap().remove(&name);
        } else {
            email[name] = value;
        }
    }
    email
}

fn letters(n: usize) -> String {
    "x".repeat(n)
}
