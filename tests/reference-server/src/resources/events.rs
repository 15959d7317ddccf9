//! Custom events: `POST` and `GET /events`, `GET`, `PATCH` and `DELETE /events/{id_or_name}`, `POST /events/send`.
//!
//! The specification doesn't define them. An event needn't be defined to be sent or to trigger an automation; if it has a schema, payloads
//! must match it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context::Context;
use crate::model::automation::Group;
use crate::model::automation::definition::{EventName, RESERVED_PREFIX};
use crate::model::email::recipients::Mailbox;
use crate::model::event::schema::Schema;
use crate::model::event::{self, Event};
use crate::resources::automations::engine::{self, Occurrence};
use crate::wire::answers;
use crate::wire::paging::{Mode, Window, list, quoted};
use crate::wire::problem::{Problem, json};
use crate::wire::validation::{Change, Fields, Problems};

/// `POST /events`, 201. Names are unique.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (name, schema) = context.body(|fields, problems, ignored| {
        let name = take_name(fields, "name", problems);
        let schema = fields.take_change("schema", |fields| Schema::take(fields, problems, ignored));
        Some((name?, schema))
    })?;
    let (id, now) = (context.state.next_id(), context.now());
    let schema = if let Change::Set(schema) = schema { Some(schema) } else { None };
    let event = Event { id, name, schema, created_at: now, updated_at: None };
    context.tenant.events.add(id, event)?;
    Ok(answers::made("event", id))
}

/// `GET /events`, mode B.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.events.page(&window)?;
    Ok(list(&page.show(event::Item)))
}

/// `GET /events/{id_or_name}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Ok(json(StatusCode::OK, &event::Whole(&*find(context)?)))
}

/// `PATCH /events/{id_or_name}`: replaces or removes the schema.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = find(context)?.id;
    let schema = context.body(|fields, problems, ignored| {
        match fields.take_change("schema", |fields| Schema::take(fields, problems, ignored)) {
            Change::Set(schema) => Some(Some(schema)),
            Change::Clear => Some(None),
            Change::Keep => {
                if problems.is_empty() {
                    problems.missing(fields.name("schema"));
                }
                None
            }
        }
    })?;
    let now = context.now();
    let changed = context.tenant.events.try_change(id, |event| {
        event.schema = schema;
        event.updated_at = Some(now);
        Ok(())
    });
    changed.ok_or_else(not_found)??;
    Ok(answers::reference("event", id))
}

/// `DELETE /events/{id_or_name}`. Automations that it triggers stay: an event needn't be defined.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = find(context)?.id;
    context.tenant.events.remove(id).ok_or_else(not_found)?;
    Ok(answers::deleted("event", id))
}

/// `POST /events/send`, 202: every enabled automation with a trigger of this name starts a run for the contact, and runs that wait for the
/// event resume. An unknown address becomes a contact if a run starts for it.
pub(crate) fn send(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    #[derive(Serialize)]
    struct Sent<'a> {
        object: &'static str,
        event: &'a str,
    }
    let (name, whom, payload) = context.body(|fields, problems, _| {
        let name = take_name(fields, "event", problems);
        let whom = Recipient::take(fields, problems);
        let payload = take_payload(fields, problems);
        if let (Some(name), Some(payload)) = (&name, &payload)
            && let Some(event) = context.tenant.events.by_key(name)
            && let Some(schema) = &event.schema
        {
            schema.check(payload, problems);
        }
        Some((name?, whom?, payload?))
    })?;
    let payload = Arc::new(Value::Object(payload));
    let contact = match whom {
        Recipient::Contact(id) => {
            context.tenant.contacts.get(id).map(|contact| contact.id).ok_or_else(|| {
                Problem::validation(format!(
                    "`contact_id` must be the id of a contact; there is no contact {id}."
                ))
            })?
        }
        Recipient::Email(email) => match context.tenant.contacts.by_key(&email) {
            Some(contact) => contact.id,
            None if triggers(context, &name) => context.contacts().put(&email, |_| {})?,
            // No run starts, and none waits for an unknown contact.
            None => return Ok(json(StatusCode::ACCEPTED, &Sent { object: "event", event: &name })),
        },
    };
    let event = Occurrence { name: EventName::Custom(&name), triggers: true, contact, payload };
    engine::happened(context.state, &context.tenant, &event, context.now())?;
    Ok(json(StatusCode::ACCEPTED, &Sent { object: "event", event: &name }))
}

/// Whether an event of this name triggers an automation.
fn triggers(context: &Context<'_>, name: &str) -> bool {
    context.tenant.automations.oldest(&Group::Trigger(name.to_owned())).is_some()
}

/// The contact that an event concerns.
enum Recipient {
    Contact(Uuid),
    Email(String),
}

impl Recipient {
    fn take(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Self> {
        match (fields.has("contact_id"), fields.has("email")) {
            (true, true) => {
                problems.wrong(|| "Only one of `contact_id` and `email` may be given.".into());
                fields.take("contact_id");
                fields.take("email");
                return None;
            }
            (false, false) => {
                problems.missing("contact_id` or `email");
                return None;
            }
            _ => {}
        }
        if let Some(text) = fields.take_text("contact_id", problems) {
            let id = Uuid::try_parse(&text).ok();
            if id.is_none() {
                problems.wrong(|| format!("`contact_id` must be a UUID; found {}.", quoted(&text)));
            }
            return id.map(Self::Contact);
        }
        let text = fields.take_text("email", problems)?;
        let address = Mailbox::parse(&text).ok().filter(|mailbox| mailbox.address == text);
        if address.is_none() {
            problems.wrong(|| {
                format!("`email` must be an email address without a name; found {}.", quoted(&text))
            });
        }
        address.map(|_| Self::Email(text.into_owned()))
    }
}

fn take_payload(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Map<String, Value>> {
    if !fields.has("payload") {
        fields.take("payload");
        return Some(Map::new());
    }
    let payload = fields.take_value("payload");
    if let Some(Value::Object(payload)) = payload {
        return Some(payload);
    }
    problems.wrong(|| "`payload` must be an object that is not nested too deeply.".into());
    None
}

/// Reads the name of an event.
fn take_name(fields: &mut Fields<'_>, field: &str, problems: &mut Problems) -> Option<String> {
    let name = fields.require_text(field, problems)?;
    if name.starts_with(RESERVED_PREFIX) {
        problems.wrong(|| {
            format!("`{field}` must not begin with `{RESERVED_PREFIX}`, which is reserved for the service; found {}.", quoted(&name))
        });
        return None;
    }
    Some(name)
}

/// Finds the event definition of the path, by ID or name.
fn find(context: &Context<'_>) -> Result<Arc<Event>, Problem> {
    let identifier = context.parameter(0);
    let by_id = Uuid::try_parse(&identifier).ok().and_then(|id| context.tenant.events.get(id));
    by_id.or_else(|| context.tenant.events.by_key(&identifier)).ok_or_else(not_found)
}

fn not_found() -> Problem {
    Problem::not_found("Event not found.")
}
