//! The log of API requests: `GET /logs`, `GET /logs/{log_id}`.

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::timestamp::database;
use crate::lock::lock;
use crate::paging::{Mode, Window, list};
use crate::problem::{Problem, json};
use crate::routes::Context;
use crate::store::size::Size;

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

/// `GET /logs`, mode A. The request itself is logged after it was answered.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    let page = window.look(&lock(&context.tenant.logs), |_| true)?;
    Ok(list(&page.map(|entry| Item::of(&entry))))
}

/// `GET /logs/{log_id}`. The specification is silent on it; this is the shape of the public service that speaks this format.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a log entry")?;
    let entry = lock(&context.tenant.logs).get(id).cloned();
    let entry = entry.ok_or_else(|| Problem::not_found("Log entry not found."))?;
    let body = |kept: &Option<Bytes>| kept.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
    Ok(json(
        StatusCode::OK,
        &Record {
            object: "log",
            request_body: body(&entry.request_body),
            response_body: body(&entry.response_body),
            item: Item::of(&entry),
        },
    ))
}

/// `SPEC.md`, API log entry (list item).
#[derive(Serialize)]
struct Item {
    id: String,
    created_at: String,
    endpoint: String,
    method: String,
    response_status: u16,
    user_agent: Option<String>,
}

impl Item {
    fn of(entry: &Entry) -> Self {
        Self {
            id: entry.id.to_string(),
            created_at: database(entry.created_at),
            endpoint: entry.endpoint.clone(),
            method: entry.method.to_string(),
            response_status: entry.response_status,
            user_agent: entry.user_agent.clone(),
        }
    }
}

#[derive(Serialize)]
struct Record {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    request_body: Option<Value>,
    response_body: Option<Value>,
}
