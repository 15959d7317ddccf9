//! Contacts as the service returns them.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{
    resources::shared::Subscription,
    types::{ContactId, SegmentId, Timestamp, TopicId, lenient},
};

record! {
    /// The response to deleting a contact. (The specification doesn't define its fields.)
    #[derive(PartialEq, Eq)]
    pub struct DeletedContact {
        /// The ID of the deleted contact.
        pub contact as "contact" or "id": ContactId,
        /// Whether the contact is deleted.
        pub deleted: bool,
    }
}

record! {
    /// The response to a change of segment membership. (The specification doesn't define its fields, and descriptions of the API differ.)
    #[derive(PartialEq, Eq)]
    pub struct Membership {
        /// The ID in the response: the segment's or the contact's, depending on the service.
        pub id: Option<String>,
        /// The contact's ID, if the response contains it.
        pub contact_id: Option<ContactId>,
        /// The segment's ID, if the response contains it.
        pub segment_id: Option<SegmentId>,
        /// Whether the membership was removed.
        pub deleted: bool,
    }
}

record! {
    /// A contact's subscription to a topic (`docs/specification.md`, Contact topic subscription).
    #[derive(PartialEq, Eq)]
    pub struct TopicSubscription {
        /// The topic's ID.
        pub id: TopicId,
        /// The topic's name.
        pub name: String,
        /// The topic's description.
        pub description: Option<String>,
        /// The contact's subscription; the topic's default if the contact has none.
        pub subscription: Option<Subscription>,
        /// When the topic was created. The specification doesn't define this field.
        pub created_at: Option<Timestamp>,
    }
}

items!(TopicSubscription);

/// The response to [`Contacts::update_topics`](super::Contacts::update_topics).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UpdatedTopics {
    /// The contact's ID, even if the request used its address. (The specification doesn't define this response. Both known names of the field, `id`
    /// and `contact_id`, are accepted.)
    pub id: ContactId,
}

impl<'de> Deserialize<'de> for UpdatedTopics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = lenient::fields(deserializer, &[&["contact_id", "id"]])?;
        fields.take().map(|id| Self { id }).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn both_known_responses_to_a_topic_update_have_the_contact_id() {
        for answer in [
            json!({ "object": "contact_topics", "id": "c1" }),
            json!({ "object": "contact", "contact_id": "c1", "topics": [] }),
            json!({ "id": "another record", "contact_id": "c1" }),
        ] {
            assert_eq!(from_value::<UpdatedTopics>(answer).unwrap().id.as_str(), "c1");
        }
        assert!(from_value::<UpdatedTopics>(json!({ "object": "contact_topics" })).is_err());
    }

    #[test]
    fn a_membership_is_decoded_from_every_known_response() {
        let ended: Membership = from_value(json!({"id": "s1", "deleted": true})).unwrap();
        assert!(ended.deleted && ended.segment_id.is_none());
        let deleted: DeletedContact = from_value(json!({"id": "c1", "deleted": "true"})).unwrap();
        assert!(deleted.deleted && deleted.contact.as_str() == "c1");
    }
}
