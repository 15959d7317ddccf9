//! Events on demand: `POST /_/events` sends a sample event, `POST /_/messages/{id}/events` records an event of a captured email.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use crate::delivery::record_requested;
use crate::delivery::webhooks::{notify, sample};
use crate::lock::lock;
use crate::model::email::Event;
use crate::model::webhook::{EVENTS, INBOX_EVENTS};
use crate::model::webhook_delivery::MESSAGE_ID;
use crate::route::AccountCall;
use crate::state::State;
use crate::state::mails;
use crate::state::moment::Moment;
use crate::wire::{HandlerResult, Input, Kind, Page, Problem, described, list, problem, words_of};

/// The events that can be triggered for a sent email.
const TRIGGERS: [(&str, Event); 8] = [
    ("delivered", Event::Delivered),
    ("delivery_delayed", Event::DeliveryDelayed),
    ("bounced", Event::Bounced),
    ("complained", Event::Complained),
    ("opened", Event::Opened),
    ("clicked", Event::Clicked),
    ("failed", Event::Failed),
    ("suppressed", Event::Suppressed),
];

/// The fields of a simulated event.
pub const SAMPLE_FIELDS: &[Input] = &[
    Input::new(
        "type",
        Kind::Words(|| EVENTS.iter().chain(INBOX_EVENTS).copied().collect()),
        "The type of the event; those of inboxes only with `--beta`",
    )
    .required(),
    Input::new("data", Kind::Object, "Merged over the sample's data (RFC 7396)"),
];
/// The fields of an event of an email.
pub const EVENT_FIELDS: &[Input] = &[
    Input::new("type", Kind::Words(|| words_of(&TRIGGERS)), "The event, without the prefix `email.`")
        .required(),
    Input::new(
        "detail",
        Kind::Object,
        "Merged over the event's default content, such as `{\"link\": …}` for a click",
    ),
];

/// `GET /_/events`: the available types.
pub fn types(state: &State) -> Response<Bytes> {
    list(&Page { items: kinds(state), has_more: false })
}

/// The event types, including those of inboxes only if beta operations are served.
fn kinds(state: &State) -> Vec<&'static str> {
    let inboxes = if state.settings.beta { INBOX_EVENTS } else { &[] };
    EVENTS.iter().chain(inboxes).copied().collect()
}

/// Sends a sample event to the tenant's webhooks. `data` is merged over the sample (RFC 7396).
pub fn send_sample(call: &AccountCall<'_>) -> HandlerResult {
    let (state, tenant) = (call.state, &call.tenant);
    let kinds: Vec<_> = kinds(state).into_iter().map(|kind| (kind, kind)).collect();
    let (kind, patch) = read(call, &kinds, "data")?;
    let now = tenant.clock.now();
    let delivery = notify(Moment { state, tenant, at: now }, kind, None, || {
        let mut data = sample::data(state, kind, now);
        if let Some(patch) = &patch {
            sample::merge(&mut data, patch);
        }
        data
    });
    let deliveries = delivery.into_iter().map(|(webhook, event)| SimulatedDelivery {
        webhook_id: webhook,
        event_id: MESSAGE_ID.format(event),
    });
    let answer = SimulatedEvent { object: "webhook_event", r#type: kind, deliveries: deliveries.collect() };
    Ok(problem::json(StatusCode::CREATED, &answer))
}

/// Records an event of an email, found by its ID or its sent email's ID. `detail` is merged over the event's default content, such as
/// `{"link": …}` for a click.
pub fn record(call: &AccountCall<'_>) -> HandlerResult {
    let (state, tenant) = (call.state, &call.tenant);
    let email = mails::find(tenant, &call.parameter(0))?.email_id;
    let email = lock(&tenant.emails).get(email).cloned();
    let email = email.ok_or_else(|| Problem::not_found("Email not found."))?;
    let (event, detail) = read(call, &TRIGGERS, "detail")?;
    record_requested(Moment { state, tenant, at: tenant.clock.now() }, &email, event, detail.as_ref());
    let answer = RecordedEvent { object: "email", id: email.id, last_event: email.last_event().as_str() };
    Ok(problem::json(StatusCode::CREATED, &answer))
}

described! {
    /// A simulated event.
    pub struct SimulatedEvent {
        object: &'static str,
        r#type: &'static str,
        /// One for each subscribed webhook.
        deliveries: Vec<SimulatedDelivery>,
    }

    /// The delivery of a simulated event.
    struct SimulatedDelivery {
        webhook_id: Uuid,
        event_id: String,
    }

    /// The email of a recorded event.
    pub struct RecordedEvent {
        object: &'static str,
        /// The ID of the sent email.
        id: Uuid,
        last_event: &'static str,
    }
}

/// Reads a body with a type and an optional object.
fn read<T: Copy>(
    call: &AccountCall<'_>,
    words: &[(&str, T)],
    beside: &str,
) -> Result<(T, Option<Value>), Problem> {
    call.body(|fields| {
        let kind = fields.required("type", |field| field.one_of(words));
        let object = fields.optional(beside, |field| {
            field.value().filter(Value::is_object).ok_or_else(|| field.reject_type("an object"))
        });
        Ok((kind?, object?))
    })
}
