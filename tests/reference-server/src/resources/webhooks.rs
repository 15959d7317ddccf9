//! Webhooks: endpoints and their subscribed event types (`SPEC.md`, Webhook).
//!
//! The specification doesn't define `GET` and `DELETE /webhooks/{webhook_id}`; they have the shapes of the public service.

pub(crate) mod events;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use url::Url;

use crate::context::Context;
use crate::delivery::webhooks::sign::PREFIX;
use crate::model::webhook::{self, EVENTS, INBOX_EVENTS, Webhook};
use crate::wire::answers;
use crate::wire::paging::{Mode, Window, list, quoted};
use crate::wire::problem::{Problem, json};
use crate::wire::switch::SWITCH;
use crate::wire::validation::{Fields, Problems, kind, text};

/// `POST /webhooks`. A new webhook is enabled.
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
    let id = context.state.next_id();
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

/// `whsec_` and Base64, as in Standard Webhooks.
pub(crate) fn secret(context: &Context<'_>) -> String {
    let mut bytes = [0; 32];
    for half in bytes.chunks_mut(16) {
        half.copy_from_slice(context.state.next_secret().as_bytes());
    }
    format!("{PREFIX}{}", STANDARD.encode(bytes))
}

/// `GET /webhooks`, mode B. The items exclude the secrets.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.webhooks.page(&window)?;
    Ok(list(&page.show(webhook::Item)))
}

/// `GET /webhooks/{webhook_id}`, with the secret.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Ok(json(StatusCode::OK, &webhook::Detail(&*named(context)?)))
}

/// `PATCH /webhooks/{webhook_id}`. All fields are optional; `events` replaces the whole set.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    let (endpoint, events, enabled) = context.body(|fields, problems, _| {
        let endpoint = take_endpoint(fields, problems);
        let events = take_events(fields, problems);
        let enabled = fields.take_word("status", &SWITCH, problems);
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
    context.state.tenants.forget_events(&context.tenant.deliveries.forget(id));
    Ok(answers::deleted("webhook", id))
}

/// `POST /webhooks/{webhook_id}/signing-secret/rotate`: replaces the secret. The previous one still signs for 24 hours. (The specification
/// doesn't define this.)
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

/// An absolute http or https URL.
fn take_endpoint(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let text = fields.take_text("endpoint", problems)?;
    // The parser drops some of them, so the stored URL would differ from the given one.
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

/// At least one type, without duplicates.
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

/// `SPEC.md`, POST /webhooks; also the response of a rotation.
#[derive(Serialize)]
struct Created {
    object: &'static str,
    id: String,
    signing_secret: String,
}
