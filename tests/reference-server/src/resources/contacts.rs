//! Contacts. A path names one by its ID or its address.
//!
//! The specification defines neither the record nor the routes beyond the two lists; the shapes are Resend's. Creating a
//! known address isn't rejected: it updates the existing contact, so that an import can be repeated.

pub mod audience;
pub mod segments;
pub mod topics;
pub mod view;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use self::view::{items, members};
use crate::context::Context;
use crate::model::contact::{Contact, Detail, Subscription};
use crate::model::email::recipients::Mailbox;
use crate::model::value::PropertyValue;
use crate::resources::contact_properties;
use crate::state::tenant::Tenant;
use crate::wire::{
    Body, Change, Checked, Field, HandlerResult, Mode, Problem, answers, boolean, fields, input, json, line,
    quote, replace,
};

input! {
    /// The input of a request that creates or updates a contact.
    #[derive(Debug)]
    pub struct ContactInput(fields, tenant: &Tenant, creates: bool) {
        email: Option<String> = fields.required_if(creates, "email", read_email),
        first_name: Change<String> = fields.patch("first_name", line),
        last_name: Change<String> = fields.patch("last_name", line),
        unsubscribed: Option<bool> = fields.optional("unsubscribed", boolean),
        /// `None` clears a property.
        properties: Option<BTreeMap<String, Option<PropertyValue>>> =
            fields.optional("properties", |field| read_properties(field, tenant)),
        segments: Vec<Uuid> = if creates { segments::read(fields, tenant) } else { Ok(Vec::new()) },
        topics: Option<BTreeMap<Uuid, Subscription>> = if creates {
            fields.optional("topics", |field| topics::read(field, tenant))
        } else {
            Ok(None)
        },
    }
}

impl ContactInput {
    fn from_request(context: &Context<'_>, creates: bool) -> Result<Self, Problem> {
        context.body(|fields| Self::read(fields, &context.tenant, creates))
    }

    /// Reads an update that doesn't come from a request.
    pub fn patch(patch: &Value, tenant: &Tenant) -> Result<Self, Problem> {
        let (json, ignored) = (patch.to_string(), RefCell::default());
        Ok(fields::read(Body::parse(json.as_bytes())?, &ignored, |fields| Self::read(fields, tenant, false))?)
    }

    /// Applies the input to a contact.
    pub fn apply(self, contact: &mut Contact) {
        replace(&mut contact.email, self.email);
        self.first_name.apply(&mut contact.first_name);
        self.last_name.apply(&mut contact.last_name);
        replace(&mut contact.unsubscribed, self.unsubscribed);
        for (key, value) in self.properties.into_iter().flatten() {
            match value {
                Some(value) => contact.properties.insert(key, value),
                None => contact.properties.remove(&key),
            };
        }
        for segment in self.segments {
            contact.join(segment);
        }
        contact.topics.extend(self.topics.into_iter().flatten());
    }
}

/// Reads an address without a name.
pub fn read_email(field: &Field<'_>) -> Checked<String> {
    let mailbox = Mailbox::read(field)?;
    if mailbox.name.is_some() || mailbox.address != *mailbox.text {
        let found = quote(&field.text()?);
        return Err(field.reject(format_args!("must be an address without a name; found {found}")));
    }
    Ok(mailbox.address)
}

fn read_properties(field: &Field<'_>, tenant: &Tenant) -> Checked<BTreeMap<String, Option<PropertyValue>>> {
    let properties = field.object(|properties| {
        properties.each(|key, field| {
            let value = match field.value() {
                Some(Value::Null) => None,
                Some(Value::String(text)) => Some(PropertyValue::Text(text)),
                Some(Value::Number(number)) => Some(PropertyValue::Number(number)),
                Some(Value::Bool(yes)) => Some(PropertyValue::Boolean(yes)),
                _ => return Err(field.reject_type("a string, a number, a boolean or null")),
            };
            contact_properties::check_value(tenant, key, value.as_ref())
                .map_err(|reason| field.reject(reason))?;
            Ok((key.to_owned(), value))
        })
    });
    Ok(properties?.into_iter().collect())
}

/// Finds the contact of the path parameter with this index.
pub fn find(context: &Context<'_>, place: usize) -> Result<Arc<Contact>, Problem> {
    context.find_by_id_or_key(place, &context.tenant.contacts)
}

/// `POST /contacts`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    create_in(context, None)
}

/// Creates a contact that joins this segment, or updates the existing one.
fn create_in(context: &Context<'_>, segment: Option<Uuid>) -> HandlerResult {
    let mut input = ContactInput::from_request(context, true)?;
    input.segments.extend(segment);
    let email = input.email.clone().unwrap_or_default();
    let id = context.moment().upsert_contact(&email, |contact| input.apply(contact))?;
    Ok(answers::created_response("contact", id))
}

/// `GET /contacts`, mode B; `segment_id` shows the members of one segment.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::B)?;
    let segment = match context.query("segment_id") {
        None => None,
        Some(text) => Some(context.tenant.segments.known_id(&text).ok_or_else(|| {
            let found = quote(&text);
            Problem::validation(format!("`segment_id` must be the id of a segment; found {found}."))
        })?),
    };
    Ok(items(&match segment {
        Some(segment) => members(context, &window, segment)?,
        None => context.tenant.contacts.page(&window)?,
    }))
}

/// `GET /contacts/{id_or_email}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &Detail(&*find(context, 0)?)))
}

/// `PATCH /contacts/{id_or_email}`. `null` clears a name or property; other properties stay unchanged.
pub fn update(context: &Context<'_>) -> HandlerResult {
    apply_update(context, &*find(context, 0)?)
}

fn apply_update(context: &Context<'_>, contact: &Contact) -> HandlerResult {
    let input = ContactInput::from_request(context, false)?;
    context.moment().change_contact(contact.id, |contact| input.apply(contact))?;
    Ok(answers::reference("contact", contact.id))
}

/// `DELETE /contacts/{id_or_email}`.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let contact = find(context, 0)?;
    context.moment().remove_contact(contact.id);
    Ok(deleted_response(&contact.id.to_string()))
}

/// Only here, the ID is named `contact`.
fn deleted_response(contact: &str) -> Response<Bytes> {
    json(StatusCode::OK, &json!({ "object": "contact", "contact": contact, "deleted": true }))
}
