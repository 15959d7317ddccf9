//! What has happened to a mail, and what webhooks were told of it: `GET /_/messages/{id}/timeline`, `GET /_/received/{id}/timeline`.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use crate::lock::lock;
use crate::model::webhook_event::{Attempt, Told, message_id};
use crate::state::tenant::Tenant;
use crate::wire::problem::json;
use crate::wire::timestamp::database;

#[derive(Serialize)]
struct Timeline {
    object: &'static str,
    /// Oldest first.
    events: Vec<Event>,
    webhooks: Vec<Delivery>,
}

#[derive(Serialize)]
struct Event {
    at: String,
    event: &'static str,
}

/// One event, as one webhook was told it.
#[derive(Serialize)]
struct Delivery {
    id: String,
    webhook_id: String,
    endpoint: Option<String>,
    r#type: &'static str,
    status: &'static str,
    created_at: String,
    next_attempt_at: Option<String>,
    attempts: Vec<Try>,
}

#[derive(Serialize)]
struct Try {
    sent_at: String,
    http_status_code: u16,
    response: String,
}

/// The timeline of a sent email.
pub(super) fn of_sent(tenant: &Tenant, email: Uuid) -> Response<Bytes> {
    let record = lock(&tenant.emails).get(email).cloned();
    let events = record.map(|record| {
        let accepted = Event { at: database(record.created_at), event: "accepted" };
        let history = record.history();
        let later = history.iter().map(|(at, event)| Event { at: database(*at), event: event.as_str() });
        std::iter::once(accepted).chain(later).collect()
    });
    timeline(tenant, email, events.unwrap_or_default())
}

/// The timeline of a received one.
pub(super) fn of_received(tenant: &Tenant, id: Uuid) -> Response<Bytes> {
    let record = lock(&tenant.received).get(id).cloned();
    let came = record.map(|record| Event { at: database(record.created_at), event: "received" });
    timeline(tenant, id, came.into_iter().collect())
}

fn timeline(tenant: &Tenant, email: Uuid, events: Vec<Event>) -> Response<Bytes> {
    let webhooks = tenant.told.of_email(email).iter().map(|told| delivery(tenant, told)).collect();
    json(StatusCode::OK, &Timeline { object: "timeline", events, webhooks })
}

fn delivery(tenant: &Tenant, told: &Told) -> Delivery {
    let progress = told.progress();
    Delivery {
        id: message_id(told.id),
        webhook_id: told.webhook.to_string(),
        endpoint: tenant.webhooks.get(told.webhook).map(|webhook| webhook.endpoint.clone()),
        r#type: told.kind,
        status: progress.status().as_str(),
        created_at: database(told.created_at),
        next_attempt_at: progress.next_attempt_at.map(database),
        attempts: progress.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(attempt: &Attempt) -> Try {
    Try {
        sent_at: database(attempt.sent_at),
        http_status_code: attempt.http_status_code,
        response: attempt.response.clone(),
    }
}
