//! The input for creating a contact.

use std::collections::BTreeMap;

use super::property;
use crate::{
    problem::Validator,
    resources::shared::{Choice, Memberships, Subscription},
    types::{Scalar, SegmentId, TopicId},
};

input! {
    /// A contact to create with [`Contacts::create`](super::Contacts::create).
    ///
    /// ```
    /// use idempost::{contacts::NewContact, topics::Subscription};
    ///
    /// let ada = NewContact::new("ada@example.com")
    ///     .first_name("Ada")
    ///     .property("city", "London")
    ///     .segment("78261eea-8f8b-4381-83c6-79fa7120f1cf")
    ///     .topic("b6d24b8e-af0b-4c3c-be0c-359bbd97381e", Subscription::OptIn);
    /// assert!(ada.check().is_ok());
    /// assert!(NewContact::new("Ada <ada@example.com>").check().is_err());
    /// ```
    pub struct NewContact {
        /// Creates a contact with an address of the form `local@domain`, without a display name.
        new(email: String);
        optional {
            /// Sets the first name.
            first_name: String,
            /// Sets the last name.
            last_name: String,
            /// Sets whether the contact has unsubscribed from all broadcasts.
            unsubscribed: bool,
        }
        other {
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            properties: BTreeMap<String, Scalar>,
            #[serde(skip_serializing_if = "Memberships::is_empty")]
            segments: Memberships,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            topics: Vec<Choice>,
        }
    }
}

impl NewContact {
    setters! {
        /// Sets a property, by the key of an existing contact property: ASCII letters, digits and underscores, at most 50 characters. The value must
        /// match the property's type.
        property(key: String, value: Scalar) => properties;
        /// Adds the contact to a segment.
        segment += SegmentId => segments;
    }

    /// Sets the subscription to a topic.
    pub fn topic(mut self, topic: impl Into<TopicId>, subscription: Subscription) -> Self {
        self.topics.push(Choice { id: topic.into(), subscription });
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.required_address("email", &self.email);
        v.check_one_line("first_name", self.first_name.as_deref());
        v.check_one_line("last_name", self.last_name.as_deref());
        v.field("properties", |v| {
            for (key, value) in &self.properties {
                v.field(key, |v| property::check(v, key, Some(value)));
            }
        });
        self.segments.validate(v);
        v.for_each_item("topics", &self.topics, |v, topic| topic.validate(v));
    }
}

validate!(NewContact);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_was_set_is_sent_and_nothing_else() {
        let contact = NewContact::new("ada@example.com")
            .first_name("Ada")
            .last_name("")
            .unsubscribed(false)
            .property("city", "London")
            .property("age", 36)
            .segment("s1")
            .segment("s2")
            .topic("t1", Subscription::OptOut);
        let expected = json!({
            "email": "ada@example.com", "first_name": "Ada", "last_name": "", "unsubscribed": false,
            "properties": {"city": "London", "age": 36}, "segments": [{"id": "s1"}, {"id": "s2"}],
            "topics": [{"id": "t1", "subscription": "opt_out"}],
        });
        assert_eq!(serde_json::to_value(&contact).unwrap(), expected);
        assert_eq!(serde_json::to_value(NewContact::new("a@b.c")).unwrap(), json!({"email": "a@b.c"}));
        assert!(contact.check().is_ok());
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let contact = NewContact::new("Ada <ada@example.com>")
            .first_name("A\nda")
            .property("", 1)
            .property("ü", 1)
            .property("k".repeat(50), f64::NAN)
            .property("l".repeat(51), "x")
            .segment("")
            .topic("", Subscription::OptIn);
        let problems = contact.check().unwrap_err().into_vec();
        let found: Vec<_> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(found, ["address", "header", "empty", "type", "length", "charset", "empty", "empty"]);
        let code = |email: &str| NewContact::new(email).check().err().map(|problems| problems[0].code);
        assert_eq!(code(""), Some("required"));
        assert_eq!(code(" a@b.c"), Some("address"));
        assert_eq!(code("a@b.c, d@e.f"), Some("address"));
        for fine in ["a+b/c#d%e?f@x.test", "müller@bücher.test", "\"a b\"@x.test"] {
            assert_eq!(code(fine), None, "{fine}");
        }
    }
}
