//! The configurations of steps, by their types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    rule::{Rule, given},
    value::RunValue,
};
use crate::types::{SegmentId, TemplateId, lenient::null_default};

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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_default")]
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

    setters! {
        /// Sets the subject in place of the template's.
        subject: String;
        /// Sets the sender in place of the template's: `email` or `Name <email>`.
        from: String;
        /// Sets the address for replies in place of the template's.
        reply_to: String;
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

    setters! {
        /// Sets the longest time to wait, in words: `3 days`.
        timeout: String;
        /// Sets a condition on the event. Its fields are those of the awaited event: `event.amount`.
        filter_rule: Rule;
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
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_default")]
    pub properties: BTreeMap<String, RunValue>,
}

impl ContactUpdate {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the first name; [`RunValue::null`] clears it.
        first_name: RunValue;
        /// Sets the last name; [`RunValue::null`] clears it.
        last_name: RunValue;
        /// Sets whether the contact gets no broadcasts.
        unsubscribed: RunValue;
    }

    /// A property; [`RunValue::null`] clears it.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<RunValue>) -> Self {
        self.properties.insert(key.into(), value.into());
        self
    }
}
