//! Inboxes, **in beta**: an address's mail grouped into threads, with replies, drafts and labels. Requires the feature `beta`.
//!
//! Inboxes are in private beta at Resend and still change, so this module isn't covered by semantic versioning. (The specification doesn't define
//! them; the format is Resend's.) The sandbox serves them with `--beta`.

mod draft;
mod message;
mod new;
mod operations;
mod patch;
mod record;

pub use draft::{InboxDraftPatch, NewInboxDraft};
pub use message::{InboxForward, InboxReply};
pub use new::{NewInbox, NewInboxLabel};
pub use operations::Inboxes;
pub use patch::{InboxAgentPatch, InboxLabelPatch, InboxPatch, InboxThreadPatch};
pub use record::{
    EmailDirection, Inbox, InboxAction, InboxAgent, InboxAttachment, InboxDraft, InboxDraftKind,
    InboxDraftSummary, InboxEmail, InboxFolder, InboxLabel, InboxLabels, InboxSummary, InboxThread,
    InboxThreadMatch, InboxThreadSummary, InboxTone, SentInboxEmail,
};
