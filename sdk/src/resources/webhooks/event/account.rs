//! What is told of what an account holds: contacts, domains, topics, and addresses that get no more emails.

use serde::{Deserialize, Serialize};

use crate::{
    resources::{
        domains::{Capabilities, DnsRecord, DomainStatus, Region},
        topics::Subscription,
    },
    types::{ContactId, DomainId, SegmentId, Timestamp, TopicId},
};

/// A contact was made, changed or deleted. Contacts that an import makes are not told of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContactEvent {
    /// The contact's id.
    pub id: ContactId,
    /// The address.
    #[serde(default)]
    pub email: Option<String>,
    /// What the person is called.
    #[serde(default)]
    pub first_name: Option<String>,
    /// The family name.
    #[serde(default)]
    pub last_name: Option<String>,
    /// Whether the contact wants no broadcast at all.
    #[serde(default)]
    pub unsubscribed: Option<bool>,
    /// The segments that it is in.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub segment_ids: Vec<SegmentId>,
    /// The same under the segments' former name, of one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience_id: Option<SegmentId>,
    /// When it was made, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was changed last, in ISO 8601.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

/// A contact chose about topics.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContactTopicsEvent {
    /// The contact's address.
    pub email: String,
    /// What it chose.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub topics: Vec<ContactTopicChoice>,
}

/// What a contact chose about one topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContactTopicChoice {
    /// The topic's id.
    pub id: TopicId,
    /// The choice.
    pub subscription: Subscription,
}

/// A domain was registered or deleted, or its status changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DomainEvent {
    /// The domain's id.
    pub id: DomainId,
    /// Its name.
    pub name: String,
    /// How its verification stands.
    #[serde(default)]
    pub status: Option<DomainStatus>,
    /// When it was registered, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// Where the service handles its mail.
    #[serde(default)]
    pub region: Option<Region>,
    /// What it is there for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// Its DNS records.
    #[serde(default, deserialize_with = "crate::types::null_default")]
    pub records: Vec<DnsRecord>,
}

open_enum! {
    /// Why an address gets no more emails.
    SuppressionOrigin {
        /// An email to it bounced.
        Bounce = "bounce",
        /// Its owner called an email spam.
        Complaint = "complaint",
        /// Somebody put it on the list.
        Manual = "manual",
    }
}

/// An address gets no more emails, or may get them again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SuppressionEvent {
    /// The entry's id.
    pub id: String,
    /// The address.
    pub email: String,
    /// Why.
    #[serde(default)]
    pub origin: Option<SuppressionOrigin>,
    /// The email that bounced or was complained of.
    #[serde(default)]
    pub source_id: Option<String>,
    /// Since when, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

/// A topic was made, changed or deleted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopicEvent {
    /// The topic's id.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub description: Option<String>,
    /// What holds for who has made no choice.
    #[serde(default)]
    pub default_subscription: Option<Subscription>,
    /// Whether it is gone.
    #[serde(default)]
    pub deleted: Option<bool>,
    /// When it was made, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was changed last, in ISO 8601.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}
