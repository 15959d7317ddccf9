//! A version of a template's content, and its rendering.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::content::placeholders::{
    MAX_TEXT_BYTES, Placeholder, fill_within, find_placeholders, to_header_line,
};
use crate::model::email::bodies::Bodies;
use crate::model::email::personalized::{RecipientValues, is_unsubscribe};
use crate::model::email::recipients::Mailbox;
use crate::model::value::{PropertyValue, ValueType};
use crate::wire::is_reserved;

/// An immutable version, created by an edit and fixed by publishing.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Version {
    pub id: Uuid,
    pub from: Option<Mailbox>,
    pub subject: Option<String>,
    pub reply_to: Option<Vec<Mailbox>>,
    pub html: String,
    /// `None`: derived from the HTML. Empty: no text.
    pub text: Option<String>,
    pub variables: Vec<Variable>,
}

/// The definition of a variable.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Variable {
    pub id: Uuid,
    pub key: String,
    pub r#type: ValueType,
    pub fallback_value: Option<PropertyValue>,
    pub created_at: jiff::Timestamp,
}

/// A subject and bodies with every placeholder filled in.
#[derive(Debug)]
pub struct Rendered {
    pub subject: Option<String>,
    pub bodies: Bodies,
}

impl Version {
    /// The keys of missing values: used or defined variables without a fallback.
    pub fn missing_values(&self, given: &BTreeMap<String, PropertyValue>) -> Vec<String> {
        let texts = [Some(self.html.as_str()), self.text.as_deref(), self.subject.as_deref()];
        let used = texts.into_iter().flatten().flat_map(find_placeholders);
        let used =
            used.filter(|used| used.fallback.is_none() && is_variable(used.name)).map(|used| used.name);
        let defined = self.variables.iter().map(|variable| variable.key.as_str());
        let needed: BTreeSet<&str> = used.chain(defined).collect();
        let has_fallback =
            |key: &str| self.variables.iter().any(|one| one.key == key && one.fallback_value.is_some());
        needed
            .into_iter()
            .filter(|key| !given.contains_key(*key) && !has_fallback(key))
            .map(str::to_owned)
            .collect()
    }

    /// Renders the subject and the bodies for these values and this recipient; `None` if one of them would exceed [`MAX_TEXT_BYTES`].
    ///
    /// Every placeholder is replaced, so that none reaches a recipient: a reserved name, or one with a dot, that isn't a contact's field becomes its
    /// fallback, or nothing. Without a recipient, as in a preview, those that refer to one stay unchanged.
    pub fn render(
        &self,
        given: &BTreeMap<String, PropertyValue>,
        recipient: Option<RecipientValues<'_, '_>>,
    ) -> Option<Rendered> {
        let value = |placeholder: Placeholder<'_>| -> Option<Cow<'_, str>> {
            let Placeholder { name, fallback } = placeholder;
            let written = || fallback.map(|text| Cow::Owned(text.to_owned()));
            if is_variable(name) {
                let defined = || self.variables.iter().find(|one| one.key == name)?.fallback_value.as_ref();
                let value = given.get(name).or_else(defined).map(ToString::to_string);
                return value.map(Cow::Owned).or_else(written);
            }
            let recipient = recipient?;
            if recipient.link.is_none() {
                return recipient.value(placeholder);
            }
            recipient.value(placeholder).or_else(written).or(Some(Cow::Borrowed("")))
        };
        let html = Arc::from(fill_within(&self.html, MAX_TEXT_BYTES, value)?);
        let bodies = match self.text.as_deref() {
            None => Bodies::from_html(html),
            Some("") => Bodies::new(Some(html), None),
            Some(text) => Bodies::new(Some(html), Some(fill_within(text, MAX_TEXT_BYTES, value)?.into())),
        };
        let subject = match self.subject.as_deref() {
            None => None,
            Some(subject) => Some(to_header_line(&fill_within(subject, MAX_TEXT_BYTES, value)?)),
        };
        Some(Rendered { subject, bodies })
    }
}

fn is_variable(name: &str) -> bool {
    !name.contains('.') && !is_reserved(name) && !is_unsubscribe(name)
}
