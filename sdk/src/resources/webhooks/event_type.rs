//! Types of webhook events.

open_enum! {
    /// The type of a webhook event. The specification names `email.sent`, `email.delivered`, `email.received` and `domain.updated`, and mentions that
    /// there are more. Inbox events are in private beta, so not every account can subscribe to them.
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
        /// An inbox was created.
        InboxCreated = "inbox.created",
        /// An inbox was updated.
        InboxUpdated = "inbox.updated",
        /// An inbox was deleted.
        InboxDeleted = "inbox.deleted",
        /// A thread was created in an inbox.
        InboxThreadCreated = "inbox.thread.created",
        /// A thread was moved to another folder.
        InboxThreadFolderUpdated = "inbox.thread.folder.updated",
        /// A thread was assigned.
        InboxThreadAssigned = "inbox.thread.assigned",
        /// A thread's assignment was removed.
        InboxThreadUnassigned = "inbox.thread.unassigned",
        /// The labels of a thread changed.
        InboxThreadLabelsUpdated = "inbox.thread.labels.updated",
        /// An inbox received an email.
        InboxEmailReceived = "inbox.email.received",
        /// An email was sent from an inbox.
        InboxEmailSent = "inbox.email.sent",
        /// A draft was created in an inbox.
        InboxDraftCreated = "inbox.draft.created",
        /// A draft was updated.
        InboxDraftUpdated = "inbox.draft.updated",
        /// A draft was sent.
        InboxDraftSent = "inbox.draft.sent",
        /// A draft was deleted.
        InboxDraftDeleted = "inbox.draft.deleted",
    }
}
