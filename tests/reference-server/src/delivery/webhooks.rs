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

pub(crate) mod book;
pub(crate) mod outbox;
pub(crate) mod payload;
pub(crate) mod post;
pub(crate) mod sample;
pub(crate) mod sign;

use std::sync::{Arc, Weak};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use self::book::{Attempt, Told};
use self::outbox::Job;
use self::post::{Posted, WebhookPost};
use super::Work;
use crate::clock::plus;
use crate::news::What;
use crate::resources::timestamp::iso;
use crate::resources::webhooks::Subscribed;
use crate::service::Service;
use crate::state::Tenant;
use crate::store::size::Size as _;

/// How long after a failed attempt the next one is made; after the last of them none is.
pub(crate) const PAUSES: [SignedDuration; 7] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(2),
    SignedDuration::from_hours(5),
    SignedDuration::from_hours(10),
    SignedDuration::from_hours(10),
];

/// Tells an event to every webhook of the tenant that wants it; answers which, and under which id. `data` is made only if there is one.
pub(crate) fn tell(
    service: &Service,
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
    let told = wanted.into_iter().map(|webhook| {
        let id = service.next_id();
        let told = Arc::new(Told::new(id, webhook, kind, at, email, payload.clone()));
        service.state().forget_events(&tenant.told.add(Arc::clone(&told)));
        service.state().hold_event(tenant, id, told.size());
        enqueue(service, Job { tenant: Arc::downgrade(tenant), told, planned: true });
        service.news().tell(&tenant.name, What::WebhookEvent { webhook, event: id });
        (webhook, id)
    });
    told.collect()
}

/// A pause is over.
pub(crate) fn fall_due(service: &Service, tenant: &Weak<Tenant>, told: &Weak<Told>, number: usize) {
    if let Some(told) = told.upgrade().filter(|told| told.awaits(number)) {
        enqueue(service, Job { tenant: Weak::clone(tenant), told, planned: true });
    }
}

/// Sends an event once more, at once, whatever came of it before.
pub(crate) fn replay(service: &Service, tenant: &Arc<Tenant>, told: &Arc<Told>) {
    enqueue(service, Job { tenant: Arc::downgrade(tenant), told: Arc::clone(told), planned: false });
}

/// Adds an attempt to the queue of its webhook.
pub(crate) fn enqueue(service: &Service, job: Job) {
    if let Some(displaced) = service.outbox().push(job)
        && let Some(tenant) = displaced.tenant.upgrade()
    {
        drop_attempt(service, &tenant, &displaced);
    }
}

/// Drops an attempt that won't be made. If it was a scheduled one, no other follows.
fn drop_attempt(service: &Service, tenant: &Tenant, job: &Job) {
    if job.planned {
        job.told.give_up();
        tenant.told.touch(job.told.id);
    }
    let news = What::WebhookEvent { webhook: job.told.webhook, event: job.told.id };
    service.news().tell(&tenant.name, news);
}

/// Makes a job into what is to be posted. None if the webhook is disabled or gone, or the attempt no longer needed.
pub(crate) fn prepare(service: &Service, job: Job) -> Option<WebhookPost> {
    let tenant = job.tenant.upgrade()?;
    let webhook = tenant.webhooks.get(job.told.webhook).filter(|webhook| webhook.enabled);
    let Some(webhook) = webhook else {
        drop_attempt(service, &tenant, &job);
        return None;
    };
    if !job.told.begin(job.planned) {
        return None;
    }
    tenant.told.touch(job.told.id);
    let now = service.clock().now();
    let headers = sign::headers(&job.told, &webhook.secrets_at(now));
    Some(WebhookPost::new(webhook.endpoint.clone(), headers, job, now))
}

/// Takes up what came of an attempt, and answers of which webhook.
pub(crate) fn finish(service: &Service, post: WebhookPost, posted: Posted) -> Uuid {
    let (job, sent_at) = post.into_job();
    let attempt = Attempt {
        id: service.next_id(),
        http_status_code: posted.status.unwrap_or_default(),
        response: posted.response,
        sent_at,
    };
    let now = service.clock().now();
    let next = job.told.finish(attempt, job.planned, now);
    if let Some((number, due)) = next {
        let told = Arc::downgrade(&job.told);
        service.agenda().note(due, Work::TellWebhook { tenant: Weak::clone(&job.tenant), told, number });
    }
    if let Some(tenant) = job.tenant.upgrade() {
        tenant.told.touch(job.told.id);
        service.state().resize_event(job.told.id, job.told.size());
        service
            .news()
            .tell(&tenant.name, What::WebhookEvent { webhook: job.told.webhook, event: job.told.id });
    }
    job.told.webhook
}

/// When the attempt after this many failed ones is made, counted from now. None after the last.
pub(crate) fn after(failed: usize, now: Timestamp) -> Option<Timestamp> {
    Some(plus(now, *PAUSES.get(failed.checked_sub(1)?)?))
}
