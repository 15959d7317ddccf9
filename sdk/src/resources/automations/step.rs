//! Steps: what an automation does, one thing after the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::rule::{Rule, given};
use crate::types::{SegmentId, TemplateId};

/// One step of an automation: its key, by which connections name it, and what it does.
///
/// What the service says of a step beyond what this version knows is kept, and written back when the step is sent again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The step's name within the automation.
    pub key: String,
    /// What it does.
    pub action: Action,
    /// What its configuration holds beyond that.
    rest: Map<String, Value>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Starts a run when an event is sent.
    Trigger(Trigger),
    /// Sends the contact an email from a published template.
    SendEmail(AutomationEmail),
    /// Lets time pass.
    Delay(Delay),
    /// Waits until an event is sent for the contact.
    WaitForEvent(WaitForEvent),
    /// Chooses between two ways.
    Condition(Rule),
    /// Changes the contact.
    ContactUpdate(ContactUpdate),
    /// Deletes the contact.
    ContactDelete,
    /// Adds the contact to a segment.
    AddToSegment(AddToSegment),
    /// A step that this version of the client has no name for, or whose configuration it can't read.
    Unknown {
        /// Its type on the wire.
        kind: String,
        /// Its configuration as the service wrote it.
        config: Value,
    },
}

/// What starts a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trigger {
    /// The name of the event.
    pub event_name: String,
}

/// How long a run pauses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delay {
    /// The time in words: `30 minutes`, `1 day`.
    pub duration: String,
}

/// Where the contact is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AddToSegment {
    /// The segment's id.
    pub segment_id: SegmentId,
}

/// An email that an automation sends, from a published template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AutomationEmail {
    /// The template, and what its variables are replaced by.
    pub template: AutomationTemplate,
    /// The subject, if not the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The sender, if not the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where answers go, if not where the template says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// The template of an email that an automation sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AutomationTemplate {
    /// The template's id or alias.
    pub id: TemplateId,
    /// What its variables are replaced by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "or_empty")]
    pub variables: BTreeMap<String, RunValue>,
}

impl AutomationEmail {
    /// An email from this template, named by its id or alias.
    pub fn new(template: impl Into<TemplateId>) -> Self {
        let template = AutomationTemplate { id: template.into(), variables: BTreeMap::new() };
        Self { template, subject: None, from: None, reply_to: None }
    }

    /// What a variable of the template is replaced by: a text or a number, or what the run knows ([`RunValue::var`]).
    #[must_use]
    pub fn variable(mut self, key: impl Into<String>, value: impl Into<RunValue>) -> Self {
        self.template.variables.insert(key.into(), value.into());
        self
    }

    /// The subject instead of the template's.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// The sender instead of the template's: `email` or `Name <email>`.
    #[must_use]
    pub fn from(mut self, from: impl Into<String>) -> Self {
        self.from = Some(from.into());
        self
    }

    /// Where answers go, instead of where the template says.
    #[must_use]
    pub fn reply_to(mut self, address: impl Into<String>) -> Self {
        self.reply_to = Some(address.into());
        self
    }
}

impl From<&str> for AutomationEmail {
    fn from(template: &str) -> Self {
        Self::new(template)
    }
}

impl From<TemplateId> for AutomationEmail {
    fn from(template: TemplateId) -> Self {
        Self::new(template)
    }
}

impl From<&TemplateId> for AutomationEmail {
    fn from(template: &TemplateId) -> Self {
        Self::new(template)
    }
}

/// A pause that ends when an event is sent for the contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WaitForEvent {
    /// The name of the event.
    pub event_name: String,
    /// The longest to wait, in words: `3 days`. Without it the run waits until the event comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// What the event must be like; another one of the same name does not end the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rule: Option<Rule>,
}

impl WaitForEvent {
    /// Waits for an event of this name.
    pub fn new(event_name: impl Into<String>) -> Self {
        Self { event_name: event_name.into(), timeout: None, filter_rule: None }
    }

    /// The longest to wait, in words: `3 days`.
    #[must_use]
    pub fn timeout(mut self, duration: impl Into<String>) -> Self {
        self.timeout = Some(duration.into());
        self
    }

    /// What the event must be like. Its fields are those of the event that is waited for: `event.amount`.
    #[must_use]
    pub fn filter_rule(mut self, rule: Rule) -> Self {
        self.filter_rule = Some(rule);
        self
    }
}

impl From<&str> for WaitForEvent {
    fn from(event_name: &str) -> Self {
        Self::new(event_name)
    }
}

/// What changes about a contact. What is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContactUpdate {
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub first_name: Option<RunValue>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub last_name: Option<RunValue>,
    /// Whether the contact gets no broadcasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed: Option<RunValue>,
    /// The contact's properties, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "or_empty")]
    pub properties: BTreeMap<String, RunValue>,
}

