//! Broadcasts: `POST /broadcasts`, `GET /broadcasts`, and the operations on a broadcast.
//!
//! The specification defines creation, sending and listing, but neither the other operations nor their responses, nor statuses beyond
//! `draft` and `sent`. An operation that the status forbids is rejected with 403 `validation_error`. A draft needs no body; one without it
//! can't be sent.

pub mod clicked_links;
pub mod message;
pub mod recipients;

use http::StatusCode;
use serde_json::json;

use crate::context::Context;
use crate::delivery::broadcast;
use crate::model::broadcast::{BODY, Broadcast, Message, Status};
use crate::resources::api_keys::check_sender;
use crate::state::moment::Moment;
use crate::store::table::Record as _;
use crate::wire::{HandlerResult, Problem, answers, boolean, json};

/// The maximum length of a copy's name, in characters.
const MAX_COPY_NAME: usize = 70;

/// `POST /broadcasts`: creates a draft, or with `send` a broadcast to be sent.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let now = context.now();
    let (message, send, due) = context.body(|fields| {
        let message = message::read(fields, &context.tenant);
        let send = fields.optional("send", boolean);
        let scheduled = fields.has("scheduled_at");
        let due = message::read_schedule(fields, now);
        let send = send?.unwrap_or(false);
        if scheduled && !send {
            fields.report().report("`scheduled_at` needs `send` to be true; a draft has no schedule.");
        }
        let message = message?;
        if send && !message.has_body() {
            fields.report().report_missing(BODY);
        }
        Ok((message, send, due?))
    })?;
    check_sender(context, &message.from)?;
    let id = context.state.next_id();
    context.tenant.broadcasts.add(id, Broadcast::new(id, message, now))?;
    if send {
        broadcast::send(Moment { at: now, ..context.moment() }, id, due)?;
    }
    Ok(answers::created_response(OBJECT, id))
}

/// `PATCH /broadcasts/{id}`: only before it is sent. A scheduled broadcast stays scheduled.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let found = context.find(&context.tenant.broadcasts)?;
    let id = found.id;
    found.check_open("updated")?;
    let changes = context.body(|fields| message::read_patch(fields, &context.tenant))?;
    context.tenant.broadcasts.try_update(id, |broadcast| {
        // It may have been sent in the meantime.
        broadcast.check_open("updated")?;
        let message = changes.apply(&broadcast.message);
        if broadcast.status == Status::Scheduled && !message.has_body() {
            return Err(Problem::missing_field(BODY));
        }
        check_sender(context, &message.from)?;
        broadcast.message = message;
        Ok(())
    })?;
    Ok(answers::reference(OBJECT, id))
}

/// `DELETE /broadcasts/{id}`: only before it is sent.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a broadcast")?;
    let mut broadcasts = context.tenant.broadcasts.lock();
    broadcasts.get(id).ok_or_else(Broadcast::not_found)?.check_open("deleted")?;
    broadcasts.remove(id);
    Ok(answers::deleted_response(OBJECT, id))
}

/// `POST /broadcasts/{id}/send`: only a draft, whose segment and topic exist. The body is optional.
pub fn send(context: &Context<'_>) -> HandlerResult {
    let found = context.find(&context.tenant.broadcasts)?;
    let (id, now) = (found.id, context.now());
    let due = if context.request.body().is_empty() {
        None
    } else {
        context.body(|fields| message::read_schedule(fields, now))?
    };
    check_sender(context, &found.message.from)?;
    if found.status == Status::Draft {
        broadcast::check_audience(&context.tenant, &found.message)?;
    }
    broadcast::send(Moment { at: now, ..context.moment() }, id, due)?;
    Ok(json(StatusCode::OK, &json!({ "id": id })))
}

/// `POST /broadcasts/{id}/cancel`: a scheduled broadcast becomes a draft, a queued one stops.
pub fn cancel(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a broadcast")?;
    context.tenant.broadcasts.try_update(id, Broadcast::cancel)?;
    Ok(answers::reference(OBJECT, id))
}

/// `POST /broadcasts/{id}/duplicate`: a draft with the same message.
pub fn duplicate(context: &Context<'_>) -> HandlerResult {
    let found = context.find(&context.tenant.broadcasts)?;
    let name = found.message.name.as_ref().map(|name| {
        let name = format!("{name} (copy)");
        name.chars().take(MAX_COPY_NAME).collect()
    });
    let copy = context.state.next_id();
    let message = Message { name, ..found.message.clone() };
    context.tenant.broadcasts.add(copy, Broadcast::new(copy, message, context.now()))?;
    Ok(answers::reference(OBJECT, copy))
}

const OBJECT: &str = "broadcast";
