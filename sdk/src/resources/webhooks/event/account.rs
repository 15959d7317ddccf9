//! Payloads of events about the account's records: contacts, domains, topics, and the suppression list.

use crate::{
    resources::shared::{Capabilities, DnsRecord, DomainStatus, Region, Subscription, SuppressionOrigin},
    types::{ContactId, DomainId, EmailId, SegmentId, SuppressionId, Timestamp, TopicId},
};

record! {
    /// A contact was created, updated or deleted. Imports don't cause this event.
    pub struct ContactEvent {
        /// The contact's ID.
        pub id: ContactId,
        /// The email address.
        pub email: Option<String>,
        /// The first name.
        pub first_name: Option<String>,
        /// The last name.
        pub last_name: Option<String>,
        /// Whether the contact has unsubscribed from all broadcasts.
        pub unsubscribed: Option<bool>,
        /// The contact's segments.
        pub segment_ids: Vec<SegmentId>,
        /// One of the contact's segments, under the former name of segments.
        pub audience_id: Option<SegmentId>,
        /// When the contact was created, in ISO 8601.
        pub created_at: Option<Timestamp>,
        /// When the contact was last updated, in ISO 8601.
        pub updated_at: Option<Timestamp>,
    }
}

record! {
    /// A contact's topic subscriptions changed.
    pub struct ContactTopicsEvent {
        /// The contact's address.
        pub email: String,
        /// The changed subscriptions.
        pub topics: Vec<ContactTopicChoice>,
    }
}

record! {
    /// A contact's subscription to one topic.
    #[derive(PartialEq, Eq)]
    pub struct ContactTopicChoice {
        /// The topic's ID.
        pub id: TopicId,
        /// The subscription.
        pub subscription: Subscription,
    }
}

record! {
    /// A domain was registered or deleted, or its status changed.
    pub struct DomainEvent {
        /// The domain's ID.
        pub id: DomainId,
        /// The domain name.
        pub name: String,
        /// The verification status.
        pub status: Option<DomainStatus>,
        /// When the domain was registered, in ISO 8601.
        pub created_at: Option<Timestamp>,
        /// The region in which the service handles the domain's mail.
        pub region: Option<Region>,
        /// Whether the domain can send and receive.
        pub capabilities: Option<Capabilities>,
        /// The DNS records.
        pub records: Vec<DnsRecord>,
    }
}

record! {
    /// An address was added to the suppression list or removed from it.
    pub struct SuppressionEvent {
        /// The entry's ID.
        pub id: SuppressionId,
        /// The address.
        pub email: String,
        /// Why the address is on the list.
        pub origin: Option<SuppressionOrigin>,
        /// The email that bounced or was reported.
        pub source_id: Option<EmailId>,
        /// When the address was added, in ISO 8601.
        pub created_at: Option<Timestamp>,
    }
}

record! {
    /// A topic was created, updated or deleted.
    pub struct TopicEvent {
        /// The topic's ID.
        pub id: TopicId,
        /// The topic's name.
        pub name: String,
        /// The topic's description.
        pub description: Option<String>,
        /// The subscription of contacts that have no explicit one.
        pub default_subscription: Option<Subscription>,
        /// Whether the topic was deleted.
        pub deleted: Option<bool>,
        /// When the topic was created, in ISO 8601.
        pub created_at: Option<Timestamp>,
        /// When the topic was last updated, in ISO 8601.
        pub updated_at: Option<Timestamp>,
    }
}
