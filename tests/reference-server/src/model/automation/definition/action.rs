//! The actions of steps, with their configuration.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::model::automation::duration;
use crate::model::automation::rule::{Rule, read_variable};
use crate::model::email::recipients::Mailbox;
use crate::wire::{Checked, Field, Fields, line, non_empty, string, uuid};

/// The step types.
pub const KINDS: [&str; 8] = [
    "trigger",
    "send_email",
    "delay",
    "wait_for_event",
    "condition",
    "contact_update",
    "contact_delete",
    "add_to_segment",
];

/// The action of a step.
#[derive(Debug, Deserialize, Serialize)]
pub enum Action {
    Trigger { event_name: String },
    SendEmail(EmailAction),
    Delay(SignedDuration),
    WaitForEvent { event_name: String, timeout: Option<SignedDuration>, filter: Option<Rule> },
    Condition(Rule),
    ContactUpdate(Vec<(Part, ValueSource)>),
    ContactDelete,
    AddToSegment(Uuid),
}

/// Sends an email from a template.
#[derive(Debug, Deserialize, Serialize)]
pub struct EmailAction {
    /// The template's ID or alias.
    pub template: String,
    pub variables: Vec<(String, ValueSource)>,
    pub subject: Option<String>,
    pub from: Option<String>,
    pub reply_to: Option<String>,
    /// The topic whose subscription decides whether the contact gets it.
    pub topic: Option<Uuid>,
}

/// The field of a contact that changes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Part {
    FirstName,
    LastName,
    Unsubscribed,
    Property(String),
}

/// A value, or the name of a variable of the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum ValueSource {
    Fixed(Value),
    Var(String),
}

impl Action {
    /// Reads the configuration of a step of this kind.
    pub fn read(kind: &str, config: &Field<'_>) -> Checked<Self> {
        if kind == "condition" {
            return Rule::read(config).map(Self::Condition);
        }
        config.object(|fields| match kind {
            "trigger" => Ok(Self::Trigger { event_name: fields.required("event_name", non_empty)? }),
            "send_email" => EmailAction::read(fields).map(Self::SendEmail),
            "delay" => fields.required("duration", read_duration).map(Self::Delay),
            "wait_for_event" => read_wait(fields),
            "contact_update" => read_update(fields).map(Self::ContactUpdate),
            "contact_delete" => Ok(Self::ContactDelete),
            _ => fields.required("segment_id", read_segment).map(Self::AddToSegment),
        })
    }
}

fn read_duration(field: &Field<'_>) -> Checked<SignedDuration> {
    non_empty(field)?;
    field.parse_with(duration::read)
}

fn read_segment(field: &Field<'_>) -> Checked<Uuid> {
    non_empty(field)?;
    uuid(field)
}

fn read_wait(fields: &mut Fields<'_>) -> Checked<Action> {
    let event_name = fields.required("event_name", non_empty);
    let timeout = fields.optional("timeout", |field| field.parse_with(duration::read));
    let filter = fields.optional("filter_rule", Rule::read);
    Ok(Action::WaitForEvent { event_name: event_name?, timeout: timeout?, filter: filter? })
}

fn read_update(fields: &mut Fields<'_>) -> Checked<Vec<(Part, ValueSource)>> {
    let mut name = |field, part: Part| {
        let given = fields.nullable(field, |field| {
            ValueSource::read(field, "a string, null", |value| value.is_string() || value.is_null())
        });
        given.map(|given| Some((part, given?)))
    };
    let (first, last) = (name("first_name", Part::FirstName), name("last_name", Part::LastName));
    let unsubscribed = fields.nullable("unsubscribed", |field| {
        Ok((Part::Unsubscribed, ValueSource::read(field, "a boolean", Value::is_boolean)?))
    });
    let properties =
        ValueSource::read_map(fields, "properties", "a string, a number, a boolean, null", |value| {
            !value.is_array() && !value.is_object()
        });
    let parts = [first?, last?, unsubscribed?].into_iter().flatten();
    let properties = properties?.into_iter().map(|(key, given)| (Part::Property(key), given));
    Ok(parts.chain(properties).collect())
}

impl EmailAction {
    fn read(fields: &mut Fields<'_>) -> Checked<Self> {
        let subject = fields.optional("subject", line);
        let from = fields.optional("from", |field| {
            Mailbox::read_sender(field)?;
            string(field)
        });
        let reply_to = fields.optional("reply_to", |field| {
            Mailbox::read(field)?;
            string(field)
        });
        let template = fields.required("template", |template| {
            template.object(|fields| {
                let id = fields.required("id", non_empty);
                let variables = ValueSource::read_map(
                    fields,
                    "variables",
                    "a string, a number, a boolean, an array, an object of scalars",
                    is_variable,
                );
                Ok((id?, variables?))
            })
        });
        let topic = fields.optional("topic_id", uuid);
        let (subject, from, reply_to, (template, variables)) = (subject?, from?, reply_to?, template?);
        Ok(Self { template, variables, subject, from, reply_to, topic: topic? })
    }
}

/// Whether a template variable can have this value: no null, and no nested objects.
fn is_variable(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => !fields.values().any(|value| value.is_array() || value.is_object()),
        _ => true,
    }
}

impl ValueSource {
    /// Reads a value, or a reference `{"var": …}`; `what` names the accepted types.
    fn read(field: &Field<'_>, what: &str, right: impl Fn(&Value) -> bool) -> Checked<Self> {
        let value = field.value();
        let is_object = |value: &Value| value.is_object() && (value.get("var").is_some() || !right(value));
        if value.as_ref().is_some_and(is_object) {
            return field.object(|fields| fields.required("var", read_variable)).map(Self::Var);
        }
        let value = value.filter(right).map(Self::Fixed);
        value.ok_or_else(|| field.reject_type(format_args!("{what} or {{\"var\": …}}")))
    }

    /// Reads an optional object of such values.
    fn read_map(
        fields: &mut Fields<'_>,
        name: &str,
        what: &str,
        right: impl Fn(&Value) -> bool,
    ) -> Checked<Vec<(String, Self)>> {
        let given = fields.optional(name, |field| {
            field.object(|values| {
                values.each(|key, value| Ok((key.to_owned(), Self::read(value, what, &right)?)))
            })
        });
        Ok(given?.unwrap_or_default())
    }
}
