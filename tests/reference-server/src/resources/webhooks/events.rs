//! The events of a webhook: `/webhooks/{webhook_id}/events`, their attempts, and replays.
//!
//! The specification doesn't define these; they have Resend's shapes. Their lists can be paged only toward older items.

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::delivery::webhooks::replay as replay_delivery;
use crate::model::webhook_delivery::{self, ATTEMPT_ID, MESSAGE_ID, WebhookDelivery};
use crate::wire::{HandlerResult, IdForm, Mode, Problem, Window, json, list, quote, to_iso};

/// `GET /webhooks/{webhook_id}/events`, mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let webhook = context.find(&context.tenant.webhooks)?.id;
    let window = window(context, MESSAGE_ID)?;
    let page = context.tenant.deliveries.page(&window, webhook)?;
    Ok(list(&page.show(webhook_delivery::Item)))
}

/// `GET /webhooks/{webhook_id}/events/{event_id}`, with the payload.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let delivery = event(context)?;
    let payload = serde_json::from_slice::<&RawValue>(&delivery.payload)
        .map_err(|error| Problem::application(format!("A payload can't be read: {error}.")))?;
    let record = Record {
        object: "webhook_event",
        item: webhook_delivery::Item(&delivery),
        next_attempt_at: delivery.progress().next_attempt_at.map(to_iso),
        payload,
    };
    Ok(json(StatusCode::OK, &record))
}

/// `GET /webhooks/{webhook_id}/events/{event_id}/attempts`, mode A.
pub fn attempts(context: &Context<'_>) -> HandlerResult {
    let delivery = event(context)?;
    let mut attempts = delivery.progress().attempts;
    attempts.reverse();
    let page = window(context, ATTEMPT_ID)?.slice(&attempts, |attempt| attempt.id)?;
    Ok(list(&page.show(webhook_delivery::AttemptItem)))
}

/// `POST /webhooks/{webhook_id}/events/{event_id}/replay`: an immediate additional attempt. A disabled webhook receives no events, so the replay
/// is rejected.
pub fn replay(context: &Context<'_>) -> HandlerResult {
    let webhook = context.find(&context.tenant.webhooks)?;
    let delivery = event(context)?;
    if !webhook.enabled {
        return Err(Problem::forbidden("The webhook is disabled; enable it before replaying an event."));
    }
    replay_delivery(context.state, &context.tenant, &delivery);
    Ok(json(StatusCode::OK, &json!({ "object": "webhook_event", "id": delivery.message_id() })))
}

/// Finds the event of the path.
fn event(context: &Context<'_>) -> Result<Arc<WebhookDelivery>, Problem> {
    let webhook = context.find(&context.tenant.webhooks)?.id;
    let text = context.parameter(1);
    let id = MESSAGE_ID.parse(&text).ok_or_else(|| {
        Problem::invalid_parameter(format!(
            "The id of an event must be `msg_` and 32 hexadecimal digits; found {}.",
            quote(&text)
        ))
    })?;
    context.tenant.deliveries.get(webhook, id).ok_or_else(|| Problem::not_found("Webhook event not found."))
}

/// The requested page.
fn window(context: &Context<'_>, ids: IdForm) -> Result<Window, Problem> {
    if context.query("before").is_some() {
        let message = "`before` can't be used here: this list is paged with `after` only.";
        return Err(Problem::validation(message));
    }
    context.window_of(Mode::A, ids)
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: webhook_delivery::Item<'a>,
    next_attempt_at: Option<String>,
    payload: &'a RawValue,
}
