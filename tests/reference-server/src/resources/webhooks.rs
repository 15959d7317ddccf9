//! Webhooks: where events are told, and which (`SPEC.md`, Webhook).
//!
//! The specification is silent on `GET` and `DELETE /webhooks/{webhook_id}`; they have the shapes of the public service that speaks this format.

pub(crate) mod events;

use std::borrow::Cow;
use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

use super::answers;
use super::timestamp::database;
use crate::clock::plus;
use crate::delivery::webhooks::sign::PREFIX;
use crate::paging::{Mode, Window, list, quoted};
use crate::problem::{Problem, json};
use crate::routes::Context;
use crate::store::size::{Size, heap_size};
use crate::store::table;
use crate::validation::{Fields, Problems, kind, text};

/// What can be subscribed to. The specification names four and says that there are more; these are the ones that the public service has.
/// Others are refused: a misspelt type would never be told, and nobody would know why.
pub(crate) const EVENTS: &[&str] = &[
    "email.sent",
    "email.scheduled",
    "email.delivered",
    "email.delivery_delayed",
    "email.bounced",
    "email.complained",
    "email.opened",
    "email.clicked",
    "email.failed",
    "email.suppressed",
    "email.received",
    "contact.created",
    "contact.updated",
    "contact.deleted",
    "contact.topics.updated",
    "domain.created",
    "domain.updated",
    "domain.deleted",
    "suppression.added",
    "suppression.removed",
    "topic.created",
    "topic.updated",
    "topic.deleted",
];

/// What can be subscribed to besides: events of inboxes, which the public service has and this one doesn't, so they never happen here.
const INBOX_EVENTS: &[&str] = &[
    "inbox.created",
    "inbox.updated",
    "inbox.deleted",
    "inbox.thread.created",
    "inbox.thread.folder.updated",
    "inbox.thread.assigned",
    "inbox.thread.unassigned",
    "inbox.thread.labels.updated",
    "inbox.email.received",
    "inbox.email.sent",
    "inbox.draft.created",
    "inbox.draft.updated",
    "inbox.draft.sent",
    "inbox.draft.deleted",
];

/// One webhook.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Webhook {
    pub(crate) id: Uuid,
    pub(crate) endpoint: String,
    events: Vec<String>,
    pub(crate) enabled: bool,
    created_at: Timestamp,
    secret: String,
    /// The secrets that were replaced, newest first, and until when each signs too.
    #[serde(default)]
    replaced: Vec<(String, Timestamp)>,
}

heap_size!(Webhook { id, endpoint, events, enabled, created_at, secret, replaced });

/// The enabled webhooks that subscribe to an event type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subscribed(pub(crate) Cow<'static, str>);

impl Size for Subscribed {
    fn heap_size(&self) -> usize {
        self.0.len()
    }
}

impl table::Record for Webhook {
    const PLURAL: &'static str = "webhooks";

    type Group = Subscribed;

    fn groups(&self) -> Vec<Subscribed> {
        let events = self.events.iter().filter(|_| self.enabled);
        events.map(|event| Subscribed(event.clone().into())).collect()
    }
}

/// How long a secret that was replaced goes on signing beside the new one.
const RETIREMENT: SignedDuration = SignedDuration::from_hours(24);

/// How many replaced secrets sign at most: the header of a delivery grows with each.
const MAX_REPLACED: usize = 10;

impl Webhook {
    /// The secrets that sign at this time, the newest first.
    pub(crate) fn secrets_at(&self, now: Timestamp) -> Vec<&str> {
        let replaced = self.replaced.iter().filter(|(_, until)| now < *until);
        std::iter::once(&self.secret).chain(replaced.map(|(secret, _)| secret)).map(String::as_str).collect()
    }

    /// Puts another secret in the place of the present one, which signs too until its retirement is over.
    fn rotate(&mut self, secret: String, now: Timestamp) {
        let before = std::mem::replace(&mut self.secret, secret);
        self.replaced.retain(|(_, until)| now < *until);
        self.replaced.insert(0, (before, plus(now, RETIREMENT)));
        self.replaced.truncate(MAX_REPLACED);
    }
}

/// `POST /webhooks`. A new one is enabled.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (endpoint, events) = context.body(|fields, problems, _| {
        for required in ["endpoint", "events"] {
            if !fields.has(required) {
                problems.missing(required);
            }
        }
        let (endpoint, events) = (take_endpoint(fields, problems), take_events(fields, problems));
        Some((endpoint?, events?))
    })?;
    let id = context.service.next_id();
    let secret = secret(context);
    let webhook = Webhook {
        id,
        endpoint,
        events,
        enabled: true,
        created_at: context.now(),
        secret: secret.clone(),
        replaced: Vec::new(),
    };
    context.tenant.webhooks.add(id, webhook)?;
    Ok(json(StatusCode::CREATED, &Created { object: "webhook", id: id.to_string(), signing_secret: secret }))
}

