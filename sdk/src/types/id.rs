//! Identifiers: one newtype a resource, so that a topic's id can't be passed where an email's is meant.

/// Defines one identifier: a newtype over `String` that is opaque to the client.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// The service writes identifiers in UUID format (`SPEC.md`, Conventions). The client never looks inside
        /// one, so an identifier of another form passes through unharmed.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The identifier as the service wrote it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// Names one OAuth grant.
    OAuthGrantId
);
id!(
    /// Names one API key; it is not the key itself.
    ApiKeyId
);
id!(
    /// Names one attachment of an email.
    AttachmentId
);
id!(
    /// Names one automation.
    AutomationId
);
id!(
    /// Names one run of an automation.
    AutomationRunId
);
id!(
    /// Names one broadcast.
    BroadcastId
);
id!(
    /// Names one contact.
    ContactId
);
id!(
    /// Names one property that contacts can have.
    ContactPropertyId
);
id!(
    /// Names one domain.
    DomainId
);
id!(
    /// Names one email: what a send answers with.
    EmailId
);
id!(
    /// Names one kind of custom event.
    EventId
);
id!(
    /// Names one entry of the service's log of API requests.
    LogId
);
id!(
    /// Names one email that the service has received.
    ReceivedEmailId
);
id!(
    /// Names one segment of the contacts; under the segments' former name, one audience.
    SegmentId
);
id!(
    /// Names one template, by its id or by its alias: the service takes either.
    TemplateId
);
id!(
    /// Names one topic that contacts can opt in to and out of.
    TopicId
);
id!(
    /// Names one webhook.
    WebhookId
);
id!(
    /// Names one attempt to deliver an event to a webhook.
    WebhookAttemptId
);
id!(
    /// Names one event that a webhook tells; each delivery of it carries it as `svix-id`.
    WebhookEventId
);
