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
use crate::model::webhook_event::{Attempt, Told};
use crate::state::State;
use crate::state::news::What;
use crate::state::outbox::Job;
use crate::state::tenant::Tenant;
use crate::state::work::Work;
use crate::wire::timestamp::iso;

/// Tells an event to every webhook of the tenant that wants it; answers which, and under which id. `data` is made only if there is one.
pub(crate) fn tell(
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
    let told = wanted.into_iter().map(|webhook| {
        let id = state.next_id();
        let told = Arc::new(Told::new(id, webhook, kind, at, email, payload.clone()));
        tenant.told.add(Arc::clone(&told));
        enqueue(state, Job { tenant: Arc::downgrade(tenant), told, planned: true });
        state.news.tell(&tenant.name, What::WebhookEvent { webhook, event: id });
        (webhook, id)
    });
    told.collect()
}

/// A pause is over.
pub(crate) fn fall_due(state: &State, tenant: &Weak<Tenant>, told: &Weak<Told>, number: usize) {
    if let Some(told) = told.upgrade().filter(|told| told.awaits(number)) {
        enqueue(state, Job { tenant: Weak::clone(tenant), told, planned: true });
    }
}

/// Sends an event once more, at once, whatever came of it before.
pub(crate) fn replay(state: &State, tenant: &Arc<Tenant>, told: &Arc<Told>) {
    enqueue(state, Job { tenant: Arc::downgrade(tenant), told: Arc::clone(told), planned: false });
}

/// Adds an attempt to the queue of its webhook.
pub(crate) fn enqueue(state: &State, job: Job) {
    if let Some(displaced) = state.outbox.push(job)
        && let Some(tenant) = displaced.tenant.upgrade()
    {
        drop_attempt(state, &tenant, &displaced);
    }
}

/// Drops an attempt that won't be made. If it was a scheduled one, no other follows.
fn drop_attempt(state: &State, tenant: &Tenant, job: &Job) {
    if job.planned {
        job.told.give_up();
        tenant.told.touch(job.told.id);
    }
    let news = What::WebhookEvent { webhook: job.told.webhook, event: job.told.id };
    state.news.tell(&tenant.name, news);
}

/// Makes a job into what is to be posted. None if the webhook is disabled or gone, or the attempt no longer needed.
pub(crate) fn prepare(state: &State, job: Job) -> Option<WebhookPost> {
    let tenant = job.tenant.upgrade()?;
    let webhook = tenant.webhooks.get(job.told.webhook).filter(|webhook| webhook.enabled);
    let Some(webhook) = webhook else {
        drop_attempt(state, &tenant, &job);
        return None;
    };
    if !job.told.begin(job.planned) {
        return None;
    }
    tenant.told.touch(job.told.id);
    let now = state.clock.now();
    let headers = sign::headers(&job.told, &webhook.secrets_at(now));
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
    let next = job.told.finish(attempt, job.planned, now);
    if let Some((number, due)) = next {
        let told = Arc::downgrade(&job.told);
        state.agenda.note(due, Work::TellWebhook { tenant: Weak::clone(&job.tenant), told, number });
    }
    if let Some(tenant) = job.tenant.upgrade() {
        tenant.told.touch(job.told.id);
        state.news.tell(&tenant.name, What::WebhookEvent { webhook: job.told.webhook, event: job.told.id });
    }
    job.told.webhook
}
