//! The events of an email and their webhook deliveries: `GET /_/messages/{id}/timeline`, `GET /_/received/{id}/timeline`.

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use uuid::Uuid;

use crate::inbox::mail::MailView;
use crate::lock::lock;
use crate::model::email::Event::Failed;
use crate::model::webhook_delivery::{Attempt, WebhookDelivery, message_id};
use crate::state::mails::Folder;
use crate::state::tenant::Tenant;
use crate::wire::answers::Answer;
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
    /// Why the email was not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Arc<str>>,
}

/// The delivery of an event to one webhook.
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

/// The timeline of an email; that of a sent one remains when its mail was deleted.
pub(super) fn answer(tenant: &Tenant, folder: Folder, id: &str) -> Answer {
    let email = MailView::find_email(tenant, folder, id)?;
    let events = match folder {
        Folder::Sent => of_email(tenant, email),
        Folder::Received => {
            let received = lock(&tenant.received).get(email).map(|mail| database(mail.created_at));
            received.into_iter().map(|at| Entry { at, event: "received", reason: None }).collect()
        }
    };
    let webhooks = tenant.deliveries.of_email(email).iter().map(|one| delivery(tenant, one)).collect();
    Ok(json(StatusCode::OK, &Timeline { object: "timeline", events, webhooks }))
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

fn delivery(tenant: &Tenant, delivery: &WebhookDelivery) -> Delivery {
    let progress = delivery.progress();
    Delivery {
        id: message_id(delivery.id),
        webhook_id: delivery.webhook.to_string(),
        endpoint: tenant.webhooks.get(delivery.webhook).map(|webhook| webhook.endpoint.clone()),
        r#type: delivery.kind,
        status: progress.status().as_str(),
        created_at: database(delivery.created_at),
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
