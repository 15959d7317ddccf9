//! Step configurations, one type per step type.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    rule::{Rule, deserialize_present},
    value::RunValue,
};
use crate::types::{SegmentId, TemplateId, TopicId, lenient::null_default, serialize_sender};

/// The event that starts a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trigger {
    /// The event's name.
    pub event_name: String,
}

/// The duration of a delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delay {
    /// The duration in natural language, such as `30 minutes` or `1 day`.
    pub duration: String,
}

/// The segment to which the contact is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AddToSegment {
    /// The segment's ID.
    pub segment_id: SegmentId,
}

/// An email that an automation sends from a published template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct AutomationEmail {
    /// The template, and the values of its variables.
    pub template: AutomationTemplate,
    /// The subject; `None` for the template's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The sender; `None` for the template's.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "serialize_sender")]
    pub from: Option<String>,
    /// The `Reply-To` address; `None` for the template's.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "serialize_sender")]
    pub reply_to: Option<String>,
    /// The topic; the email is sent only if the contact's subscription to it allows it.
    #[serde(default, rename = "topic_id", skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicId>,
}

/// The template of an email that an automation sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AutomationTemplate {
    /// The template's ID or alias.
    pub id: TemplateId,
    /// The values of the template's variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_default")]
    pub variables: BTreeMap<String, RunValue>,
}

impl AutomationEmail {
    /// Creates an email from a published template, by its ID or alias.
    pub fn new(template: impl Into<TemplateId>) -> Self {
        let template = AutomationTemplate { id: template.into(), variables: BTreeMap::new() };
        Self { template, subject: None, from: None, reply_to: None, topic: None }
    }

    setters! {
        /// Sets a template variable to a string, a number, a boolean, or a value that the run resolves ([`RunValue::var`]). Pass arrays and objects of
        /// scalars as [`serde_json::Value`]. The specification documents only strings and numbers.
        variable(key: String, value: RunValue) => template.variables;
        /// Sets the subject, replacing the template's.
        subject: String;
        /// Sets the sender, replacing the template's: `email` or `Name <email>`.
        from: String;
        /// Sets the `Reply-To` address, replacing the template's.
        reply_to: String;
        /// Sets the topic: the email is sent only if the contact's subscription to it allows it.
        topic: TopicId;
    }
}

conversions! {
    AutomationEmail {
        &str: template => Self::new(template),
        TemplateId: template => Self::new(template),
        &TemplateId: template => Self::new(template),
    }
}

/// A wait that ends when an event is sent for the contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct WaitForEvent {
    /// The event's name.
    pub event_name: String,
    /// The timeout in natural language, such as `3 days`; `None` to wait indefinitely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// A condition that the event must meet; other events with the same name don't end the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_rule: Option<Rule>,
}

impl WaitForEvent {
    /// Creates a wait for an event with this name.
    pub fn new(event_name: impl Into<String>) -> Self {
        Self { event_name: event_name.into(), timeout: None, filter_rule: None }
    }

    setters! {
        /// Sets the timeout in natural language, such as `3 days`.
        timeout: String;
        /// Sets a condition on the awaited event, with fields such as `event.amount`.
        filter_rule: Rule;
    }
}

impl From<&str> for WaitForEvent {
    fn from(event_name: &str) -> Self {
        Self::new(event_name)
    }
}

/// Changes to a contact. Fields that aren't set are left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[must_use]
pub struct ContactUpdate {
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_present")]
    pub first_name: Option<RunValue>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_present")]
    pub last_name: Option<RunValue>,
    /// Whether the contact is unsubscribed from all broadcasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribed: Option<RunValue>,
    /// The contact's properties, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_default")]
    pub properties: BTreeMap<String, RunValue>,
}

impl ContactUpdate {
    /// Creates an update without changes.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the first name; [`RunValue::null`] clears it.
        first_name: RunValue;
        /// Sets the last name; [`RunValue::null`] clears it.
        last_name: RunValue;
        /// Sets whether the contact is unsubscribed from all broadcasts.
        unsubscribed: RunValue;
        /// Sets a property; [`RunValue::null`] clears it.
        property(key: String, value: RunValue) => properties;
    }
}
