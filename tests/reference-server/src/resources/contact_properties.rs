//! Contact properties: custom fields of contacts, for use in broadcasts.

use crate::context::Context;
use crate::model::contact::Group;
use crate::model::contact_property::ContactProperty;
use crate::model::value::{PropertyValue, ValueType};
use crate::state::tenant::Tenant;
use crate::wire::{HandlerResult, answers, check_key, quote};

/// Checks whether contacts can have this value under this key, or have it cleared. The error continues a sentence about the key.
pub fn check_value(tenant: &Tenant, key: &str, value: Option<&PropertyValue>) -> Result<(), String> {
    let Some(property) = tenant.contact_properties.find_by_key(key) else {
        return Err(format!("is no contact property; there is none with the key {}", quote(key)));
    };
    match value {
        // Booleans have no property type, and are stored as given.
        Some(PropertyValue::Boolean(_)) => Ok(()),
        Some(value) if !property.r#type.matches(value) => {
            Err(format!("must be a {}; found a {}", property.r#type.as_str(), value.kind()))
        }
        _ => Ok(()),
    }
}

/// `POST /contact-properties`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let id = context.state.next_id();
    let property = context.body(|fields| {
        fields.require(&["key", "type"]);
        let key = fields.required("key", |field| {
            let key = field.text()?;
            check_key(format_args!("`{}`", field.name()), &key, field.report())?;
            Ok(key.into_owned())
        });
        let r#type = fields.required("type", |field| field.one_of(ValueType::WORDS));
        let fallback_value = r#type.and_then(|r#type| {
            fields.optional("fallback_value", |field| r#type.read_fallback(field, "property"))
        });
        Ok(ContactProperty {
            id,
            key: key?,
            r#type: r#type?,
            fallback_value: fallback_value?,
            created_at: context.now(),
        })
    })?;
    context.tenant.contact_properties.add(id, property)?;
    Ok(answers::created_response("contact_property", id))
}

/// `PATCH /contact-properties/{contact_property_id}`: changes the fallback; `null` removes it.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let property = context.find(&context.tenant.contact_properties)?;
    let fallback = context.body(|fields| {
        for field in ["key", "type"] {
            fields.forbid(field, "can't be changed");
        }
        fields.patch("fallback_value", |field| property.r#type.read_fallback(field, "property"))
    })?;
    context.tenant.contact_properties.update(property.id, |property| {
        fallback.apply(&mut property.fallback_value);
    })?;
    Ok(answers::reference("contact_property", property.id))
}

/// `DELETE /contact-properties/{contact_property_id}`: also deletes the contacts' values.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let property = context.find(&context.tenant.contact_properties)?;
    context.tenant.contact_properties.remove(property.id);
    let group = Group::Property(property.key.clone());
    context.tenant.contacts.change_all(&group, |contact| drop(contact.properties.remove(&property.key)));
    Ok(answers::deleted_response("contact_property", property.id))
}