impl ContactUpdate {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first name; [`RunValue::null`] clears it.
    #[must_use]
    pub fn first_name(mut self, name: impl Into<RunValue>) -> Self {
        self.first_name = Some(name.into());
        self
    }

    /// The last name; [`RunValue::null`] clears it.
    #[must_use]
    pub fn last_name(mut self, name: impl Into<RunValue>) -> Self {
        self.last_name = Some(name.into());
        self
    }

    /// Whether the contact gets no broadcasts.
    #[must_use]
    pub fn unsubscribed(mut self, unsubscribed: impl Into<RunValue>) -> Self {
        self.unsubscribed = Some(unsubscribed.into());
        self
    }

    /// A property; [`RunValue::null`] clears it.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<RunValue>) -> Self {
        self.properties.insert(key.into(), value.into());
        self
    }
}

/// A value that is fixed in the definition, or taken from what the run knows when it gets there.
///
/// ```
/// use posthaste::RunValue;
///
/// assert_eq!(serde_json::to_string(&RunValue::from("Ada"))?, r#""Ada""#);
/// assert_eq!(serde_json::to_string(&RunValue::var("event.plan"))?, r#"{"var":"event.plan"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum RunValue {
    /// Taken from the event that started the run, or from the contact: `event.plan`, `contact.first_name`.
    Var {
        /// Where it comes from.
        var: String,
    },
    /// The same in every run.
    Fixed(Value),
}

impl RunValue {
    /// Takes the value from the event that started the run, or from the contact: `event.plan`, `contact.first_name`.
    pub fn var(name: impl Into<String>) -> Self {
        Self::Var { var: name.into() }
    }

    /// Null, which clears what is set to it.
    pub fn null() -> Self {
        Self::Fixed(Value::Null)
    }
}

macro_rules! fixed_values {
    ($($of:ty),+) => {
        $(impl From<$of> for RunValue {
            fn from(value: $of) -> Self {
                Self::Fixed(Value::from(value))
            }
        })+
    };
}

fixed_values!(&str, String, bool, i32, i64, u32, u64, f64, Value);

fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Step {
    /// A step of one's own making.
    pub fn new(key: impl Into<String>, action: Action) -> Self {
        Self { key: key.into(), action, rest: Map::new() }
    }

    /// Starts a run when an event of this name is sent. Every automation has at least one.
    pub fn trigger(key: impl Into<String>, event_name: impl Into<String>) -> Self {
        Self::new(key, Action::Trigger(Trigger { event_name: event_name.into() }))
    }

    /// Sends the contact an email. A template's id or alias is enough where nothing else is to be said.
    pub fn send_email(key: impl Into<String>, email: impl Into<AutomationEmail>) -> Self {
        Self::new(key, Action::SendEmail(email.into()))
    }

    /// Lets time pass, in words: `30 minutes`, `1 day`; at most 30 days.
    pub fn delay(key: impl Into<String>, duration: impl Into<String>) -> Self {
        Self::new(key, Action::Delay(Delay { duration: duration.into() }))
    }

    /// Waits until an event is sent for the contact. The event's name is enough where nothing else is to be said.
    pub fn wait_for_event(key: impl Into<String>, wait: impl Into<WaitForEvent>) -> Self {
        Self::new(key, Action::WaitForEvent(wait.into()))
    }

    /// Chooses between two ways.
    pub fn condition(key: impl Into<String>, rule: Rule) -> Self {
        Self::new(key, Action::Condition(rule))
    }

    /// Changes the contact.
    pub fn contact_update(key: impl Into<String>, update: ContactUpdate) -> Self {
        Self::new(key, Action::ContactUpdate(update))
    }

    /// Deletes the contact. Steps behind it that need a contact fail.
    pub fn contact_delete(key: impl Into<String>) -> Self {
        Self::new(key, Action::ContactDelete)
    }

    /// Adds the contact to a segment.
    pub fn add_to_segment(key: impl Into<String>, segment: impl Into<SegmentId>) -> Self {
        Self::new(key, Action::AddToSegment(AddToSegment { segment_id: segment.into() }))
    }
}

