//! The log of API requests: `GET /logs`.

use bytes::Bytes;
use http::Response;
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::timestamp::database;
use crate::lock::lock;
use crate::paging::{Mode, Window, list};
use crate::problem::Problem;
use crate::routes::Context;

/// One request of a tenant. Its bodies are not kept here.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: Uuid,
    pub(crate) created_at: Timestamp,
    pub(crate) endpoint: String,
    pub(crate) method: String,
    pub(crate) response_status: u16,
    pub(crate) user_agent: Option<String>,
}

/// `GET /logs`, mode A. The request itself is logged after it was answered.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    let page = window.look(&lock(&context.tenant.logs), |_| true)?;
    Ok(list(&page.map(|entry| Item {
        id: entry.id.to_string(),
        created_at: database(entry.created_at),
        endpoint: entry.endpoint.clone(),
        method: entry.method.clone(),
        response_status: entry.response_status,
        user_agent: entry.user_agent.clone(),
    })))
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
