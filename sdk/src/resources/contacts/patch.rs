//! A change of a contact.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    new::check_email,
    property::{self, PropertyValue},
};
use crate::{problem::Validator, types::Patch};

/// What to change of a contact: [`Contacts::update`](super::Contacts::update). What is not named stays.
///
/// ```
/// use posthaste::ContactPatch;
///
/// let patch = ContactPatch::new().clear_last_name().property("city", "Paris").clear_property("plan");
/// assert!(patch.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct ContactPatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    email: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    first_name: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    last_name: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    unsubscribed: Patch<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<String, Patch<PropertyValue>>,
}

impl ContactPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another address. The sandbox refuses that of another contact with 409; the specification is silent here.
    #[must_use]
    pub fn email(mut self, email: impl Into<String>) -> Self {
        self.email = Patch::Set(email.into());
        self
    }

    /// Another first name.
    #[must_use]
    pub fn first_name(mut self, name: impl Into<String>) -> Self {
        self.first_name = Patch::Set(name.into());
        self
    }

    /// No first name.
    #[must_use]
    pub fn clear_first_name(mut self) -> Self {
        self.first_name = Patch::Clear;
        self
    }

    /// Another family name.
    #[must_use]
    pub fn last_name(mut self, name: impl Into<String>) -> Self {
        self.last_name = Patch::Set(name.into());
        self
    }

    /// No family name.
    #[must_use]
    pub fn clear_last_name(mut self) -> Self {
        self.last_name = Patch::Clear;
        self
    }

    /// Whether the contact wants no broadcast at all.
    #[must_use]
    pub fn unsubscribed(mut self, unsubscribed: bool) -> Self {
        self.unsubscribed = Patch::Set(unsubscribed);
        self
    }

    /// Sets one property; see [`NewContact::property`](super::NewContact::property).
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<PropertyValue>) -> Self {
        self.properties.insert(key.into(), Patch::Set(value.into()));
        self
    }

    /// Takes one property away.
    #[must_use]
    pub fn clear_property(mut self, key: impl Into<String>) -> Self {
        self.properties.insert(key.into(), Patch::Clear);
        self
    }

    fn validate(&self, v: &mut Validator) {
        if let Some(email) = self.email.value() {
            check_email(v, email);
        }
        v.one_line("first_name", self.first_name.text());
        v.one_line("last_name", self.last_name.text());
        v.field("properties", |v| {
            for (key, value) in &self.properties {
                v.field(key, |v| property::check(v, key, value.value()));
            }
        });
        let texts = [&self.email, &self.first_name, &self.last_name];
        let nothing = texts.into_iter().all(Patch::is_keep)
            && self.unsubscribed.is_keep()
            && self.properties.is_empty();
        if nothing {
            v.report("required", "a change names at least one field");
        }
    }
}

validate!(ContactPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_names_what_it_changes_and_clears_what_it_takes_away() {
        let patch = ContactPatch::new()
            .email("b@x.test")
            .first_name("Ada")
            .clear_last_name()
            .unsubscribed(true)
            .property("age", 36.5)
            .clear_property("city");
        let expected = json!({
            "email": "b@x.test", "first_name": "Ada", "last_name": null, "unsubscribed": true,
            "properties": {"age": 36.5, "city": null},
        });
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        let cleared = serde_json::to_value(ContactPatch::new().clear_first_name()).unwrap();
        assert_eq!(cleared, json!({"first_name": null}));
        let nothing = ContactPatch::new().check().unwrap_err();
        assert_eq!((nothing[0].path.as_str(), nothing[0].code), ("", "required"));
        let wrong = ContactPatch::new().email("x").last_name("\0").clear_property("a b");
        assert_eq!(wrong.check().unwrap_err().len(), 3);
    }
}
