//! The types of events.

open_enum! {
    /// The type of an event. The specification names `email.sent`, `email.delivered`, `email.received` and `domain.updated`, and says that
    /// there are more.
    EventType {
        /// An email was accepted for delivery.
        EmailSent = "email.sent",
        /// An email was scheduled.
        EmailScheduled = "email.scheduled",
        /// An email was delivered.
        EmailDelivered = "email.delivered",
        /// The delivery of an email was delayed.
        EmailDeliveryDelayed = "email.delivery_delayed",
        /// An email bounced permanently.
        EmailBounced = "email.bounced",
        /// A recipient reported an email as spam.
        EmailComplained = "email.complained",
        /// An email was opened.
        EmailOpened = "email.opened",
        /// A link in an email was clicked.
        EmailClicked = "email.clicked",
        /// An email failed to be sent.
        EmailFailed = "email.failed",
        /// An email was not sent because the recipient is on the suppression list.
        EmailSuppressed = "email.suppressed",
        /// An email was received.
        EmailReceived = "email.received",
        /// A contact was created.
        ContactCreated = "contact.created",
        /// A contact was updated.
        ContactUpdated = "contact.updated",
        /// A contact was deleted.
        ContactDeleted = "contact.deleted",
        /// A contact's topic subscriptions changed.
        ContactTopicsUpdated = "contact.topics.updated",
        /// A domain was registered.
        DomainCreated = "domain.created",
        /// A domain's status changed.
        DomainUpdated = "domain.updated",
        /// A domain was deleted.
        DomainDeleted = "domain.deleted",
        /// An address was added to the suppression list.
        SuppressionAdded = "suppression.added",
        /// An address was removed from the suppression list.
        SuppressionRemoved = "suppression.removed",
        /// A topic was created.
        TopicCreated = "topic.created",
        /// A topic was updated.
        TopicUpdated = "topic.updated",
        /// A topic was deleted.
        TopicDeleted = "topic.deleted",
    }
}
