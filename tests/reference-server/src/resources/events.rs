//! Custom events: `POST` and `GET /events`, `GET`, `PATCH` and `DELETE /events/{id_or_name}`, `POST /events/send`.
//!
//! The specification doesn't define them. An event needn't be defined to be sent or to trigger an automation; if it has a schema, payloads
//! must match it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::context::Context;
use crate::model::automation::definition::EventName;
use crate::model::email::recipients::Mailbox;
use crate::model::event::RESERVED_PREFIX;
use crate::model::event::schema::Schema;
use crate::model::event::{self, Event};
use crate::resources::automations::engine::{self, Occurrence};
use crate::store::table::Record as _;
use crate::wire::{
    Change, Checked, Field, Fields, HandlerResult, Problem, answers, input, json, non_empty, quote, uuid,
};

input! {
    struct NewEvent(fields) {
        name: String = fields.required("name", read_name),
        schema: Option<Schema> = fields.optional("schema", Schema::read),
    }
}

/// `POST /events`, 201. Names are unique.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let NewEvent { name, schema } = context.body(NewEvent::read)?;
    let (id, now) = (context.state.next_id(), context.now());
    let event = Event { id, name, schema, created_at: now, updated_at: None };
    context.tenant.events.add(id, event)?;
    Ok(answers::created_response("event", id))
}

/// `GET /events/{id_or_name}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &event::Detail(&*find(context)?)))
}

/// `PATCH /events/{id_or_name}`: replaces or removes the schema.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    let schema = context.body(|fields| match fields.patch("schema", Schema::read)? {
        Change::Set(schema) => Ok(Some(schema)),
        Change::Clear => Ok(None),
        Change::Keep => Err(fields.report().report_missing("schema")),
    })?;
    let now = context.now();
    context.tenant.events.update(id, |event| {
        event.schema = schema;
        event.updated_at = Some(now);
    })?;
    Ok(answers::reference("event", id))
}

/// `DELETE /events/{id_or_name}`. The automations that it triggers remain: an event needn't be defined.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    context.tenant.events.remove(id).ok_or_else(Event::not_found)?;
    Ok(answers::deleted_response("event", id))
}

/// `POST /events/send`, 202: every enabled automation with a trigger of this name starts a run for the contact, and runs that wait for the event
/// resume. If a run starts for an unknown address, a contact is created.
pub fn send(context: &Context<'_>) -> HandlerResult {
    let (name, recipient, payload) = context.body(|fields| {
        let name = fields.required("event", read_name);
        let recipient = Recipient::read(fields);
        let payload = fields.optional("payload", |field| match field.value() {
            Some(Value::Object(payload)) => Ok(payload),
            _ if field.is_empty_object() => Ok(Map::new()),
            _ => Err(field.reject_type("an object that is not nested too deeply")),
        });
        let (name, payload) = (name?, payload?.unwrap_or_default());
        if let Some(event) = context.tenant.events.find_by_key(&name)
            && let Some(schema) = &event.schema
        {
            schema.check(&payload, fields.report());
        }
        Ok((name, recipient?, payload))
    })?;
    let (event_name, payload) = (EventName::Custom(&name), Arc::new(Value::Object(payload)));
    let contact = match recipient {
        Recipient::Contact(id) => {
            context.tenant.contacts.get(id).map(|contact| contact.id).ok_or_else(|| {
                Problem::validation(format!(
                    "`contact_id` must be the id of a contact; there is no contact {id}."
                ))
            })?
        }
        Recipient::Email(email) => {
            let known = context.tenant.contacts.find_by_key(&email);
            match (known, engine::triggered(&context.tenant, event_name).len()) {
                (Some(contact), _) => contact.id,
                // No run starts, and none waits for an unknown contact.
                (None, 0) => return Ok(accepted(&name)),
                (None, starting) => {
                    // No contact is created if no run can start.
                    engine::check_room(&context.tenant, starting)?;
                    context.moment().upsert_contact(&email, |_| {})?
                }
            }
        }
    };
    let event = Occurrence { name: event_name, triggers: true, contact, payload };
    engine::handle_event(context.moment(), &event)?;
    Ok(accepted(&name))
}

fn accepted(event: &str) -> Response<Bytes> {
    json(StatusCode::ACCEPTED, &json!({ "object": "event", "event": event }))
}

/// The contact that an event concerns.
enum Recipient {
    Contact(Uuid),
    Email(String),
}

impl Recipient {
    fn read(fields: &mut Fields<'_>) -> Checked<Self> {
        match fields.alternatives(["contact_id", "email"]) {
            [true, true] => {
                fields.skip("contact_id");
                fields.skip("email");
                Err(fields.report().report("Only one of `contact_id` and `email` may be given."))
            }
            [false, false] => Err(fields.report().report_missing("contact_id` or `email")),
            [true, false] => fields.required("contact_id", uuid).map(Self::Contact),
            [false, true] => fields.required("email", read_email).map(Self::Email),
        }
    }
}

fn read_email(field: &Field<'_>) -> Checked<String> {
    field.parse_with(|text| {
        let address = Mailbox::parse(text).ok().filter(|mailbox| mailbox.address == text);
        address.map(|mailbox| mailbox.address).ok_or("must be an email address without a name")
    })
}

fn read_name(field: &Field<'_>) -> Checked<String> {
    let name = non_empty(field)?;
    if name.starts_with(RESERVED_PREFIX) {
        let found = quote(&name);
        return Err(field.reject(format_args!(
            "must not begin with `{RESERVED_PREFIX}`, which is reserved for the service; found {found}"
        )));
    }
    Ok(name)
}

/// Finds the event definition of the path, by ID or name.
fn find(context: &Context<'_>) -> Result<Arc<Event>, Problem> {
    context.find_by_id_or_key(0, &context.tenant.events)
}
