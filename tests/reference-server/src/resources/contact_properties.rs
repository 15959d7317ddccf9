//! Contact properties: what else can be known of a contact, and put into a broadcast.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::answers;
use super::contacts::book::{Group, PropertyValue};
use super::emails::template::check_key;
use super::timestamp::database;
use crate::paging::{Mode, Window, list, quoted};
use crate::problem::{Problem, json};
use crate::routes::Context;
use crate::state::Tenant;
use crate::store::size::{heap_size, no_heap};
use crate::store::table::{self, NoGroup};
use crate::validation::{Change, Fields, Problems};

/// One property that contacts can have. Its key and its type never change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ContactProperty {
    pub(crate) id: Uuid,
    pub(crate) key: String,
    pub(crate) r#type: Type,
    pub(crate) fallback_value: Option<PropertyValue>,
    pub(crate) created_at: Timestamp,
}

heap_size!(ContactProperty { id, key, r#type, fallback_value, created_at });
no_heap!(Type);

impl table::Record for ContactProperty {
    const PLURAL: &'static str = "contact properties";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!(
            "`key` must be a new one; there is a property {} already.",
            quoted(&self.key)
        ))
    }
}

/// What a property holds. The specification has seen `string`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Type {
    String,
    Number,
}

impl Type {
    fn fits(self, value: &PropertyValue) -> bool {
        matches!(
            (self, value),
            (Self::String, PropertyValue::Text(_)) | (Self::Number, PropertyValue::Number(_))
        )
    }

    fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
        }
    }
}

/// The property with this key.
pub(crate) fn by_key(tenant: &Tenant, key: &str) -> Option<Arc<ContactProperty>> {
    tenant.contact_properties.by_key(key)
}

/// Whether a contact can have this value under this key, or have it cleared. The error says why not.
pub(crate) fn judge(tenant: &Tenant, key: &str, value: Option<&PropertyValue>) -> Result<(), String> {
    let Some(property) = by_key(tenant, key) else {
        return Err(format!("is no contact property; there is none with the key {}", quoted(key)));
    };
    match value {
        Some(value) if !property.r#type.fits(value) => {
            Err(format!("must be a {}; found a {}", property.r#type.name(), value.kind()))
        }
        _ => Ok(()),
    }
}

/// `POST /contact-properties`.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.service.next_id();
    let property = context.body(|fields, problems, _| {
        for field in ["key", "type"] {
            if !fields.has(field) {
                problems.missing(fields.name(field));
            }
        }
        let key = take_key(fields, problems);
        let r#type =
            fields.take_word("type", &[("string", Type::String), ("number", Type::Number)], problems);
        let fallback_value = r#type.and_then(|r#type| take_fallback(fields, r#type, problems));
        Some(ContactProperty { id, key: key?, r#type: r#type?, fallback_value, created_at: context.now() })
    })?;
    context.tenant.contact_properties.add(id, property)?;
    Ok(answers::made("contact_property", id))
}

fn take_key(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let key = fields.take_text("key", problems)?;
    let before = problems.count();
    check_key(&fields.name("key"), &key, problems);
    (problems.count() == before).then(|| key.into_owned())
}

fn take_fallback(fields: &mut Fields<'_>, r#type: Type, problems: &mut Problems) -> Option<PropertyValue> {
    let given = fields.take_value("fallback_value")?;
    let value = match given {
        Value::String(text) => Some(PropertyValue::Text(text)),
        Value::Number(number) => Some(PropertyValue::Number(number)),
        _ => None,
    };
    let fits = value.filter(|value| r#type.fits(value));
    if fits.is_none() {
        problems.wrong(|| {
            format!("`{}` must be of the property's type, {}.", fields.name("fallback_value"), r#type.name())
        });
    }
    fits
}

/// `GET /contact-properties`, mode A.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    Ok(list(&context.tenant.contact_properties.page(&window)?.map(|property| Item::of(&property))))
}

/// `GET /contact-properties/{contact_property_id}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Ok(json(StatusCode::OK, &Record { object: "contact_property", item: Item::of(&*named(context)?) }))
}

/// `PATCH /contact-properties/{contact_property_id}`: another fallback; `null` takes it away.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let property = named(context)?;
    let fallback = context.body(|fields, problems, _| {
        for field in ["key", "type"] {
            if fields.has(field) {
                problems.wrong(|| format!("`{}` can't be changed.", fields.name(field)));
            }
        }
        Some(fields.take_change("fallback_value", |fields| take_fallback(fields, property.r#type, problems)))
    })?;
    let changed = context.tenant.contact_properties.try_change(property.id, |property| {
        match fallback {
            Change::Keep => {}
            Change::Clear => property.fallback_value = None,
            Change::Set(value) => property.fallback_value = Some(value),
        }
        Ok(())
    });
    changed.transpose()?;
    Ok(answers::reference("contact_property", property.id))
}

/// `DELETE /contact-properties/{contact_property_id}`: the contacts' values go with it.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let property = named(context)?;
    context.tenant.contact_properties.remove(property.id);
    let group = Group::Property(property.key.clone());
    context.tenant.contacts.change_all(
        &group,
        |contact| contact.id,
        |contact| drop(contact.properties.remove(&property.key)),
    );
    Ok(answers::deleted("contact_property", property.id))
}

fn named(context: &Context<'_>) -> Result<Arc<ContactProperty>, Problem> {
    let id = context.id("a contact property")?;
    context.tenant.contact_properties.get(id).ok_or_else(|| Problem::not_found("Contact property not found."))
}

/// `SPEC.md`, Contact property (list item).
#[derive(Serialize)]
struct Item {
    id: String,
    key: String,
    r#type: Type,
    fallback_value: Option<PropertyValue>,
    created_at: String,
}

impl Item {
    fn of(property: &ContactProperty) -> Self {
        Self {
            id: property.id.to_string(),
            key: property.key.clone(),
            r#type: property.r#type,
            fallback_value: property.fallback_value.clone(),
            created_at: database(property.created_at),
        }
    }
}

#[derive(Serialize)]
struct Record {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
}