/// `whsec_` and Base64, as Standard Webhooks has it.
fn secret(context: &Context<'_>) -> String {
    let mut bytes = [0; 32];
    for half in bytes.chunks_mut(16) {
        half.copy_from_slice(context.service.next_secret().as_bytes());
    }
    format!("{PREFIX}{}", STANDARD.encode(bytes))
}

/// `GET /webhooks`, mode B. The list doesn't tell the secrets.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.webhooks.page(&window)?;
    Ok(list(&page.map(|webhook| Item::of(&webhook))))
}

/// `GET /webhooks/{webhook_id}`, with the secret.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let webhook = named(context)?;
    let record =
        Record { object: "webhook", item: Item::of(&webhook), signing_secret: webhook.secret.clone() };
    Ok(json(StatusCode::OK, &record))
}

/// `PATCH /webhooks/{webhook_id}`. Every field is optional, all of them too; `events` replaces the whole set.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    let (endpoint, events, enabled) = context.body(|fields, problems, _| {
        let endpoint = take_endpoint(fields, problems);
        let events = take_events(fields, problems);
        let enabled = fields.take_word("status", &[("enabled", true), ("disabled", false)], problems);
        Some((endpoint, events, enabled))
    })?;
    let changed = context.tenant.webhooks.try_change(id, |webhook| {
        webhook.endpoint = endpoint.unwrap_or_else(|| std::mem::take(&mut webhook.endpoint));
        webhook.events = events.unwrap_or_else(|| std::mem::take(&mut webhook.events));
        webhook.enabled = enabled.unwrap_or(webhook.enabled);
        Ok(())
    });
    changed.transpose()?;
    Ok(answers::reference("webhook", id))
}

/// `DELETE /webhooks/{webhook_id}`.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    context.tenant.webhooks.remove(id);
    context.service.state().forget_events(&context.tenant.told.forget(id));
    Ok(answers::deleted("webhook", id))
}

/// `POST /webhooks/{webhook_id}/signing-secret/rotate`: another secret. For 24 hours the one before signs too. (The specification is silent here.)
pub(crate) fn rotate(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    let secret = secret(context);
    context.tenant.webhooks.change(id, |webhook| webhook.rotate(secret.clone(), context.now()));
    Ok(json(StatusCode::OK, &Created { object: "webhook", id: id.to_string(), signing_secret: secret }))
}

fn named(context: &Context<'_>) -> Result<Arc<Webhook>, Problem> {
    let id = context.id("a webhook")?;
    context.tenant.webhooks.get(id).ok_or_else(|| Problem::not_found("Webhook not found."))
}

/// An absolute address that can be asked over HTTP.
fn take_endpoint(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let text = fields.take_text("endpoint", problems)?;
    // Reading an address leaves some of them out, so it would say less than what is kept.
    if text.contains(char::is_control) {
        problems.wrong(|| {
            format!(
                "`{}` must not hold control characters; found {}.",
                fields.name("endpoint"),
                quoted(&text)
            )
        });
        return None;
    }
    let fits = Url::parse(&text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if !fits {
        problems.wrong(|| {
            format!(
                "`{}` must be an absolute http or https URL; found {}.",
                fields.name("endpoint"),
                quoted(&text)
            )
        });
        return None;
    }
    Some(text.into_owned())
}

/// At least one type, each once.
fn take_events(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let items = fields.take_array("events", problems)?;
    if items.is_empty() {
        problems
            .wrong(|| format!("`{}` must name at least one event type; found none.", fields.name("events")));
    }
    let known: Vec<_> = EVENTS.iter().chain(INBOX_EVENTS).copied().collect();
    let mut events = Vec::with_capacity(items.len().min(known.len()));
    for (index, item) in items.iter().enumerate() {
        let name = || format!("{}[{index}]", fields.name("events"));
        match text(item.get()) {
            None => problems.wrong(|| format!("`{}` must be a string; found {}.", name(), kind(item.get()))),
            Some(event) if !known.contains(&&*event) => problems.wrong(|| {
                format!("`{}` must be one of {}; found {}.", name(), known.join(", "), quoted(&event))
            }),
            Some(event) if events.iter().any(|known| *known == event) => {}
            Some(event) => events.push(event.into_owned()),
        }
    }
    Some(events)
}

/// `SPEC.md`, POST /webhooks; and what a rotation answers.
#[derive(Serialize)]
struct Created {
    object: &'static str,
    id: String,
    signing_secret: String,
}

/// `SPEC.md`, Webhook (list item).
#[derive(Serialize)]
struct Item {
    id: String,
    created_at: String,
    status: &'static str,
    endpoint: String,
    events: Vec<String>,
}

impl Item {
    fn of(webhook: &Webhook) -> Self {
        Self {
            id: webhook.id.to_string(),
            created_at: database(webhook.created_at),
            status: if webhook.enabled { "enabled" } else { "disabled" },
            endpoint: webhook.endpoint.clone(),
            events: webhook.events.clone(),
        }
    }
}

#[derive(Serialize)]
struct Record {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    signing_secret: String,
}
