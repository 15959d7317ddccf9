//! Inboxes and their contents as the service returns them.

use serde::{Deserialize, Serialize};

use crate::types::{
    AttachmentId, DomainId, EmailId, InboxDraftId, InboxEmailId, InboxId, InboxLabelId, InboxThreadId,
    Timestamp, accepted_id,
};

record! {
    /// An inbox in a list.
    pub struct InboxSummary {
        /// The inbox's ID.
        pub id: InboxId,
        /// The name, which is visible only within the account.
        pub name: Option<String>,
        /// The address.
        pub email_address: String,
        /// The sender name in emails from the inbox.
        pub from_name: Option<String>,
        /// The number of unread threads in the folder `inbox`.
        pub unread: Option<u64>,
        /// When the last email was received.
        pub last_received: Option<Timestamp>,
        /// When the inbox was created.
        pub created_at: Option<Timestamp>,
        /// When the name or sender name was last changed.
        pub updated_at: Option<Timestamp>,
    }

    /// An inbox.
    pub struct Inbox: InboxSummary {
        /// The domain of the address.
        pub domain_id: Option<DomainId>,
        /// The address to which another provider forwards the mail, if the inbox was created with [`forwarding`](super::NewInbox::forwarding).
        pub receiving_address: Option<String>,
        /// The number of unsent drafts.
        pub drafts: Option<u64>,
    }
}

record! {
    /// An inbox agent's settings. The sandbox only stores them; it has no agent.
    pub struct InboxAgent {
        /// The instructions for the agent.
        pub instructions: Option<String>,
        /// The tone of its drafts.
        pub tone: Option<InboxTone>,
        /// The actions that the agent may take.
        pub actions: Vec<InboxAction>,
    }
}

open_enum! {
    /// The tone of an agent's drafts.
    InboxTone {
        /// Short and formal.
        ConciseProfessional = "concise_professional",
        /// Short and informal.
        ConciseCasual = "concise_casual",
        /// Detailed and formal.
        ExpandedProfessional = "expanded_professional",
        /// Detailed and informal.
        ExpandedCasual = "expanded_casual",
    }
}

open_enum! {
    /// An action that an inbox's agent may take.
    InboxAction {
        /// Draft a reply.
        DraftReply = "draft_reply",
        /// Forward a thread.
        ForwardThread = "forward_thread",
        /// Add labels to a thread.
        AddLabels = "add_labels",
        /// Assign a thread to a member.
        AssignThread = "assign_thread",
        /// Mark a thread as spam.
        MarkAsSpam = "mark_as_spam",
        /// Archive a thread.
        Archive = "archive",
        /// Move a thread to the trash.
        MoveToTrash = "move_to_trash",
    }
}

open_enum! {
    /// A folder of threads.
    InboxFolder {
        /// Threads with received emails.
        Inbox = "inbox",
        /// Archived threads.
        Archive = "archive",
        /// Spam.
        Spam = "spam",
        /// Threads that started with a sent email. Threads can't be moved there.
        Sent = "sent",
        /// Deleted threads, which are kept for 30 days.
        Trash = "trash",
    }
}

record! {
    /// A label of an inbox.
    pub struct InboxLabel {
        /// The label's ID.
        pub id: InboxLabelId,
        /// The name, unique within the inbox (ignoring case).
        pub name: String,
        /// The color, as `#RRGGBB`.
        pub color: Option<String>,
        /// When the label was created; absent on the labels of a thread.
        pub created_at: Option<Timestamp>,
    }
}

/// All labels of an inbox or a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InboxLabels {
    /// The labels. For an inbox, oldest first.
    pub data: Vec<InboxLabel>,
}

record! {
    /// A thread in a list, with the addresses of its newest email.
    pub struct InboxThreadSummary {
        /// The thread's ID.
        pub id: InboxThreadId,
        /// The subject of the first email.
        pub subject: Option<String>,
        /// The `From` address. Senders can forge it.
        pub from: Option<String>,
        /// The `To` addresses.
        pub to: Vec<String>,
        /// The `Cc` addresses.
        pub cc: Vec<String>,
        /// The `Bcc` addresses.
        pub bcc: Vec<String>,
        /// The labels.
        pub labels: Vec<InboxLabel>,
        /// The number of emails.
        pub email_count: Option<u64>,
        /// Whether any email has an attachment.
        pub has_attachment: bool,
        /// Whether a draft replies to one of its emails.
        pub has_draft: bool,
        /// Whether it was read.
        pub read: bool,
        /// The time of the newest email.
        pub received_at: Option<Timestamp>,
        /// The folder.
        pub folder: Option<InboxFolder>,
    }

