//! What has happened to a mail, and what webhooks were told of it: `GET /_/messages/{id}/timeline`, `GET /_/received/{id}/timeline`.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use crate::inbox::letter::Letter;
use crate::lock::lock;
use crate::model::email::Event::Failed;
use crate::model::webhook_event::{Attempt, Told, message_id};
use crate::state::tenant::Tenant;
use crate::wire::problem::json;
use crate::wire::timestamp::database;

#[derive(Serialize)]
struct Timeline {
    object: &'static str,
    /// Oldest first.
    events: Vec<Entry>,
    webhooks: Vec<Delivery>,
}

#[derive(Serialize)]
struct Entry {
    at: String,
    event: &'static str,
    /// Why the email could not leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Arc<str>>,
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

/// The timeline of a mail.
pub(super) fn of(tenant: &Tenant, letter: &Letter) -> Response<Bytes> {
    let (email, events) = match letter {
        Letter::Sent(mail) => (mail.email_id, of_email(tenant, mail.email_id)),
        Letter::Unsent(email) => (email.id, of_email(tenant, email.id)),
        Letter::Received(mail) => {
            (mail.id, vec![Entry { at: database(mail.created_at), event: "received", reason: None }])
        }
    };
    let webhooks = tenant.told.of_email(email).iter().map(|told| delivery(tenant, told)).collect();
    json(StatusCode::OK, &Timeline { object: "timeline", events, webhooks })
}

fn of_email(tenant: &Tenant, id: Uuid) -> Vec<Entry> {
    let Some(email) = lock(&tenant.emails).get(id).cloned() else { return Vec::new() };
    let accepted = Entry { at: database(email.created_at), event: "accepted", reason: None };
    let later = email.history().into_iter();
    let later = later.map(|(at, event)| Entry {
        at: database(at),
        event: event.as_str(),
        reason: email.failure().filter(|_| event == Failed),
    });
    std::iter::once(accepted).chain(later).collect()
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
