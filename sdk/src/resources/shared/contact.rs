//! Contacts, in lists and with their properties.

use std::collections::BTreeMap;

use super::property::ContactPropertyValue;
use crate::types::{ContactId, Timestamp};

record! {
    /// A contact in a list, without its properties.
    pub struct ContactSummary {
        /// The contact's ID.
        pub id: ContactId,
        /// The email address.
        pub email: String,
        /// The first name.
        pub first_name: Option<String>,
        /// The last name.
        pub last_name: Option<String>,
        /// When the contact was created.
        pub created_at: Option<Timestamp>,
        /// Whether the contact has unsubscribed from all broadcasts; `None` if the response contains no readable value. Send only if it is
        /// `Some(false)`.
        pub unsubscribed: Option<bool>,
    }

    /// A contact with its properties: `GET /contacts/{id_or_email}`. (The specification names the operation but doesn't define the fields.)
    pub struct Contact: ContactSummary {
        /// The contact properties by key.
        pub properties: BTreeMap<String, ContactPropertyValue>,
    }
}

items!(ContactSummary);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::types::Scalar;

    #[test]
    fn unreadable_consent_is_neither_subscribed_nor_unsubscribed() {
        for (sent, read) in [
            (json!({}), None),
            (json!({"unsubscribed": null}), None),
            (json!({"unsubscribed": "yes"}), None),
            (json!({"unsubscribed": 2}), None),
            (json!({"unsubscribed": []}), None),
            (json!({"unsubscribed": "true"}), Some(true)),
            (json!({"unsubscribed": false}), Some(false)),
        ] {
            let mut contact = json!({"id": "c1", "email": "ada@example.com"});
            contact.as_object_mut().unwrap().extend(sent.as_object().unwrap().clone());
            let (listed, whole) = (
                from_value::<ContactSummary>(contact.clone()).unwrap(),
                from_value::<Contact>(contact).unwrap(),
            );
            assert_eq!((listed.unsubscribed, whole.unsubscribed), (read, read), "{sent}");
            let kept = listed.malformed_fields().next().map(|(_, value)| value.clone());
            let unusual = Some(&sent["unsubscribed"]).filter(|value| !value.is_null() && !value.is_boolean());
            assert_eq!(kept.as_ref(), unusual, "{sent}");
            assert_eq!(to_value(&listed).unwrap()["unsubscribed"], sent["unsubscribed"]);
        }
    }

    #[test]
    fn plain_property_values_are_read_like_typed_ones() {
        let properties = json!({
            "tier": "premium", "age": 36, "vip": true, "empty": null, "list": [1], "object": {"a": 1}, "typed": {"type": 5, "value": false},
        });
        let contact: Contact =
            from_value(json!({"id": "c1", "email": "ada@example.com", "properties": properties})).unwrap();
        assert_eq!(contact.properties["tier"].value, Scalar::from("premium"));
        assert_eq!(contact.properties["age"].value, Scalar::from(36));
        assert_eq!(contact.properties["vip"].value, Scalar::from(true));
        assert_eq!(contact.properties["typed"].value, Scalar::Boolean(false));
        assert_eq!(contact.properties["object"].value, Scalar::Other(json!({"a": 1})));
        assert!(contact.properties["tier"].kind.is_none());
        assert_eq!(to_value(&contact).unwrap()["properties"], properties);
    }
}
