//! Tests that need both sides: whether the client, the server and the contract agree, and how the client behaves when sockets fail. Each
//! side's own behavior is tested in its own suite.
//!
//! A comment such as `EMAIL-09` names the clause that a test proves, listed in `clauses.toml`; one such as `A-09` names a promise in `reliability.toml`.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod agreement;
mod architecture;
mod assertions;
mod clauses;
mod completeness;
mod deliveries;
mod document;
mod faults;
mod generated;
mod hostile;
mod layers;
mod limits;
mod operations;
mod published;
mod recipients;
mod responses;

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

/// Fails with these problems, and with advice about all of them.
#[track_caller]
fn assert_none(problems: &[String], advice: &str) {
    assert!(problems.is_empty(), "{advice}:\n  {}", problems.join("\n  "));
}

fn letters(n: usize) -> String {
    "x".repeat(n)
}
