//! Events on demand: `POST /_/events` sends a sample event, `POST /_/messages/{id}/events` records an event of a captured email.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::control::body::Body;
use crate::delivery::record_event;
use crate::delivery::webhooks::{notify, sample};
use crate::lock::lock;
use crate::model::email::Event;
use crate::model::webhook::{EVENTS, INBOX_EVENTS};
use crate::model::webhook_delivery::message_id;
use crate::state::State;
use crate::state::mails;
use crate::state::tenant::Tenant;
use crate::wire::answers::Answer;
use crate::wire::paging::quoted;
use crate::wire::problem::{self, Problem};

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

/// `GET /_/events`: the available types.
pub fn types(state: &State) -> Response<Bytes> {
    problem::json(StatusCode::OK, &json!({ "object": "list", "data": kinds(state) }))
}

/// The event types, with those of inboxes only if beta operations are served.
fn kinds(state: &State) -> Vec<&'static str> {
    let inboxes = if state.settings.beta { INBOX_EVENTS } else { &[] };
    EVENTS.iter().chain(inboxes).copied().collect()
}

/// Sends a sample event to the tenant's webhooks. `data` is merged over the sample (RFC 7396).
pub fn send_sample(state: &State, tenant: &Arc<Tenant>, request: &Request<Bytes>) -> Answer {
    let kinds: Vec<_> = kinds(state).into_iter().map(|kind| (kind, kind)).collect();
    let (kind, patch) = read(request, &kinds, "data")?;
    let now = tenant.clock.now();
    let delivery = notify(state, tenant, now, kind, None, || {
        let mut data = sample::data(state, kind, now);
        sample::merge(&mut data, &Value::Object(patch));
        data
    });
    let deliveries = delivery
        .into_iter()
        .map(|(webhook, event)| json!({ "webhook_id": webhook.to_string(), "event_id": message_id(event) }));
    let answer =
        json!({ "object": "webhook_event", "type": kind, "deliveries": deliveries.collect::<Vec<_>>() });
    Ok(problem::json(StatusCode::CREATED, &answer))
}

/// Records an event of an email, found by its ID or its sent email's ID. `detail` is merged over the event's default content, such as
/// `{"link": …}` for a click.
pub fn record(state: &State, tenant: &Arc<Tenant>, id: &str, request: &Request<Bytes>) -> Answer {
    let email = mails::find(tenant, id)?.email_id;
    let email = lock(&tenant.emails).get(email).cloned();
    let email = email.ok_or_else(|| Problem::not_found("Email not found."))?;
    let (event, detail) = read(request, &TRIGGERS, "detail")?;
    record_event(state, tenant, &email, tenant.clock.now(), event, Some(&Value::Object(detail)));
    let answer =
        json!({ "object": "email", "id": email.id.to_string(), "last_event": email.last_event().as_str() });
    Ok(problem::json(StatusCode::CREATED, &answer))
}

/// Reads a body with a type and an optional object.
fn read<T: Copy>(
    request: &Request<Bytes>,
    words: &[(&str, T)],
    beside: &str,
) -> Result<(T, Map<String, Value>), Problem> {
    let mut body = Body::read(request.body())?;
    if !body.has("type") {
        body.wrong("`type` is required.");
    }
    let kind = body.text("type").and_then(|text| {
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            body.wrong(format!("`type` must be one of {}; found {}.", words.join(", "), quoted(&text)));
        }
        found
    });
    let object = match body.take(beside) {
        None => Map::new(),
        Some(Value::Object(object)) => object,
        Some(other) => body.refuse(beside, "an object", &other).unwrap_or_default(),
    };
    body.finish(&format!("`type`, `{beside}`"))?;
    Ok((kind.ok_or_else(|| Problem::application("A type is missing."))?, object))
}