    /// A thread that matches a search.
    pub struct InboxThreadMatch: InboxThreadSummary {
        /// The newest matching email; absent if the search has no conditions on emails.
        pub matched_email_id: Option<InboxEmailId>,
    }
}

record! {
    /// A thread. [`Inboxes::emails`](super::Inboxes::emails) lists its emails.
    pub struct InboxThread {
        /// The thread's ID.
        pub id: InboxThreadId,
        /// The subject of the first email.
        pub subject: Option<String>,
        /// The folder.
        pub folder: Option<InboxFolder>,
        /// The labels.
        pub labels: Vec<InboxLabel>,
        /// Whether it was read.
        pub read: bool,
    }
}

record! {
    /// An email in a thread.
    pub struct InboxEmail {
        /// The email's ID.
        pub id: InboxEmailId,
        /// Whether it was received or sent.
        pub direction: Option<EmailDirection>,
        /// The `From` address. Senders can forge it.
        pub from: Option<String>,
        /// The `To` addresses.
        pub to: Vec<String>,
        /// The `Cc` addresses.
        pub cc: Vec<String>,
        /// The `Bcc` addresses.
        pub bcc: Vec<String>,
        /// The `Reply-To` addresses.
        pub reply_to: Vec<String>,
        /// The subject.
        pub subject: Option<String>,
        /// The `Message-ID` header.
        pub message_id: Option<String>,
        /// The HTML body, which is untrusted. Absent in events.
        pub html: Option<String>,
        /// The plain-text body. Absent in events.
        pub text: Option<String>,
        /// The attachments.
        pub attachments: Vec<InboxAttachment>,
        /// Whether it was read.
        pub read: bool,
        /// When it was received or sent.
        pub received_at: Option<Timestamp>,
    }
}

open_enum! {
    /// Whether an email was received or sent.
    EmailDirection {
        /// It was received.
        Inbound = "inbound",
        /// It was sent from the inbox.
        Outbound = "outbound",
    }
}

record! {
    /// An attachment of an email or a draft, without its content.
    pub struct InboxAttachment {
        /// The attachment's ID.
        pub id: AttachmentId,
        /// The file name.
        pub filename: Option<String>,
        /// The media type; absent for emails.
        pub content_type: Option<String>,
        /// The size in bytes; absent if the service hasn't fetched the file yet.
        pub size: Option<u64>,
    }
}

record! {
    /// A draft in a list.
    pub struct InboxDraftSummary {
        /// The draft's ID.
        pub id: InboxDraftId,
        /// Whether it replies to an email.
        pub kind as "type": Option<InboxDraftKind>,
        /// The `To` addresses.
        pub to: Vec<String>,
        /// The `Cc` addresses.
        pub cc: Vec<String>,
        /// The `Bcc` addresses.
        pub bcc: Vec<String>,
        /// The subject.
        pub subject: Option<String>,
        /// The beginning of the body.
        pub snippet: Option<String>,
        /// The thread of the email that it replies to.
        pub thread_id: Option<InboxThreadId>,
        /// The email that it replies to.
        pub reply_to_email_id: Option<InboxEmailId>,
        /// When it was last changed.
        pub updated_at: Option<Timestamp>,
        /// The attachments.
        pub attachments: Vec<InboxAttachment>,
    }

    /// A draft.
    pub struct InboxDraft: InboxDraftSummary {
        /// The HTML body.
        pub html: Option<String>,
        /// The plain-text body.
        pub text: Option<String>,
        /// The ID of the email as which it was sent.
        pub email_id: Option<EmailId>,
        /// When it was created.
        pub created_at: Option<Timestamp>,
    }
}

open_enum! {
    /// The kind of a draft.
    InboxDraftKind {
        /// It starts a thread.
        Standalone = "standalone",
        /// It replies to an email.
        Reply = "reply",
    }
}

/// An email that was accepted for sending. Delivery may still fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SentInboxEmail {
    /// The ID, both for [`Emails::get`](crate::resources::emails::Emails::get) and of the email in its thread.
    #[serde(deserialize_with = "accepted_id")]
    pub id: EmailId,
}

items!(InboxSummary, InboxThreadSummary, InboxThreadMatch, InboxEmail, InboxDraftSummary);

impl From<EmailId> for InboxEmailId {
    fn from(id: EmailId) -> Self {
        Self::from(id.as_str())
    }
}
