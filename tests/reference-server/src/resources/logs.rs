//! The log of API requests: `GET /logs`, `GET /logs/{log_id}`.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::lock::lock;
use crate::model::log::Entry;
use crate::wire::paging::{Mode, Window, list};
use crate::wire::problem::{Problem, json};
use crate::wire::timestamp::database;

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
            method: entry.method.clone(),
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
