//! Events on their way to the webhooks that want them (`SPEC.md`, Events).
//!
//! An event is written once, for each webhook that is enabled and subscribed to its type when it happens, and those bytes are what every attempt
//! sends. The first attempt is made at once; one that fails is repeated after the pauses of [`PAUSES`], each counted from the failure before it, on the
//! service's clock. Every attempt goes where the webhook points by then; one that is disabled or gone by then gets no more of them.
//!
//! A replay is an attempt outside this schedule. A success ends the schedule, whichever attempt it was; a failed replay leaves it as it is. (The
//! specification is silent here.)
//!
//! The service itself opens no connection: what is to be sent waits in the [`outbox`], and the mounts [`post`] it.

pub(crate) mod payload;
pub(crate) mod post;
pub(crate) mod sample;
pub(crate) mod sign;

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
use crate::state::job::Job;
use crate::state::outbox::PendingAttempt;
use crate::state::tenant::Tenant;
use crate::store::size::Size as _;
use crate::wire::timestamp::iso;

/// Tells an event to every webhook of the tenant that wants it; answers which, and under which id. `data` is made only if there is one.
pub(crate) fn notify(
    state: &State,
    tenant: &Arc<Tenant>,
    at: Timestamp,
    kind: &'static str,
    email: Option<Uuid>,
    data: impl FnOnce() -> Value,
) -> Vec<(Uuid, Uuid)> {
    let wanted: Vec<_> = {
        let webhooks = tenant.webhooks.lock();
        webhooks.members(&Subscribed(kind.into())).map(|webhook| webhook.id).collect()
    };
    if wanted.is_empty() {
        return Vec::new();
    }
    let payload = json!({ "type": kind, "created_at": iso(at), "data": data() }).to_string();
    let payload = Bytes::from(payload.into_bytes());
    let delivery = wanted.into_iter().map(|webhook| {
        let id = state.next_id();
        let delivery = Arc::new(WebhookDelivery::new(id, webhook, kind, at, email, payload.clone()));
        state.tenants.forget_events(&tenant.deliveries.add(Arc::clone(&delivery)));
        state.tenants.hold_event(tenant, id, delivery.size());
        enqueue(state, PendingAttempt { tenant: Arc::downgrade(tenant), delivery, planned: true });
        state.event_bus.publish(&tenant.name, BusEventKind::WebhookEvent { webhook, event: id });
        (webhook, id)
    });
    delivery.collect()
}

/// A pause is over.
pub(crate) fn fall_due(
    state: &State,
    tenant: &Weak<Tenant>,
    delivery: &Weak<WebhookDelivery>,
    number: usize,
) {
    if let Some(delivery) = delivery.upgrade().filter(|delivery| delivery.awaits(number)) {
        enqueue(state, PendingAttempt { tenant: Weak::clone(tenant), delivery, planned: true });
    }
}

/// Sends an event once more, at once, whatever came of it before.
pub(crate) fn replay(state: &State, tenant: &Arc<Tenant>, delivery: &Arc<WebhookDelivery>) {
    enqueue(
        state,
        PendingAttempt { tenant: Arc::downgrade(tenant), delivery: Arc::clone(delivery), planned: false },
    );
}

/// Adds an attempt to the queue of its webhook.
pub(crate) fn enqueue(state: &State, job: PendingAttempt) {
    if let Some(displaced) = state.outbox.push(job)
        && let Some(tenant) = displaced.tenant.upgrade()
    {
        drop_attempt(state, &tenant, &displaced);
    }
}

/// Drops an attempt that won't be made. If it was a scheduled one, no other follows.
fn drop_attempt(state: &State, tenant: &Tenant, job: &PendingAttempt) {
    if job.planned {
        job.delivery.give_up();
        tenant.deliveries.touch(job.delivery.id);
    }
    let news = BusEventKind::WebhookEvent { webhook: job.delivery.webhook, event: job.delivery.id };
    state.event_bus.publish(&tenant.name, news);
}

/// Makes a job into what is to be posted. None if the webhook is disabled or gone, or the attempt no longer needed.
pub(crate) fn prepare(state: &State, job: PendingAttempt) -> Option<WebhookPost> {
    let tenant = job.tenant.upgrade()?;
    let webhook = tenant.webhooks.get(job.delivery.webhook).filter(|webhook| webhook.enabled);
    let Some(webhook) = webhook else {
        drop_attempt(state, &tenant, &job);
        return None;
    };
    if !job.delivery.begin(job.planned) {
        return None;
    }
    tenant.deliveries.touch(job.delivery.id);
    let now = state.clock.now();
    let headers = sign::headers(&job.delivery, &webhook.secrets_at(now));
    Some(WebhookPost::new(webhook.endpoint.clone(), headers, job, now))
}

/// Takes up what came of an attempt, and answers of which webhook.
pub(crate) fn finish(state: &State, post: WebhookPost, posted: Posted) -> Uuid {
    let (job, sent_at) = post.into_job();
    let attempt = Attempt {
        id: state.next_id(),
        http_status_code: posted.status.unwrap_or_default(),
        response: posted.response,
        sent_at,
    };
    let now = state.clock.now();
    let next = job.delivery.finish(attempt, job.planned, now);
    if let Some((number, due)) = next {
        let delivery = Arc::downgrade(&job.delivery);
        state
            .scheduler
            .schedule(due, Job::RetryDelivery { tenant: Weak::clone(&job.tenant), delivery, number });
    }
    if let Some(tenant) = job.tenant.upgrade() {
        tenant.deliveries.touch(job.delivery.id);
        state.tenants.resize_event(job.delivery.id, job.delivery.size());
        state.event_bus.publish(
            &tenant.name,
            BusEventKind::WebhookEvent { webhook: job.delivery.webhook, event: job.delivery.id },
        );
    }
    job.delivery.webhook
}
