//! The steps that change a contact or send an email. An error is the reason why a step fails.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::delivery;
use crate::model::automation::definition::{EmailAction, Part, ValueSource};
use crate::model::automation::rule::Facts;
use crate::model::automation::run::CONTACT_DELETED;
use crate::model::contact::Contact;
use crate::model::email::draft::{Draft, Origin};
use crate::resources::contacts::ContactInput;
use crate::state::moment::Moment;
use crate::state::quota;
use crate::state::tenant::Tenant;
use crate::wire::to_database_format;

type Done = Result<Option<Value>, String>;

/// The contact's facts for rules and values at `contact.…`; null if the contact was deleted.
pub(super) fn contact_facts(tenant: &Tenant, id: Uuid) -> Value {
    let Some(contact) = tenant.contacts.get(id) else { return Value::Null };
    json!({
        "id": contact.id.to_string(),
        "email": contact.email,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "unsubscribed": contact.unsubscribed,
        "created_at": to_database_format(contact.created_at),
        "properties": contact.properties,
    })
}

fn contact(tenant: &Tenant, id: Uuid) -> Result<Arc<Contact>, String> {
    tenant.contacts.get(id).ok_or_else(|| CONTACT_DELETED.to_owned())
}

/// The value, or the variable's; `None` if the run lacks it.
fn resolve_value(given: &ValueSource, facts: &Facts<'_>) -> Option<Value> {
    match given {
        ValueSource::Fixed(value) => Some(value.clone()),
        ValueSource::Var(name) => facts.find(name).filter(|value| !value.is_null()).cloned(),
    }
}

/// Sends an email like `POST /emails`, with the same rules: the template must be published, and its variables must have values. A variable
/// without a value in this run uses the template's fallback.
pub(super) fn send_email(moment: Moment<'_>, id: Uuid, action: &EmailAction, facts: &Facts<'_>) -> Done {
    let Moment { state, tenant, at } = moment;
    let contact = contact(tenant, id)?;
    let variables = action.variables.iter().filter_map(|(key, given)| {
        let value = match resolve_value(given, facts)? {
            text @ Value::String(_) => text,
            // Other values are rendered as JSON; the text of a number is also accepted where the template has a number.
            value => Value::String(value.to_string()),
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
        .map_err(|problem| problem.message)?;
    let email = delivery::accept(moment, draft);
    Ok(Some(json!({ "email_id": email.to_string() })))
}

/// Updates the contact like `PATCH /contacts/{id}`. Fields without a value in the run stay unchanged.
pub(super) fn update_contact(
    moment: Moment<'_>,
    id: Uuid,
    parts: &[(Part, ValueSource)],
    facts: &Facts<'_>,
) -> Done {
    let mut patch = json!({ "properties": {} });
    for (part, given) in parts {
        let Some(value) = resolve_value(given, facts) else { continue };
        match part {
            Part::FirstName => patch["first_name"] = value,
            Part::LastName => patch["last_name"] = value,
            Part::Unsubscribed => patch["unsubscribed"] = value,
            Part::Property(key) => patch["properties"][key] = value,
        }
    }
    let input = ContactInput::patch(&patch, moment.tenant).map_err(|problem| problem.message)?;
    contact(moment.tenant, id)?;
    moment.change_contact(id, |contact| input.apply(contact)).map_err(|problem| problem.message)?;
    Ok(None)
}

/// Deletes the contact.
pub(super) fn delete_contact(moment: Moment<'_>, id: Uuid) -> Done {
    moment.remove_contact(id).ok_or_else(|| CONTACT_DELETED.to_owned())?;
    Ok(None)
}

pub(super) fn add_to_segment(moment: Moment<'_>, id: Uuid, segment: Uuid) -> Done {
    moment.tenant.segments.get(segment).ok_or_else(|| format!("There is no segment {segment}."))?;
    contact(moment.tenant, id)?;
    moment.change_contact(id, |contact| contact.join(segment)).map_err(|problem| problem.message)?;
    Ok(None)
}
