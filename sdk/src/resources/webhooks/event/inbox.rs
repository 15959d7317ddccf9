//! The payload of inbox events.

use serde_json::Value;

use crate::types::EmailId;

record! {
    /// An inbox event. Inboxes are in private beta, and their payloads still change. Fields that don't apply are absent.
    ///
    /// With the feature `beta`, the records in `inbox`, `thread`, `email`, `draft`, `added` and `removed` deserialize as `Inbox`, `InboxThread`,
    /// `InboxEmail` (without bodies), `InboxDraft` (without bodies) and `InboxLabel`.
    pub struct InboxEvent {
        /// The source of the event, such as `api`, `dashboard`, `agent` or `system`.
        pub source: Option<String>,
        /// The inbox.
        pub inbox_id: Option<String>,
        /// The thread.
        pub thread_id: Option<String>,
        /// The email.
        pub email_id: Option<EmailId>,
        /// The draft.
        pub draft_id: Option<String>,
        /// The inbox, unless it was deleted.
        pub inbox: Option<Value>,
        /// The thread.
        pub thread: Option<Value>,
        /// The email without its bodies.
        pub email: Option<Value>,
        /// The draft without its bodies, unless it was deleted.
        pub draft: Option<Value>,
        /// The label added to a thread, or empty: an event concerns at most one label.
        pub added: Vec<Value>,
        /// The label removed from a thread, or empty.
        pub removed: Vec<Value>,
        /// The folder from which a thread was moved.
        pub from: Option<String>,
        /// The folder to which a thread was moved.
        pub to: Option<String>,
        /// The address of the member to whom a thread is assigned.
        pub assignee_email: Option<String>,
        /// The address of the member to whom a thread was previously assigned.
        pub previous_assignee_email: Option<String>,
        /// The address of the member who assigned a thread.
        pub assigned_by_email: Option<String>,
    }
}
