//! Contacts. A path names one by its ID or its address.
//!
//! The specification doesn't define the record nor the routes beyond the two lists; shapes are those of the public service. Creating a
//! known address isn't rejected: it updates the existing contact, so that an import can be repeated.

pub(crate) mod audience;
pub(crate) mod segments;
pub(crate) mod topics;
pub(crate) mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use self::view::{items, members};
use crate::context::Context;
use crate::model::contact::{Contact, Detail, Subscription};
use crate::model::email::recipients::Mailbox;
use crate::model::value::PropertyValue;
use crate::resources::contact_properties;
use crate::state::tenant::Tenant;
use crate::wire::answers;
use crate::wire::paging::{Mode, Window, quoted};
use crate::wire::problem::{Problem, json};
use crate::wire::validation::{Change, Fields, Ignored, MAX_ENTRIES, Problems, kind};

/// The input of a request that creates or updates a contact.
#[derive(Debug)]
struct ContactInput {
    email: Option<String>,
    first_name: Change<String>,
    last_name: Change<String>,
    unsubscribed: Option<bool>,
    /// `None` clears a property.
    properties: BTreeMap<String, Option<PropertyValue>>,
    segments: Vec<Uuid>,
    topics: BTreeMap<Uuid, Subscription>,
}

impl ContactInput {
    fn read(context: &Context<'_>, creates: bool) -> Result<Self, Problem> {
        let tenant = &context.tenant;
        context.body(|fields, problems, ignored| {
            if creates && !fields.has("email") {
                problems.missing(fields.name("email"));
            }
            let email = take_email(fields, problems);
            let name = |fields: &mut Fields<'_>, field: &str, problems: &mut Problems| {
                fields.take_change(field, |fields| {
                    fields.take_line(field, problems).map(std::borrow::Cow::into_owned)
                })
            };
            let mut input = Self {
                email,
                first_name: name(fields, "first_name", problems),
                last_name: name(fields, "last_name", problems),
                unsubscribed: fields.take_bool("unsubscribed", problems),
                properties: take_properties(fields, tenant, problems),
                segments: Vec::new(),
                topics: BTreeMap::new(),
            };
            if creates {
                input.segments = segments::take(fields, tenant, problems, ignored);
                input.topics = topics::take(fields, "topics", tenant, problems, ignored);
            }
            Some(input)
        })
    }

    /// Applies the input to a contact.
    fn apply(self, contact: &mut Contact) {
        if let Some(email) = self.email {
            contact.email = email;
        }
        let name = |name: &mut Option<String>, change| match change {
            Change::Keep => {}
            Change::Clear => *name = None,
            Change::Set(text) => *name = Some(text),
        };
        name(&mut contact.first_name, self.first_name);
        name(&mut contact.last_name, self.last_name);
        contact.unsubscribed = self.unsubscribed.unwrap_or(contact.unsubscribed);
        for (key, value) in self.properties {
            match value {
                Some(value) => contact.properties.insert(key, value),
                None => contact.properties.remove(&key),
            };
        }
        for segment in self.segments {
            contact.join(segment);
        }
        contact.topics.extend(self.topics);
    }
}

fn take_email(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let text = fields.take_text("email", problems)?;
    match Mailbox::parse(&text) {
        Ok(mailbox) if mailbox.name.is_none() && mailbox.address == mailbox.text => Some(mailbox.address),
        Ok(_) => {
            problems.wrong(|| {
                format!(
                    "`{}` must be an address without a name; found {}.",
                    fields.name("email"),
                    quoted(&text)
                )
            });
            None
        }
        Err(reason) => {
            problems.wrong(|| format!("`{}` {reason}: {}.", fields.name("email"), quoted(&text)));
            None
        }
    }
}

