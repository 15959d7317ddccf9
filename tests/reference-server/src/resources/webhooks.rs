//! Webhooks: endpoints and their subscribed event types (`docs/specification.md`, Webhook).
//!
//! The specification doesn't define `GET` and `DELETE /webhooks/{webhook_id}`; they have Resend's shapes.

pub mod events;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::json;
use url::Url;

use crate::context::Context;
use crate::delivery::webhooks::sign::PREFIX;
use crate::model::webhook::{EVENTS, INBOX_EVENTS, Webhook};
use crate::wire::{Checked, Field, HandlerResult, SWITCH, answers, input, json, replace};

input! {
    struct NewWebhook(fields; requires "endpoint", "events") {
        endpoint: String = fields.required("endpoint", read_endpoint),
        events: Vec<String> = fields.required("events", read_events),
    }
}

input! {
    struct WebhookPatch(fields) {
        endpoint: Option<String> = fields.optional("endpoint", read_endpoint),
        events: Option<Vec<String>> = fields.optional("events", read_events),
        enabled: Option<bool> = fields.optional("status", |field| field.one_of(&SWITCH)),
    }
}

/// `POST /webhooks`. A new webhook is enabled.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let NewWebhook { endpoint, events } = context.body(NewWebhook::read)?;
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
    Ok(json(StatusCode::CREATED, &json!({ "object": "webhook", "id": id, "signing_secret": secret })))
}

/// `whsec_` and Base64, as in Standard Webhooks.
pub fn secret(context: &Context<'_>) -> String {
    let mut bytes = [0; 32];
    for half in bytes.chunks_mut(16) {
        half.copy_from_slice(context.state.next_secret().as_bytes());
    }
    format!("{PREFIX}{}", STANDARD.encode(bytes))
}

/// `PATCH /webhooks/{webhook_id}`. All fields are optional; `events` replaces the whole set.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.webhooks)?.id;
    let patch = context.body(WebhookPatch::read)?;
    context.tenant.webhooks.update(id, |webhook| {
        replace(&mut webhook.endpoint, patch.endpoint);
        replace(&mut webhook.events, patch.events);
        replace(&mut webhook.enabled, patch.enabled);
    })?;
    Ok(answers::reference("webhook", id))
}

/// `DELETE /webhooks/{webhook_id}`.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.webhooks)?.id;
    context.tenant.webhooks.remove(id);
    context.state.tenants.forget_events(&context.tenant.deliveries.remove_webhook(id));
    Ok(answers::deleted_response("webhook", id))
}

/// `POST /webhooks/{webhook_id}/signing-secret/rotate`: replaces the secret. The previous one still signs for 24 hours. (The specification
/// doesn't define this.)
pub fn rotate(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.webhooks)?.id;
    let secret = secret(context);
    context.tenant.webhooks.update(id, |webhook| webhook.rotate(secret.clone(), context.now()))?;
    Ok(json(StatusCode::OK, &json!({ "object": "webhook", "id": id, "signing_secret": secret })))
}

/// An absolute http or https URL without credentials, which every response would repeat.
fn read_endpoint(field: &Field<'_>) -> Checked<String> {
    // The parser drops some control characters, so the stored URL would differ from the given one.
    let parse = |text: &str| {
        if text.contains(char::is_control) {
            return Err("must not contain control characters");
        }
        let url =
            Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        match url {
            None => Err("must be an absolute http or https URL"),
            Some(url) if !url.username().is_empty() || url.password().is_some() => {
                Err("must not contain a user name or password; a signature authenticates each event")
            }
            Some(_) => Ok(text.to_owned()),
        }
    };
    field.parse_with(parse)
}

/// At least one type; duplicates are dropped.
fn read_events(field: &Field<'_>) -> Checked<Vec<String>> {
    let items = field.items()?;
    if items.is_empty() {
        return Err(field.reject("must name at least one event type; found none"));
    }
    let known: Vec<_> = EVENTS.iter().chain(INBOX_EVENTS).copied().collect();
    let named = items.read(|_, item| {
        item.parse_with(|event| {
            let found = known.iter().find(|known| **known == event);
            found.copied().ok_or_else(|| format!("must be one of {}", known.join(", ")))
        })
    })?;
    let mut events: Vec<String> = Vec::with_capacity(named.len().min(known.len()));
    for event in named {
        if !events.iter().any(|known| known == event) {
            events.push(event.to_owned());
        }
    }
    Ok(events)
}
