//! Scheduled emails: `PATCH /emails/{id}` reschedules one, `POST /emails/{id}/cancel` cancels it.
//!
//! The specification names the update and defines neither. Only a scheduled email that hasn't been sent can be changed; others are rejected with 403
//! `validation_error`, this service's error for an operation that the state forbids. Both are idempotent: canceling a canceled email returns the same
//! response.

use bytes::Bytes;
use http::Response;

use crate::context::Context;
use crate::delivery;
use crate::lock::lock;
use crate::model::email::{Email, Event};
use crate::resources::emails::find;
use crate::state::event_bus::BusEventKind;
use crate::wire::{HandlerResult, Problem, answers, schedule};

/// `PATCH /emails/{id}`: reschedules an email.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    let now = context.now();
    let due = context.body(|fields| {
        fields.required("scheduled_at", |field| field.parse_with(|text| schedule::read(text, now)))
    })?;
    email.reschedule(due).map_err(|event| state_problem("rescheduled", event))?;
    lock(&context.tenant.emails).mark_changed(email.id);
    delivery::schedule(context.moment(), &email, due);
    let moved = BusEventKind::EmailEvent { email: email.id, event: Event::Scheduled.as_str() };
    context.state.event_bus.publish(&context.tenant.name, moved);
    Ok(reference(&email))
}

/// `POST /emails/{id}/cancel`.
pub fn cancel(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    email.cancel(context.now()).map_err(|event| state_problem("canceled", event))?;
    lock(&context.tenant.emails).mark_changed(email.id);
    let canceled = BusEventKind::EmailEvent { email: email.id, event: Event::Canceled.as_str() };
    context.state.event_bus.publish(&context.tenant.name, canceled);
    Ok(reference(&email))
}

fn state_problem(what: &str, event: Event) -> Problem {
    let message =
        format!("Only a scheduled email can be {what}; the last event of this one is `{}`.", event.as_str());
    Problem::forbidden(message)
}

fn reference(email: &Email) -> Response<Bytes> {
    answers::reference("email", email.id)
}
