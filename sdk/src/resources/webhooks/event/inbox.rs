//! The payload of events about inboxes.

use crate::types::EmailId;

record! {
    /// An event of an inbox. Inboxes are in private beta and their payloads still change: this record has the fields that identify the subject of
    /// the event, and [`WebhookPayload::raw`](super::WebhookPayload::raw) all others. Fields that don't apply are absent.
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
        /// The folder that a thread was moved from.
        pub from: Option<String>,
        /// The folder that a thread was moved to.
        pub to: Option<String>,
        /// The address of the member that a thread is assigned to.
        pub assignee_email: Option<String>,
        /// The address of the member that a thread was assigned to before.
        pub previous_assignee_email: Option<String>,
        /// The address of the member that assigned a thread.
        pub assigned_by_email: Option<String>,
    }
}