impl Action {
    /// The step's type on the wire: `send_email`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Trigger(_) => "trigger",
            Self::SendEmail(_) => "send_email",
            Self::Delay(_) => "delay",
            Self::WaitForEvent(_) => "wait_for_event",
            Self::Condition(_) => "condition",
            Self::ContactUpdate(_) => "contact_update",
            Self::ContactDelete => "contact_delete",
            Self::AddToSegment(_) => "add_to_segment",
            Self::Unknown { kind, .. } => kind,
        }
    }

    fn config(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Trigger(config) => serde_json::to_value(config),
            Self::SendEmail(config) => serde_json::to_value(config),
            Self::Delay(config) => serde_json::to_value(config),
            Self::WaitForEvent(config) => serde_json::to_value(config),
            Self::Condition(config) => serde_json::to_value(config),
            Self::ContactUpdate(config) => serde_json::to_value(config),
            Self::ContactDelete => Ok(Value::Object(Map::new())),
            Self::AddToSegment(config) => serde_json::to_value(config),
            Self::Unknown { config, .. } => Ok(config.clone()),
        }
    }

    fn read(kind: String, config: Value) -> Self {
        fn known<T: DeserializeOwned>(config: &Value, action: fn(T) -> Action) -> Option<Action> {
            T::deserialize(config).ok().map(action)
        }
        let action = match kind.as_str() {
            "trigger" => known(&config, Self::Trigger),
            "send_email" => known(&config, Self::SendEmail),
            "delay" => known(&config, Self::Delay),
            "wait_for_event" => known(&config, Self::WaitForEvent),
            "condition" => known(&config, Self::Condition),
            "contact_update" => known(&config, Self::ContactUpdate),
            "contact_delete" => Some(Self::ContactDelete),
            "add_to_segment" => known(&config, Self::AddToSegment),
            _ => None,
        };
        action.unwrap_or(Self::Unknown { kind, config })
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    key: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    config: Value,
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut config = self.action.config().map_err(serde::ser::Error::custom)?;
        if let Some(fields) = config.as_object_mut() {
            for (name, value) in &self.rest {
                fields.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        Wire { key: self.key.clone(), kind: self.action.kind().to_owned(), config }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire { key, kind, config } = Wire::deserialize(deserializer)?;
        let mut rest = config.as_object().cloned().unwrap_or_default();
        let action = Action::read(kind, config);
        if let Ok(Value::Object(fields)) = action.config() {
            rest.retain(|name, _| !fields.contains_key(name));
        }
        Ok(Self { key, action, rest })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_step_is_written_and_read_as_the_service_does() {
        let steps = [
            (
                Step::trigger("start", "user.created"),
                json!({"key": "start", "type": "trigger", "config": {"event_name": "user.created"}}),
            ),
            (
                Step::send_email(
                    "mail",
                    AutomationEmail::new("welcome")
                        .variable("NAME", RunValue::var("event.name"))
                        .subject("Hi"),
                ),
                json!({"key": "mail", "type": "send_email", "config": {
                    "template": {"id": "welcome", "variables": {"NAME": {"var": "event.name"}}}, "subject": "Hi",
                }}),
            ),
            (
                Step::delay("pause", "30 minutes"),
                json!({"key": "pause", "type": "delay", "config": {"duration": "30 minutes"}}),
            ),
            (
                Step::wait_for_event(
                    "paid",
                    WaitForEvent::new("paid").timeout("3 days").filter_rule(Rule::exists("event.amount")),
                ),
                json!({"key": "paid", "type": "wait_for_event", "config": {"event_name": "paid", "timeout": "3 days",
                    "filter_rule": {"type": "rule", "field": "event.amount", "operator": "exists"}}}),
            ),
            (
                Step::condition("pro", Rule::equals("event.plan", "pro")),
                json!({"key": "pro", "type": "condition", "config":
                    {"type": "rule", "field": "event.plan", "operator": "eq", "value": "pro"}}),
            ),
            (
                Step::contact_update(
                    "note",
                    ContactUpdate::new().first_name(RunValue::null()).unsubscribed(true).property("seats", 5),
                ),
                json!({"key": "note", "type": "contact_update", "config":
                    {"first_name": null, "unsubscribed": true, "properties": {"seats": 5}}}),
            ),
            (Step::contact_delete("gone"), json!({"key": "gone", "type": "contact_delete", "config": {}})),
            (
                Step::add_to_segment("add", "78261eea-8f8b-4381-83c6-79fa7120f1cf"),
                json!({"key": "add", "type": "add_to_segment", "config":
                    {"segment_id": "78261eea-8f8b-4381-83c6-79fa7120f1cf"}}),
            ),
        ];
        for (step, wire) in steps {
            assert_eq!(serde_json::to_value(&step).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Step>(wire).unwrap(), step);
        }
    }

    #[test]
    fn a_step_of_tomorrow_is_kept_as_it_came() {
        for wire in [
            json!({"key": "sms", "type": "send_sms", "config": {"text": "Hi"}}),
            json!({"key": "pause", "type": "delay", "config": {"until": "monday"}}),
            json!({"key": "pause", "type": "delay", "config": {"duration": "1 day", "jitter": "1 hour"}}),
            json!({"key": "mail", "type": "send_email", "config": {"template": {"id": "a"}, "subject": null}}),
        ] {
            let step: Step = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(serde_json::to_value(step).unwrap(), wire);
        }
    }
}
