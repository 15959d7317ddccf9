//! Custom events: `POST` and `GET /events`, `GET`, `PATCH` and `DELETE /events/{id_or_name}`, `POST /events/send`.
//!
//! The specification is silent on them. A kind of event need not be defined to be sent or to trigger an automation; once it has a
//! schema, what is sent must fit it.

mod schema;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use self::schema::Schema;
use super::answers;
use super::automations::Group;
use super::automations::definition::{EventName, RESERVED_PREFIX};
use super::automations::engine::{self, Occurrence};
use super::emails::recipients::Mailbox;
use super::timestamp::database;
use crate::paging::{Mode, Window, list, quoted};
use crate::problem::{Problem, json};
use crate::routes::Context;
use crate::store::size::heap_size;
use crate::store::table::{self, NoGroup};
use crate::validation::{Change, Fields, Problems};

/// A kind of event.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Event {
    id: Uuid,
    name: String,
    schema: Option<Schema>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
}

heap_size!(Event { id, name, schema, created_at, updated_at });

impl table::Record for Event {
    const PLURAL: &'static str = "events";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!("`name` must be new; there is an event {} already.", quoted(&self.name)))
    }
}

/// `POST /events`, 201. A name names one kind of event.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (name, schema) = context.body(|fields, problems, ignored| {
        let name = take_name(fields, "name", problems);
        let schema = fields.take_change("schema", |fields| Schema::take(fields, problems, ignored));
        Some((name?, schema))
    })?;
    let (id, now) = (context.service.next_id(), context.now());
    let schema = if let Change::Set(schema) = schema { Some(schema) } else { None };
    let event = Event { id, name, schema, created_at: now, updated_at: None };
    context.tenant.events.add(id, event)?;
    Ok(answers::made("event", id))
}

/// `GET /events`, mode B.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.events.page(&window)?;
    Ok(list(&page.map(|event| Item::of(&event))))
}

/// `GET /events/{id_or_name}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    #[derive(Serialize)]
    struct Whole {
        object: &'static str,
        #[serde(flatten)]
        item: Item,
    }
    Ok(json(StatusCode::OK, &Whole { object: "event", item: Item::of(&*find(context)?) }))
}

/// `PATCH /events/{id_or_name}`: another schema, or none.
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

/// `DELETE /events/{id_or_name}`. Automations that it triggers stay: an event need not be defined.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = find(context)?.id;
    context.tenant.events.remove(id).ok_or_else(not_found)?;
    Ok(answers::deleted("event", id))
}

/// `POST /events/send`, 202: every enabled automation with a trigger of this name starts a run for the contact, and runs that wait for
/// it go on. Who is named by an address that no contact has becomes a contact when that starts a run.
pub(crate) fn send(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    #[derive(Serialize)]
    struct Sent<'a> {
        object: &'static str,
        event: &'a str,
    }
    let (name, whom, payload) = context.body(|fields, problems, _| {
        let name = take_name(fields, "event", problems);
        let whom = Whom::take(fields, problems);
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
        Whom::Contact(id) => context.tenant.contacts.get(id).map(|contact| contact.id).ok_or_else(|| {
            Problem::validation(format!(
                "`contact_id` must be the id of a contact; there is no contact {id}."
            ))
        })?,
        Whom::Email(email) => match context.tenant.contacts.by_key(&email) {
            Some(contact) => contact.id,
            None if triggers(context, &name) => context.contacts().put(&email, |_| {})?,
            // Nothing starts, and nothing waits for somebody who was never known.
            None => return Ok(json(StatusCode::ACCEPTED, &Sent { object: "event", event: &name })),
        },
    };
    let event = Occurrence { name: EventName::Custom(&name), triggers: true, contact, payload };
    engine::happened(context.service, &context.tenant, &event, context.now())?;
    Ok(json(StatusCode::ACCEPTED, &Sent { object: "event", event: &name }))
}

/// Whether an event of this name starts a run.
fn triggers(context: &Context<'_>, name: &str) -> bool {
    context.tenant.automations.oldest(&Group::Trigger(name.to_owned())).is_some()
}

/// Whom an event has happened to.
enum Whom {
    Contact(Uuid),
    Email(String),
}

impl Whom {
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

/// Takes the name of an event.
fn take_name(fields: &mut Fields<'_>, field: &str, problems: &mut Problems) -> Option<String> {
    let name = fields.require_text(field, problems)?;
    if name.starts_with(RESERVED_PREFIX) {
        problems.wrong(|| {
            format!("`{field}` must not begin with `{RESERVED_PREFIX}`, which the service keeps for itself; found {}.", quoted(&name))
        });
        return None;
    }
    Some(name)
}

/// The kind of event that the path names by its id or its name.
fn find(context: &Context<'_>) -> Result<Arc<Event>, Problem> {
    let identifier = context.parameter(0);
    let by_id = Uuid::try_parse(&identifier).ok().and_then(|id| context.tenant.events.get(id));
    by_id.or_else(|| context.tenant.events.by_key(&identifier)).ok_or_else(not_found)
}

fn not_found() -> Problem {
    Problem::not_found("Event not found.")
}

#[derive(Serialize)]
struct Item {
    id: String,
    name: String,
    schema: Option<Schema>,
    created_at: String,
    updated_at: Option<String>,
}

impl Item {
    fn of(event: &Event) -> Self {
        Self {
            id: event.id.to_string(),
            name: event.name.clone(),
            schema: event.schema.clone(),
            created_at: database(event.created_at),
            updated_at: event.updated_at.map(database),
        }
    }
}
