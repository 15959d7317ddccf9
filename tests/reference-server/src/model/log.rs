//! The API log: what is recorded of each exchange, and what is redacted from it.

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::store::size::Size;
use crate::wire::timestamp::database;
use crate::wire::view::view;

/// The largest body that is kept, in bytes. What is larger is shown as null.
const LARGEST: usize = 64 << 10;
/// Fields whose values open something. They are handed out once, and the log is not the second time.
const SECRETS: &[&str] = &["token", "signing_secret", "download_url"];
/// Paths on which such fields occur.
const TOLD_ON: &[&str] = &["/api-keys", "/webhooks", "/emails/receiving"];

/// One request of a tenant.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: Uuid,
    pub(crate) created_at: Timestamp,
    pub(crate) endpoint: String,
    pub(crate) method: Method,
    pub(crate) response_status: u16,
    pub(crate) user_agent: Option<String>,
    /// As they arrived and left, but for secrets; shown if they are JSON.
    pub(crate) request_body: Option<Bytes>,
    pub(crate) response_body: Option<Bytes>,
}

impl Size for Entry {
    fn heap_size(&self) -> usize {
        let texts = self.endpoint.heap_size() + self.user_agent.heap_size();
        texts + self.request_body.heap_size() + self.response_body.heap_size()
    }
}

/// What the log keeps of a body: nothing of an empty or large one, and no secrets. Whether it is JSON shows when it is read.
pub(crate) fn kept(path: &str, body: &Bytes) -> Option<Bytes> {
    if body.is_empty() || body.len() > LARGEST {
        return None;
    }
    if !tells_secrets(path) {
        return Some(body.clone());
    }
    let mut value: Value = serde_json::from_slice(body).ok()?;
    hide(&mut value);
    serde_json::to_vec(&value).ok().map(Bytes::from)
}

/// Whether bodies on this path may hold what opens something.
pub(crate) fn tells_secrets(path: &str) -> bool {
    TOLD_ON.iter().any(|told| path.starts_with(told))
}

/// Takes the values out of a body that open something.
pub(crate) fn hide(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if SECRETS.contains(&name.as_str()) {
                    *value = "[hidden]".into();
                } else {
                    hide(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

view! {
    pub(crate) Item of entry: Entry {
        id: entry.id,
        created_at: database(entry.created_at),
        endpoint: entry.endpoint,
        method: entry.method.as_str(),
        response_status: entry.response_status,
        user_agent: entry.user_agent,
    }
}
