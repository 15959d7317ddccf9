//! Broadcasts as the service returns them.

use crate::types::{BroadcastId, SegmentId, Timestamp, TopicId};

open_enum! {
    /// The status of a broadcast. The specification documents `draft` and `sent`; the others are Resend's.
    BroadcastStatus {
        /// Editable and not scheduled.
        Draft = "draft",
        /// To be sent at [`scheduled_at`](Broadcast::scheduled_at).
        Scheduled = "scheduled",
        /// Being sent.
        Queued = "queued",
        /// Sent.
        Sent = "sent",
        /// Canceled while it was being sent.
        Canceled = "canceled",
    }
}

record! {
    /// A broadcast in a list (`docs/specification.md`, Broadcast).
    pub struct BroadcastSummary {
        /// The broadcast's ID.
        pub id: BroadcastId,
        /// The internal name.
        pub name: Option<String>,
        /// The segment that receives the broadcast.
        pub segment_id: Option<SegmentId>,
        /// The same as [`segment_id`](Self::segment_id), under the former name of segments.
        #[deprecated(note = "audiences are called segments now: use `segment_id`, which has the same value")]
        pub audience_id: Option<SegmentId>,
        /// The status.
        pub status: Option<BroadcastStatus>,
        /// When the broadcast was created.
        pub created_at: Timestamp,
        /// When the broadcast is scheduled to be sent.
        pub scheduled_at: Option<Timestamp>,
        /// When the broadcast was sent.
        pub sent_at: Option<Timestamp>,
        /// The topic that restricts the recipients.
        pub topic_id: Option<TopicId>,
    }

    /// A broadcast with its content. (The specification names the operation but doesn't define the fields.)
    pub struct Broadcast: BroadcastSummary {
        /// The sender, including the display name if there is one.
        pub from: Option<String>,
        /// The subject, including placeholders.
        pub subject: Option<String>,
        /// The `Reply-To` addresses.
        pub reply_to: Option<Vec<String>>,
        /// The preview text, which mail clients show next to the subject.
        pub preview_text: Option<String>,
        /// The HTML body, including placeholders.
        pub html: Option<String>,
        /// The plain-text body, including placeholders.
        pub text: Option<String>,
    }
}

items!(BroadcastSummary);
