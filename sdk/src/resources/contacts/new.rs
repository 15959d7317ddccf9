//! The input of a contact creation.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::property;
use crate::{
    problem::{Problem, Problems},
    resources::shared::{PropertyValue, Subscription, subscription_problem},
    types::{SegmentId, TopicId},
};

input! {
    /// A contact to create with [`Contacts::create`](super::Contacts::create).
    ///
    /// ```
    /// use posthaste::{NewContact, Subscription};
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
        /// Creates a contact with an address, `local@domain`, without a display name.
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
            properties: BTreeMap<String, PropertyValue>,
            #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "named_by_id")]
            segments: Vec<SegmentId>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            topics: Vec<Choice>,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Choice {
    pub(super) id: TopicId,
    pub(super) subscription: Subscription,
}

impl NewContact {
    /// Sets a property. Its key is that of an existing contact property: ASCII letters, digits and underscores, at most 50 characters. The
    /// value has the property's type.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<PropertyValue>) -> Self {
        self.properties.insert(key.into(), value.into());
        self
    }

    /// Adds the contact to a segment.
    #[must_use]
    pub fn segment(mut self, segment: impl Into<SegmentId>) -> Self {
        self.segments.push(segment.into());
        self
    }

    /// Sets the subscription to a topic.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<TopicId>, subscription: Subscription) -> Self {
        self.topics.push(Choice { id: topic.into(), subscription });
        self
    }

    /// Validates the input. Only the service knows which properties, segments and topics exist.
    ///
    /// # Errors
    /// All problems at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.email.trim().is_empty() {
            problems.push(Problem::new("/email", "required", "`email` is required"));
        } else {
            check_email(&self.email, &mut problems);
        }
        check_name("first_name", self.first_name.as_deref(), &mut problems);
        check_name("last_name", self.last_name.as_deref(), &mut problems);
        for (key, value) in &self.properties {
            property::check(key, Some(value), &mut problems);
        }
        for (i, segment) in self.segments.iter().enumerate() {
            check_id(&format!("/segments/{i}/id"), segment.as_str(), &mut problems);
        }
        for (i, topic) in self.topics.iter().enumerate() {
            check_id(&format!("/topics/{i}/id"), topic.id.as_str(), &mut problems);
            problems.extend(subscription_problem(&format!("/topics/{i}/subscription"), &topic.subscription));
        }
        problems
    }
}

pub(super) fn check_id(at: &str, id: &str, problems: &mut Vec<Problem>) {
    if id.is_empty() {
        problems.push(Problem::new(at, "empty", "an id must not be empty"));
    }
}

pub(super) fn check_email(email: &str, problems: &mut Vec<Problem>) {
    let bare = !email.trim_end().ends_with('>') && email.trim() == email;
    let fault = crate::problem::address_fault(email).or_else(|| {
        (!bare).then_some(("address", "a contact's address has neither a name nor white space around it"))
    });
    if let Some((code, rule)) = fault {
        problems.push(Problem::new("/email", code, rule).found(email.escape_debug()));
    }
}

pub(super) fn check_name(field: &str, name: Option<&str>, problems: &mut Vec<Problem>) {
    if let Some(name) = name.filter(|name| name.contains(|c: char| c.is_ascii_control())) {
        let rule = format!("`{field}` must not hold control characters such as line breaks");
        problems.push(Problem::new(format!("/{field}"), "header", rule).found(name.escape_debug()));
    }
}

/// On the wire a segment is `{id}`.
fn named_by_id<S: Serializer>(segments: &[SegmentId], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        id: &'a SegmentId,
    }
    serializer.collect_seq(segments.iter().map(|id| Named { id }))
}

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
