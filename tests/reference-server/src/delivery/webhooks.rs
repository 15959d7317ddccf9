//! Delivery of events to webhooks (`docs/specification.md`, Events).
//!
//! An event is serialized once for each webhook that is enabled and subscribed to its type, and every attempt sends those bytes. The first
//! attempt is made immediately; a failed one is retried after the delays of `RETRY_DELAYS`, each counted from the previous failure, on the
//! account's clock. If the clock is moved past attempts, these are made in the order of their due times, and each counts as made at that time; a
//! failed one is retried after the delay from there. After an endpoint didn't respond in time, its next attempts are made concurrently. Every
//! attempt uses the webhook's current endpoint; a webhook that is disabled or deleted, or no longer subscribed to the type, gets no further attempts.
//!
//! A replay is an attempt outside this schedule. A success ends the schedule, whichever attempt it was; a failed replay doesn't change it.
//! (The specification doesn't define this.)
//!
//! The service itself opens no connection: attempts wait in the `outbox`, and the mounts [`post`] them.

pub mod payload;
pub mod post;
pub mod sample;
pub mod sign;

use std::sync::{Arc, Weak};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use self::post::{Posted, WebhookPost};
use crate::model::webhook::Subscribed;
use crate::model::webhook_delivery::{Attempt, WebhookDelivery};
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::job::{Job, Work};
use crate::state::moment::Moment;
use crate::state::outbox::PendingAttempt;
use crate::state::tenant::Tenant;
use crate::store::table::Record as _;
use crate::wire::to_iso;

/// Sends an event to every subscribed webhook of the tenant. Returns the webhooks, each with the ID of its event. `data` is called only if
/// there are any.
pub fn notify(
    moment: Moment<'_>,
    kind: &'static str,
    email: Option<Uuid>,
    data: impl FnOnce() -> Value,
) -> Vec<(Uuid, Uuid)> {
    let webhooks = subscribed(moment.tenant, kind);
    if webhooks.is_empty() { Vec::new() } else { deliver(moment, kind, email, &data(), webhooks) }
}

fn subscribed(tenant: &Tenant, kind: &'static str) -> Vec<Uuid> {
    let webhooks = tenant.webhooks.lock();
    // The usual case, which needs no lookup.
    if webhooks.len() == 0 {
        return Vec::new();
    }
    webhooks.members(&Subscribed(kind.into())).map(|webhook| webhook.id).collect()
}

fn deliver(
    moment: Moment<'_>,
    kind: &'static str,
    email: Option<Uuid>,
    data: &Value,
    webhooks: Vec<Uuid>,
) -> Vec<(Uuid, Uuid)> {
    let Moment { state, tenant, at } = moment;
    let payload = json!({ "type": kind, "created_at": to_iso(at), "data": data }).to_string();
    let payload = Bytes::from(payload.into_bytes());
    let events = webhooks.into_iter().map(|webhook| {
        let id = state.next_id();
        let delivery = Arc::new(WebhookDelivery::new(id, webhook, kind, at, email, payload.clone()));
        state.tenants.forget_events(&tenant.deliveries.add(Arc::clone(&delivery)));
        state.tenants.count_event(tenant, id, delivery.size());
        let job = PendingAttempt {
            tenant: Arc::downgrade(tenant),
            delivery: Arc::clone(&delivery),
            due: at,
            planned: true,
        };
        enqueue(state, job);
        publish(state, tenant, &delivery);
        (webhook, id)
    });
    events.collect()
}

/// Makes the next scheduled attempt, unless a replay has succeeded in the meantime.
pub fn retry(state: &State, tenant: &Weak<Tenant>, delivery: &Weak<WebhookDelivery>, due: Timestamp) {
    if let Some(delivery) = delivery.upgrade().filter(|delivery| delivery.is_pending()) {
        enqueue(state, PendingAttempt { tenant: Weak::clone(tenant), delivery, due, planned: true });
    }
}

/// Resends an event immediately, after any outcome.
pub fn replay(state: &State, tenant: &Arc<Tenant>, delivery: &Arc<WebhookDelivery>) {
    let (due, delivery) = (tenant.clock.now(), Arc::clone(delivery));
    enqueue(state, PendingAttempt { tenant: Arc::downgrade(tenant), delivery, due, planned: false });
}

/// Adds an attempt to the queue of its webhook.
pub fn enqueue(state: &State, job: PendingAttempt) {
    if let Some(displaced) = state.outbox.push(job)
        && let Some(tenant) = displaced.tenant.upgrade()
    {
        drop_attempt(state, &tenant, &displaced);
    }
}

/// Drops a canceled attempt. After a scheduled one, no further attempt follows.
fn drop_attempt(state: &State, tenant: &Tenant, job: &PendingAttempt) {
    if job.planned {
        job.delivery.give_up();
        tenant.deliveries.mark_changed(job.delivery.id);
    }
    publish(state, tenant, &job.delivery);
}

fn publish(state: &State, tenant: &Tenant, delivery: &WebhookDelivery) {
    let event = BusEventKind::WebhookEvent { webhook: delivery.webhook, event: delivery.id };
    state.event_bus.publish(&tenant.name, event);
}

/// Creates the request of an attempt. Returns `None` if the webhook no longer wants the event, or the attempt is no longer needed.
pub fn prepare(state: &State, job: PendingAttempt) -> Option<WebhookPost> {
    let tenant = job.tenant.upgrade()?;
    let webhook = tenant.webhooks.get(job.delivery.webhook).filter(|webhook| {
        webhook.enabled && (!job.planned || webhook.events.iter().any(|event| event == job.delivery.kind))
    });
    let Some(webhook) = webhook else {
        drop_attempt(state, &tenant, &job);
        return None;
    };
    if !job.delivery.begin(job.planned) {
        return None;
    }
    tenant.deliveries.mark_changed(job.delivery.id);
    let sent_at = tenant.clock.time_of(job.due);
    let headers = sign::headers(&job.delivery, &webhook.active_secrets(sent_at));
    Some(WebhookPost::new(webhook.endpoint.clone(), headers, job, sent_at))
}

/// Records the outcome of an attempt, and schedules the next one if it failed. `timed_out`: the endpoint didn't respond in time.
pub fn finish(state: &State, post: WebhookPost, posted: Posted, timed_out: bool) {
    let (job, sent_at) = post.into_job();
    let attempt = Attempt {
        id: state.next_id(),
        http_status_code: posted.status.unwrap_or_default(),
        response: posted.response,
        sent_at,
    };
    let tenant = job.tenant.upgrade();
    let clock = tenant.as_ref().map_or(&state.clock, |tenant| &tenant.clock);
    // A move of the clock waits for an endpoint that doesn't respond only once per event.
    let is_skipped = !timed_out && clock.skipped(job.due);
    // The attempt may have begun before the clock was moved.
    let failed_at = if is_skipped { job.due.max(sent_at) } else { clock.now() };
    if let Some(due) = job.delivery.finish(attempt, job.planned, failed_at) {
        let delivery = Arc::downgrade(&job.delivery);
        if clock.skipped(due) {
            retry(state, &job.tenant, &delivery, due);
        } else {
            let retry = Job { tenant: Weak::clone(&job.tenant), work: Work::RetryDelivery(delivery) };
            state.scheduler.schedule(due, retry);
        }
    }
    if let Some(tenant) = tenant {
        tenant.deliveries.mark_changed(job.delivery.id);
        state.tenants.resize_event(job.delivery.id, job.delivery.size());
        publish(state, &tenant, &job.delivery);
    }
}
