//! The steps that change a contact or send an email. An error is the reason why a step fails.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::delivery;
use crate::delivery::contacts::ContactService;
use crate::model::automation::definition::{EmailAction, Part, ValueSource};
use crate::model::automation::rule::Facts;
use crate::model::contact::Contact;
use crate::model::email::draft::{Draft, Origin};
use crate::model::value::PropertyValue;
use crate::resources::contact_properties;
use crate::state::State;
use crate::state::quota;
use crate::state::tenant::Tenant;
use crate::wire::json::has_control;
use crate::wire::timestamp::database;

type Done = Result<Option<Value>, String>;

/// The contact's facts for rules and values at `contact.…`; null if the contact was deleted.
pub(super) fn contact_facts(tenant: &Tenant, id: Uuid) -> Value {
    let Some(contact) = tenant.contacts.get(id) else { return Value::Null };
    let properties = contact.properties.iter().map(|(key, value)| {
        let value = match value {
            PropertyValue::Text(text) => Value::String(text.clone()),
            PropertyValue::Number(number) => Value::Number(number.clone()),
            PropertyValue::Boolean(yes) => Value::Bool(*yes),
        };
        (key.clone(), value)
    });
    json!({
        "id": contact.id.to_string(),
        "email": contact.email,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "unsubscribed": contact.unsubscribed,
        "created_at": database(contact.created_at),
        "properties": properties.collect::<Map<_, _>>(),
    })
}

fn contact(tenant: &Tenant, id: Uuid) -> Result<Arc<Contact>, String> {
    tenant.contacts.get(id).ok_or_else(deleted)
}

fn deleted() -> String {
    "The contact does not exist any more.".into()
}

/// The value, or the variable's; `None` if the run lacks it.
fn known(given: &ValueSource, facts: &Facts<'_>) -> Option<Value> {
    match given {
        ValueSource::Fixed(value) => Some(value.clone()),
        ValueSource::Var(name) => facts.find(name).filter(|value| !value.is_null()).cloned(),
    }
}

/// Sends an email like `POST /emails`, with the same rules: the template must be published, and its variables must have values. A variable
/// without a value in this run uses the template's fallback.
pub(super) fn send_email(
    state: &State,
    tenant: &Arc<Tenant>,
    id: Uuid,
    action: &EmailAction,
    facts: &Facts<'_>,
    at: Timestamp,
) -> Done {
    let contact = contact(tenant, id)?;
    let variables = action.variables.iter().filter_map(|(key, given)| {
        let value = match known(given, facts)? {
            // Template variables are strings or numbers; other values are rendered as JSON.
            value @ (Value::Bool(_) | Value::Array(_) | Value::Object(_)) => Value::String(value.to_string()),
            value => value,
        };
        Some((key.clone(), value))
    });
    let mut email = json!({
        "to": contact.email,
        "template": { "id": action.template, "variables": variables.collect::<Map<_, _>>() },
    });
    for (field, value) in
        [("from", &action.from), ("subject", &action.subject), ("reply_to", &action.reply_to)]
    {
        if let Some(value) = value {
            email[field] = Value::String(value.clone());
        }
    }
    if let Some(topic) = action.topic {
        email["topic_id"] = Value::String(topic.to_string());
    }
    let draft =
        Draft::parse(state, email.to_string().as_bytes(), tenant, at).map_err(|problem| problem.message)?;
    let draft = Draft { origin: Origin { automation: true, ..draft.origin }, ..draft };
    delivery::check_sender(state, tenant, &draft.from).map_err(|problem| problem.message)?;
    quota::take(&state.settings, tenant, draft.recipients().count(), at)
        .map_err(|exceeded| exceeded.problem.message)?;
    let email = delivery::accept(state, tenant, draft, at);
    Ok(Some(json!({ "email_id": email.to_string() })))
}

/// A change of one field of a contact.
enum Change {
    FirstName(Option<String>),
    LastName(Option<String>),
    Unsubscribed(bool),
    Property(String, Option<PropertyValue>),
}

/// Updates the contact. Fields without a value in the run stay unchanged.
pub(super) fn update_contact(
    contacts: ContactService<'_>,
    id: Uuid,
    parts: &[(Part, ValueSource)],
    facts: &Facts<'_>,
) -> Done {
    let mut changes = Vec::new();
    for (part, given) in parts {
        if let Some(value) = known(given, facts) {
            changes.push(change(contacts.tenant, part, value)?);
        }
    }
    let done = contacts.change(id, |contact| {
        for change in changes {
            match change {
                Change::FirstName(name) => contact.first_name = name,
                Change::LastName(name) => contact.last_name = name,
                Change::Unsubscribed(unsubscribed) => contact.unsubscribed = unsubscribed,
                Change::Property(key, None) => drop(contact.properties.remove(&key)),
                Change::Property(key, Some(value)) => drop(contact.properties.insert(key, value)),
            }
        }
    });
    done.ok_or_else(deleted)?.map_err(|problem| problem.message)?;
    Ok(None)
}

fn change(tenant: &Tenant, part: &Part, value: Value) -> Result<Change, String> {
    let name = |value: Value| match value {
        Value::Null => Ok(None),
        Value::String(name) if !has_control(&name) => Ok(Some(name)),
        other => Err(format!("A name must be a line of text or null; found {other}.")),
    };
    match part {
        Part::FirstName => name(value).map(Change::FirstName),
        Part::LastName => name(value).map(Change::LastName),
        Part::Unsubscribed => match value {
            Value::Bool(unsubscribed) => Ok(Change::Unsubscribed(unsubscribed)),
            other => Err(format!("`unsubscribed` must be a boolean; found {other}.")),
        },
        Part::Property(key) => {
            let value = match value {
                Value::Null => None,
                Value::String(text) => Some(PropertyValue::Text(text)),
                Value::Number(number) => Some(PropertyValue::Number(number)),
                Value::Bool(yes) => Some(PropertyValue::Boolean(yes)),
                other => {
                    return Err(format!(
                        "`{key}` must be a string, a number, a boolean or null; found {other}."
                    ));
                }
            };
            contact_properties::check_value(tenant, key, value.as_ref())
                .map_err(|reason| format!("`{key}` {reason}."))?;
            Ok(Change::Property(key.clone(), value))
        }
    }
}

/// Deletes the contact.
pub(super) fn delete_contact(contacts: ContactService<'_>, id: Uuid) -> Done {
    contacts.remove(id).ok_or_else(deleted)?;
    Ok(None)
}

pub(super) fn add_to_segment(contacts: ContactService<'_>, id: Uuid, segment: Uuid) -> Done {
    contacts.tenant.segments.get(segment).ok_or_else(|| format!("There is no segment {segment}."))?;
    let added = contacts.change(id, |contact| contact.join(segment));
    added.ok_or_else(deleted)?.map_err(|problem| problem.message)?;
    Ok(None)
}
