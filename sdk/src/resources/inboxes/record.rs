//! Inboxes and what they contain, as the service returns it.

use serde::{Deserialize, Serialize};

use crate::types::{
    AttachmentId, DomainId, EmailId, InboxDraftId, InboxEmailId, InboxId, InboxLabelId, InboxThreadId,
    Timestamp,
};

record! {
    /// An inbox in a list.
    pub struct InboxSummary {
        /// The inbox's ID.
        pub id: InboxId,
        /// The name, which only the account sees.
        pub name: Option<String>,
        /// The address.
        pub email_address: String,
        /// The sender's name in emails from the inbox.
        pub from_name: Option<String>,
        /// The number of unread threads in the folder `inbox`.
        pub unread: Option<u64>,
        /// When the last email was received.
        pub last_received: Option<Timestamp>,
        /// When the inbox was created.
        pub created_at: Option<Timestamp>,
        /// When its name or sender's name was last changed.
        pub updated_at: Option<Timestamp>,
    }

    /// An inbox.
    pub struct Inbox: InboxSummary {
        /// The domain of the address.
        pub domain_id: Option<DomainId>,
        /// The address that another provider forwards the mail to, if the inbox was created with
        /// [`forwarding`](super::NewInbox::forwarding).
        pub receiving_address: Option<String>,
        /// The number of unsent drafts.
        pub drafts: Option<u64>,
    }
}

record! {
    /// The settings of an inbox's agent. The sandbox only stores them; it has no agent.
    pub struct InboxAgent {
        /// The instructions for the agent.
        pub instructions: Option<String>,
        /// The tone of its drafts.
        pub tone: Option<InboxTone>,
        /// What it may do.
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
    /// What an inbox's agent may do.
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
        /// Threads that started with a sent email. A thread can't be moved there.
        Sent = "sent",
        /// Deleted threads, which remain for 30 days.
        Trash = "trash",
    }
}

record! {
    /// A label of an inbox.
    pub struct InboxLabel {
        /// The label's ID.
        pub id: InboxLabelId,
        /// The name, unique in the inbox ignoring case.
        pub name: String,
        /// The color, as `#RRGGBB`.
        pub color: Option<String>,
        /// When the label was created; absent on the labels of a thread.
        pub created_at: Option<Timestamp>,
    }
}

/// All labels of an inbox, or of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InboxLabels {
    /// The labels. For an inbox, the oldest comes first.
    pub data: Vec<InboxLabel>,
}

record! {
    /// A thread in a list. Its addresses are those of the newest email.
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
        /// The newest email that matches; absent if the search has no condition for emails.
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
    /// An email of a thread.
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
        /// The size in bytes; absent if the service has yet to fetch the file.
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
        /// The thread that it replies to.
        pub thread_id: Option<InboxThreadId>,
        /// The email that it replies to.
        pub reply_to_email_id: Option<InboxEmailId>,
        /// When it was changed.
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
        /// The email that it was sent as.
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
    /// The ID for [`Emails::get`](crate::resources::emails::Emails::get), and of the email in its thread.
    pub id: EmailId,
}

items!(InboxSummary, InboxThreadSummary, InboxThreadMatch, InboxEmail, InboxDraftSummary);

impl From<EmailId> for InboxEmailId {
    fn from(id: EmailId) -> Self {
        Self::from(id.as_str())
    }
}
