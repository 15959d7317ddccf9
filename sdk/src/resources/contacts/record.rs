//! Contacts as the service shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::property::PropertyValue;
use crate::{
    client::Item,
    resources::contact_properties::PropertyType,
    types::{ContactId, SegmentId, Timestamp},
};

/// One contact with its properties: `GET /contacts/{id_or_email}`. (The specification does not show the record.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contact {
    /// The contact's id.
    pub id: ContactId,
    /// The address, as it was given.
    pub email: String,
    /// What the person is called.
    #[serde(default)]
    pub first_name: Option<String>,
    /// The family name.
    #[serde(default)]
    pub last_name: Option<String>,
    /// When the contact was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Whether the contact wants no broadcast at all; false when the service doesn't say.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub unsubscribed: bool,
    /// What is known about the contact beyond that, by key.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub properties: BTreeMap<String, HeldProperty>,
}

/// One property as a contact holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeldProperty {
    /// What kind of value it is.
    #[serde(default)]
    pub r#type: Option<PropertyType>,
    /// The value.
    pub value: PropertyValue,
}

/// A contact in a list: all of [`Contact`] but the properties.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContactSummary {
    /// The contact's id.
    pub id: ContactId,
    /// The address, as it was given.
    pub email: String,
    /// What the person is called.
    #[serde(default)]
    pub first_name: Option<String>,
    /// The family name.
    #[serde(default)]
    pub last_name: Option<String>,
    /// When the contact was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Whether the contact wants no broadcast at all; false when the service doesn't say.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub unsubscribed: bool,
}

impl Item for ContactSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The answer to the deletion of a contact. (The specification does not show it.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeletedContact {
    /// The id of the contact that is gone.
    #[serde(alias = "id")]
    pub contact: ContactId,
    /// Whether it is gone.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub deleted: bool,
}

/// The answer to a change of membership. (The specification shows none of it; descriptions of the format disagree on what the answer names.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Membership {
    /// What the service calls the answer's id: the segment's with some services, the contact's with others.
    #[serde(default)]
    pub id: Option<String>,
    /// Who was put in or taken out, if the service says it.
    #[serde(default)]
    pub contact_id: Option<ContactId>,
    /// The segment, if the service says it.
    #[serde(default)]
    pub segment_id: Option<SegmentId>,
    /// Whether the membership has ended.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub deleted: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_contact_is_read_with_everything_or_with_next_to_nothing() {
        let whole = json!({
            "object": "contact", "id": "c1", "email": "ada@example.com", "first_name": "Ada", "last_name": null,
            "created_at": "2026-03-02 12:00:00.000000+00", "unsubscribed": true, "later": {},
            "properties": {"city": {"type": "string", "value": "London"}, "age": {"type": "number", "value": 36},
                           "new": {"type": "shape", "value": {"a": 1}}},
        });
        let contact: Contact = serde_json::from_value(whole).unwrap();
        assert!(contact.unsubscribed);
        assert_eq!(contact.properties["city"].value, PropertyValue::from("London"));
        assert_eq!(contact.properties["age"].r#type, Some(PropertyType::Number));
        assert_eq!(contact.properties["age"].value, PropertyValue::from(36));
        assert_eq!(contact.properties["new"].value, PropertyValue::Other(json!({"a": 1})));
        let little =
            json!({"id": "c1", "email": "ada@example.com", "unsubscribed": null, "properties": null});
        let contact: Contact = serde_json::from_value(little).unwrap();
        assert!(!contact.unsubscribed && contact.properties.is_empty() && contact.created_at.is_none());
        let ended: Membership = serde_json::from_value(json!({"id": "s1", "deleted": true})).unwrap();
        assert!(ended.deleted && ended.segment_id.is_none());
    }
}
