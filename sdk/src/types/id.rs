//! Identifiers: one newtype per resource, so that one resource's ID can't be passed as another's.

use serde::{Deserialize as _, Deserializer, de::Error as _};

/// Decodes the identifier of an accepted email: an empty one doesn't show that the service accepted anything.
pub(crate) fn accepted_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EmailId, D::Error> {
    let id = EmailId::deserialize(deserializer)?;
    if id.as_str().is_empty() { Err(D::Error::custom("the identifier is empty")) } else { Ok(id) }
}

/// Defines identifiers: newtypes over `String` that are opaque to the client.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)+) => {$(
        $(#[$doc])*
        ///
        /// The service writes identifiers in UUID format (`docs/specification.md`, Conventions). The client never parses one, so identifiers in any
        /// format are accepted.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the identifier as received from the service.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        from_text!($name);

        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;

            fn from_str(id: &str) -> Result<Self, Self::Err> {
                Ok(Self::from(id))
            }
        }

        lenient_text!($name, absent: None);
        text_field!($name => $crate::types::fields::Kind::Text);

        conversions! {
            $name { &$name: id => id.clone(), }
            String { $name: id => id.0, }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    )+};
}

ids! {
    /// The identifier of an OAuth grant.
    OAuthGrantId,
    /// The identifier of an API key. It is not the key itself.
    ApiKeyId,
    /// The identifier of an email attachment.
    AttachmentId,
    /// The identifier of an automation.
    AutomationId,
    /// The identifier of an automation run.
    AutomationRunId,
    /// The identifier of a broadcast.
    BroadcastId,
    /// The identifier of a contact.
    ContactId,
    /// The identifier of a contact import.
    ContactImportId,
    /// The identifier of a contact property.
    ContactPropertyId,
    /// The identifier of a domain claim.
    DomainClaimId,
    /// The identifier of a domain.
    DomainId,
    /// The identifier of a sent email, as returned by a send.
    EmailId,
    /// The identifier or the name of a custom event: the service accepts either.
    EventId,
    /// The identifier of an API log entry.
    LogId,
    /// The identifier of a received email.
    ReceivedEmailId,
    /// The identifier of a segment; under the former name of segments, of an audience.
    SegmentId,
    /// The identifier or the address of an entry in the suppression list: the service accepts either.
    SuppressionId,
    /// The identifier or the alias of a template: the service accepts either.
    TemplateId,
    /// The identifier of a topic.
    TopicId,
    /// The identifier of a webhook.
    WebhookId,
    /// The identifier of an attempt to deliver a webhook event.
    WebhookAttemptId,
    /// The identifier of a webhook event. Each delivery has it in the header `svix-id`.
    WebhookEventId,
}

#[cfg(feature = "beta")]
ids! {
    /// The identifier or the address of an inbox: the service accepts either.
    InboxId,
    /// The identifier of an inbox's draft.
    InboxDraftId,
    /// The identifier of an inbox's email. For a sent email, it equals the [`EmailId`].
    InboxEmailId,
    /// The identifier of an inbox's label.
    InboxLabelId,
    /// The identifier of an inbox's thread.
    InboxThreadId,
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn an_identifier_converts_from_every_form_of_text() {
        let text = "479e3145".to_owned();
        let id = EmailId::from(&text);
        let ids = [
            text.as_str().into(),
            text.clone().into(),
            Cow::from(text.as_str()).into(),
            (&id).into(),
            text.parse().unwrap(),
        ];
        assert!(ids.iter().all(|other: &EmailId| *other == id));
    }

    #[test]
    fn an_identifier_alone_is_text_on_the_wire() {
        // Records convert numbers to identifiers, but the response to a send must have the documented type.
        assert_eq!(serde_json::from_str::<EmailId>("\"12\"").unwrap().as_str(), "12");
        assert!(serde_json::from_str::<EmailId>("12").is_err());
    }
}