fn take_properties(
    fields: &mut Fields<'_>,
    tenant: &Tenant,
    problems: &mut Problems,
) -> BTreeMap<String, Option<PropertyValue>> {
    let mut properties = BTreeMap::new();
    let Some(json) = fields.take("properties") else { return properties };
    let Ok(given) = serde_json::from_str::<BTreeMap<String, Value>>(json) else {
        problems
            .wrong(|| format!("`{}` must be an object; found {}.", fields.name("properties"), kind(json)));
        return properties;
    };
    if given.len() > MAX_ENTRIES {
        let name = fields.name("properties");
        problems.wrong(|| format!("`{name}` must have at most {MAX_ENTRIES} fields; found {}.", given.len()));
        return properties;
    }
    for (key, value) in given {
        let at = format!("{}.{}", fields.name("properties"), &key[..key.floor_char_boundary(64)]);
        let value = match value {
            Value::Null => None,
            Value::String(text) => Some(PropertyValue::Text(text)),
            Value::Number(number) => Some(PropertyValue::Number(number)),
            other => {
                problems.wrong(|| {
                    format!("`{at}` must be a string, a number or null; found {}.", kind(&other.to_string()))
                });
                continue;
            }
        };
        match contact_properties::check_value(tenant, &key, value.as_ref()) {
            Ok(()) => drop(properties.insert(key, value)),
            Err(reason) => problems.wrong(|| format!("`{at}` {reason}.")),
        }
    }
    properties
}

/// Finds the contact of the path parameter with this index.
pub(crate) fn named(context: &Context<'_>, place: usize) -> Result<Arc<Contact>, Problem> {
    find(&context.tenant, &context.parameter(place)).ok_or_else(|| Problem::not_found("Contact not found."))
}

/// `POST /contacts`.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let input = ContactInput::read(context, true)?;
    let email = input.email.clone().unwrap_or_default();
    let id = context.contacts().upsert(&email, |contact| input.apply(contact))?;
    Ok(answers::created("contact", id))
}

/// `GET /contacts`, mode B; `segment_id` shows the members of one segment.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let segment = match context.query("segment_id") {
        None => None,
        Some(text) => {
            match Uuid::try_parse(&text).ok().filter(|id| context.tenant.segments.get(*id).is_some()) {
                Some(id) => Some(id),
                None => {
                    return Err(Problem::validation(format!(
                        "`segment_id` must be the id of a segment; found {}.",
                        quoted(&text)
                    )));
                }
            }
        }
    };
    Ok(items(&match segment {
        Some(segment) => members(context, &window, segment)?,
        None => context.tenant.contacts.page(&window)?,
    }))
}

/// `GET /contacts/{id_or_email}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Ok(json(StatusCode::OK, &Detail(&*named(context, 0)?)))
}

/// `PATCH /contacts/{id_or_email}`. `null` clears a name or property; other properties stay unchanged.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    change(context, &*named(context, 0)?)
}

fn change(context: &Context<'_>, contact: &Contact) -> Result<Response<Bytes>, Problem> {
    let input = ContactInput::read(context, false)?;
    let changed = context.contacts().change(contact.id, |contact| input.apply(contact));
    changed.unwrap_or_else(|| Err(Problem::not_found("Contact not found.")))?;
    Ok(answers::reference("contact", contact.id))
}

/// `DELETE /contacts/{id_or_email}`.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let contact = named(context, 0)?;
    context.contacts().remove(contact.id);
    Ok(json(StatusCode::OK, &Deletion { object: "contact", contact: contact.id.to_string(), deleted: true }))
}

/// The ID is named `contact` here, and only here.
#[derive(Serialize)]
struct Deletion {
    object: &'static str,
    contact: String,
    deleted: bool,
}

/// Reads the `id` of each item of an array of objects, and reports problems.
fn take_ids<T>(
    fields: &mut Fields<'_>,
    field: &str,
    problems: &mut Problems,
    ignored: &mut Ignored,
    mut read: impl FnMut(&mut Fields<'_>, Uuid, &mut Problems) -> Option<T>,
) -> Vec<T> {
    let items = fields.take_array(field, problems).unwrap_or_default();
    let mut found = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(mut item) = Fields::read_element(item.get(), fields, field, index, problems) else {
            continue;
        };
        if !item.has("id") {
            problems.missing(item.name("id"));
        }
        let id = item.take_text("id", problems);
        let id = id.and_then(|text| {
            let id = Uuid::try_parse(&text).ok();
            if id.is_none() {
                problems.wrong(|| format!("`{}` must be a UUID; found {}.", item.name("id"), quoted(&text)));
            }
            id
        });
        if let Some(id) = id {
            found.extend(read(&mut item, id, problems));
        }
        item.report_ignored(ignored);
    }
    found
}

/// Finds a contact by ID or address: a path can contain either.
pub(crate) fn find(tenant: &Tenant, id_or_address: &str) -> Option<Arc<Contact>> {
    match Uuid::try_parse(id_or_address) {
        Ok(id) => tenant.contacts.get(id),
        Err(_) => tenant.contacts.by_key(id_or_address),
    }
}
