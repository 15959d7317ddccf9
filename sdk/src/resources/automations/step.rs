//! Steps of an automation.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    action::{AddToSegment, AutomationEmail, ContactUpdate, Delay, Trigger, WaitForEvent},
    rule::Rule,
};
use crate::types::SegmentId;

/// A step of an automation: its action, and the key that connections refer to.
///
/// Configuration fields that this version doesn't know are preserved and sent back with the step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The step's key, unique within the automation.
    pub key: String,
    /// The action.
    pub action: Action,
    /// The unknown fields of the configuration.
    rest: Map<String, Value>,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Starts a run when an event is sent.
    Trigger(Trigger),
    /// Sends the contact an email from a published template.
    SendEmail(AutomationEmail),
    /// Waits for a duration.
    Delay(Delay),
    /// Waits until an event is sent for the contact.
    WaitForEvent(WaitForEvent),
    /// Branches on a condition.
    Condition(Rule),
    /// Updates the contact.
    ContactUpdate(ContactUpdate),
    /// Deletes the contact.
    ContactDelete,
    /// Adds the contact to a segment.
    AddToSegment(AddToSegment),
    /// A step that this version of the client doesn't know, or whose configuration it can't read.
    Unknown {
        /// The type on the wire.
        kind: String,
        /// The configuration as returned by the service.
        config: Value,
    },
}

impl Step {
    /// Creates a step with any action.
    pub fn new(key: impl Into<String>, action: Action) -> Self {
        Self { key: key.into(), action, rest: Map::new() }
    }

    /// Starts a run when an event of this name is sent. Every automation has at least one trigger.
    pub fn trigger(key: impl Into<String>, event_name: impl Into<String>) -> Self {
        Self::new(key, Action::Trigger(Trigger { event_name: event_name.into() }))
    }

    /// Sends the contact an email. Accepts a template's ID or alias, or an [`AutomationEmail`] with more options.
    pub fn send_email(key: impl Into<String>, email: impl Into<AutomationEmail>) -> Self {
        Self::new(key, Action::SendEmail(email.into()))
    }

    /// Waits for a duration in natural language, such as `30 minutes` or `1 day`; at most 30 days.
    pub fn delay(key: impl Into<String>, duration: impl Into<String>) -> Self {
        Self::new(key, Action::Delay(Delay { duration: duration.into() }))
    }

    /// Waits until an event is sent for the contact. Accepts the event's name, or a [`WaitForEvent`] with more options.
    pub fn wait_for_event(key: impl Into<String>, wait: impl Into<WaitForEvent>) -> Self {
        Self::new(key, Action::WaitForEvent(wait.into()))
    }

    /// Branches on a condition.
    pub fn condition(key: impl Into<String>, rule: Rule) -> Self {
        Self::new(key, Action::Condition(rule))
    }

    /// Updates the contact.
    pub fn contact_update(key: impl Into<String>, update: ContactUpdate) -> Self {
        Self::new(key, Action::ContactUpdate(update))
    }

    /// Deletes the contact. Later steps that need a contact fail.
    pub fn contact_delete(key: impl Into<String>) -> Self {
        Self::new(key, Action::ContactDelete)
    }

    /// Adds the contact to a segment.
    pub fn add_to_segment(key: impl Into<String>, segment: impl Into<SegmentId>) -> Self {
        Self::new(key, Action::AddToSegment(AddToSegment { segment_id: segment.into() }))
    }
}

impl Action {
    /// Returns the step's type on the wire, such as `send_email`.
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
        fn parse_action<T: DeserializeOwned>(config: &Value, action: fn(T) -> Action) -> Option<Action> {
            T::deserialize(config).ok().map(action)
        }
        let action = match kind.as_str() {
            "trigger" => parse_action(&config, Self::Trigger),
            "send_email" => parse_action(&config, Self::SendEmail),
            "delay" => parse_action(&config, Self::Delay),
            "wait_for_event" => parse_action(&config, Self::WaitForEvent),
            "condition" => parse_action(&config, Self::Condition),
            "contact_update" => parse_action(&config, Self::ContactUpdate),
            "contact_delete" if config.is_object() || config.is_null() => Some(Self::ContactDelete),
            "add_to_segment" => parse_action(&config, Self::AddToSegment),
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

strict!(Step);
json_field!(Step);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resources::automations::value::RunValue;

    #[test]
    fn every_step_round_trips_in_the_wire_format() {
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
                        .variable("VIP", true)
                        .variable("ITEMS", json!(["a", 1]))
                        .variable("PLAN", json!({"name": "pro"}))
                        .subject("Hi")
                        .topic("78261eea-8f8b-4381-83c6-79fa7120f1cf"),
                ),
                json!({"key": "mail", "type": "send_email", "config": {
                    "template": {"id": "welcome", "variables": {
                        "NAME": {"var": "event.name"}, "VIP": true, "ITEMS": ["a", 1], "PLAN": {"name": "pro"},
                    }}, "subject": "Hi", "topic_id": "78261eea-8f8b-4381-83c6-79fa7120f1cf",
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
    fn an_unknown_step_is_preserved() {
        for wire in [
            json!({"key": "sms", "type": "send_sms", "config": {"text": "Hi"}}),
            json!({"key": "pause", "type": "delay", "config": {"until": "monday"}}),
            json!({"key": "pause", "type": "delay", "config": {"duration": "1 day", "jitter": "1 hour"}}),
            json!({"key": "mail", "type": "send_email", "config": {"template": {"id": "a"}, "subject": null}}),
            json!({"key": "gone", "type": "contact_delete", "config": -1}),
            json!({"key": "gone", "type": "contact_delete", "config": {"later": 1}}),
        ] {
            let step: Step = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(serde_json::to_value(step).unwrap(), wire);
        }
    }
}
