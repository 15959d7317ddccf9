//! The events of an email and their webhook deliveries: `GET /_/messages/{id}/timeline`, `GET /_/received/{id}/timeline`.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use uuid::Uuid;

use crate::inbox::mail::MailView;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::Event::Failed;
use idempost_reference_server::model::relayed::RelayLog;
use idempost_reference_server::model::webhook_delivery::{Attempt, Progress, WebhookDelivery};
use idempost_reference_server::state::mails::Folder;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::problem;
use idempost_reference_server::wire::timestamp::to_database_format;

described! {
    /// What happened to an email.
    pub(super) struct Timeline {
        object: &'static str,
        /// Oldest first.
        events: Vec<TimelineEntry>,
        webhooks: Vec<TimelineDelivery>,
    }

    /// An event of an email.
    struct TimelineEntry {
        at: String,
        event: &'static str,
        /// Why the email was not sent, or the reply of the real server that it was forwarded or released to.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// The recipients that it was forwarded or released to.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<Arc<[String]>>,
    }
}

impl TimelineEntry {
    fn new(at: Timestamp, event: &'static str) -> Self {
        Self { at: to_database_format(at), event, reason: None, to: None }
    }
}

described! {
    /// An event's delivery to one webhook.
    struct TimelineDelivery(tenant: &Tenant, delivery: &WebhookDelivery, progress: Progress) {
        id: String = delivery.message_id(),
        webhook_id: String = delivery.webhook.to_string(),
        endpoint: Option<String> =
            tenant.webhooks.get(delivery.webhook).map(|webhook| webhook.endpoint.clone()),
        r#type: &'static str = delivery.kind,
        status: &'static str = progress.status().as_str(),
        created_at: String = to_database_format(delivery.created_at),
        next_attempt_at: Option<String> = progress.next_attempt_at.map(to_database_format),
        attempts: Vec<TimelineAttempt> = progress.attempts.into_iter().map(TimelineAttempt::new).collect(),
    }

    /// An attempt to deliver an event.
    struct TimelineAttempt(attempt: Attempt) {
        sent_at: String = to_database_format(attempt.sent_at),
        /// 0 if there was no response.
        http_status_code: u16 = attempt.http_status_code,
        /// The beginning of the response's body, or the reason for having none.
        response: String = attempt.response,
    }
}

/// Returns an email's timeline; for a sent email, even after its mail was deleted.
pub(super) fn show(tenant: &Tenant, folder: Folder, id: &str) -> HandlerResult {
    let email = MailView::find_email(tenant, folder, id)?;
    let events = match folder {
        Folder::Sent => email_entries(tenant, email),
        Folder::Received => {
            let mail = lock(&tenant.received).get(email).cloned();
            let received = |at| vec![TimelineEntry::new(at, "received")];
            mail.map(|mail| with_relayed(received(mail.created_at), &mail.relayed)).unwrap_or_default()
        }
    };
    let webhooks = tenant.deliveries.for_email(email);
    let webhooks = webhooks.iter().map(|one| TimelineDelivery::new(tenant, one, one.progress())).collect();
    Ok(problem::json(StatusCode::OK, &Timeline { object: "timeline", events, webhooks }))
}

fn email_entries(tenant: &Tenant, id: Uuid) -> Vec<TimelineEntry> {
    let Some(email) = lock(&tenant.emails).get(id).cloned() else { return Vec::new() };
    let accepted = TimelineEntry::new(email.created_at, "accepted");
    let later = email.history().into_iter();
    let later = later.map(|(at, event)| TimelineEntry {
        reason: email.failure().filter(|_| event == Failed),
        ..TimelineEntry::new(at, event.as_str())
    });
    with_relayed(std::iter::once(accepted).chain(later).collect(), &email.relayed)
}

/// Merges the attempts to forward or release an email into its events, by time.
fn with_relayed(mut events: Vec<TimelineEntry>, log: &RelayLog) -> Vec<TimelineEntry> {
    events.extend(log.all().into_iter().map(|one| TimelineEntry {
        reason: Some(one.reason),
        to: Some(one.to),
        ..TimelineEntry::new(one.at, one.outcome.as_str())
    }));
    events.sort_by(|one, other| one.at.cmp(&other.at));
    events
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::Request;
    use idempost_reference_server::{ClockStart, Settings};
    use serde_json::{Value, json};

    use crate::cpu_time::cpu_time;

    /// Measures the cost of an email's timeline among other emails, each with a webhook delivery.
    fn cost(others: usize) -> Duration {
        let clock = ClockStart::Frozen("2026-03-02T12:00:00Z".parse().unwrap());
        let service = crate::service(Settings { clock, ..Settings::default() });
        let call = |method: &str, path: &str, body: Option<Value>| -> Value {
            let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
            let request =
                Request::builder().method(method).uri(path).header("authorization", "Bearer sb_test");
            let response = service.handle(request.body(body).unwrap());
            assert!(response.status().is_success(), "{method} {path}: {response:?}");
            serde_json::from_slice(response.body()).unwrap()
        };
        call("POST", "/webhooks", Some(json!({"endpoint": "http://127.0.0.1:1/", "events": ["email.sent"]})));
        let email =
            json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works"});
        let sent: Vec<Value> = (0..=others).map(|_| call("POST", "/emails", Some(email.clone()))).collect();
        let timeline = format!("/_/messages/{}/timeline", sent[0]["id"].as_str().unwrap());
        let costs = (0..7).map(|_| cpu_time(|| drop(call("GET", &timeline, None))));
        costs.min().unwrap()
    }

    #[test]
    fn cost_is_independent_of_the_number_of_emails() {
        // Noise only adds time, and rarely in every attempt.
        assert!((0..3).any(|_| cost(4_000) <= cost(500).mul_f64(1.5)));
    }
}
