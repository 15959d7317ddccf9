//! The API log: the recorded part of each exchange, with secrets redacted.

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::store::size;
use crate::wire::{to_database_format, view};

/// The maximum size of a recorded body, in bytes. Larger ones are shown as null.
const MAX_BODY: usize = 64 << 10;
/// Fields with secrets. Secrets are returned once, so the log must not contain them.
const SECRETS: &[&str] = &["token", "signing_secret", "download_url", "url"];
/// The paths on which such fields occur: their beginnings, and what follows an ID.
const SECRET_PATHS: &[(&str, &str)] = &[
    ("/api-keys", ""),
    ("/webhooks", ""),
    ("/emails/receiving", ""),
    ("/emails/", "/attachments"),
    ("/emails/", "/share"),
];

/// A logged request of a tenant.
#[derive(Debug)]
pub struct Entry {
    pub id: Uuid,
    pub created_at: Timestamp,
    pub endpoint: String,
    pub method: Method,
    pub response_status: u16,
    pub user_agent: Option<String>,
    /// The bodies, with secrets redacted; shown if they are JSON.
    pub request_body: Option<Bytes>,
    pub response_body: Option<Bytes>,
}

impl Entry {
    pub fn size(&self) -> usize {
        size::row::<Self>(size::heap(&(
            &self.endpoint,
            &self.user_agent,
            &self.request_body,
            &self.response_body,
        )))
    }
}

/// The recorded part of a body: nothing if it is empty or too large, and no secrets. Whether it is JSON is determined on access.
pub fn recordable_body(path: &str, body: &Bytes) -> Option<Bytes> {
    if body.is_empty() || body.len() > MAX_BODY {
        return None;
    }
    if !may_contain_secrets(path) {
        return Some(body.clone());
    }
    let mut value: Value = serde_json::from_slice(body).ok()?;
    redact(&mut value);
    serde_json::to_vec(&value).ok().map(Bytes::from)
}

/// Whether bodies on this path may contain secrets.
pub fn may_contain_secrets(path: &str) -> bool {
    SECRET_PATHS.iter().any(|(start, after_id)| {
        path.strip_prefix(start)
            .is_some_and(|rest| rest.trim_start_matches(|c| c != '/').starts_with(after_id))
    })
}

/// Removes the secrets from a body.
pub fn redact(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if SECRETS.contains(&name.as_str()) {
                    *value = "[hidden]".into();
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

view! {
    pub Item of entry: Entry {
        id: entry.id,
        created_at: to_database_format(entry.created_at),
        endpoint: entry.endpoint,
        method: entry.method.as_str(),
        response_status: entry.response_status,
        user_agent: entry.user_agent,
    }
}

view! {
    pub Detail of entry: Entry {
        object: "log",
        ..Item,
        request_body: recorded_json(entry.request_body.as_ref()),
        response_body: recorded_json(entry.response_body.as_ref()),
    }
}

fn recorded_json(body: Option<&Bytes>) -> Option<Value> {
    body.and_then(|bytes| serde_json::from_slice(bytes).ok())
}
