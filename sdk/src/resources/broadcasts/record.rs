//! What the service tells of broadcasts.

use serde::{Deserialize, Serialize};

use crate::{
    client::Item,
    types::{BroadcastId, SegmentId, Timestamp, TopicId},
};

open_enum! {
    /// How far a broadcast has come. The specification has seen `draft` and `sent`; the others are known from elsewhere.
    BroadcastStatus {
        /// It can be changed, and waits to be sent by somebody.
        Draft = "draft",
        /// It goes out at [`scheduled_at`](Broadcast::scheduled_at).
        Scheduled = "scheduled",
        /// It is going out.
        Queued = "queued",
        /// It has gone out.
        Sent = "sent",
        /// It was taken back while it was going out.
        Canceled = "canceled",
    }
}

/// A broadcast as the list shows it (`SPEC.md`, Broadcast).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BroadcastSummary {
    /// The broadcast's id.
    pub id: BroadcastId,
    /// What its makers call it.
    #[serde(default)]
    pub name: Option<String>,
    /// The segment that it goes to.
    #[serde(default)]
    pub segment_id: Option<SegmentId>,
    /// The same as [`segment_id`](Self::segment_id), under the segments' former name.
    #[deprecated(note = "audiences are called segments now: use `segment_id`, which has the same value")]
    #[serde(default)]
    pub audience_id: Option<SegmentId>,
    /// How far it has come.
    #[serde(default)]
    pub status: Option<BroadcastStatus>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is to go out, if it was scheduled.
    #[serde(default)]
    pub scheduled_at: Option<Timestamp>,
    /// When it went out.
    #[serde(default)]
    pub sent_at: Option<Timestamp>,
    /// The topic that it goes out under.
    #[serde(default)]
    pub topic_id: Option<TopicId>,
}

impl Item for BroadcastSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// One broadcast with its content. (The specification says that it can be read and is silent on the fields.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Broadcast {
    /// The broadcast's id.
    pub id: BroadcastId,
    /// What its makers call it.
    #[serde(default)]
    pub name: Option<String>,
    /// The segment that it goes to.
    #[serde(default)]
    pub segment_id: Option<SegmentId>,
    /// The same as [`segment_id`](Self::segment_id), under the segments' former name.
    #[deprecated(note = "audiences are called segments now: use `segment_id`, which has the same value")]
    #[serde(default)]
    pub audience_id: Option<SegmentId>,
    /// The sender, with the friendly name if there was one.
    #[serde(default)]
    pub from: Option<String>,
    /// Its subject, with its placeholders.
    #[serde(default)]
    pub subject: Option<String>,
    /// Where answers go.
    #[serde(default)]
    pub reply_to: Option<Vec<String>>,
    /// What a mail program shows beside the subject.
    #[serde(default)]
    pub preview_text: Option<String>,
    /// How far it has come.
    #[serde(default)]
    pub status: Option<BroadcastStatus>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is to go out, if it was scheduled.
    #[serde(default)]
    pub scheduled_at: Option<Timestamp>,
    /// When it went out.
    #[serde(default)]
    pub sent_at: Option<Timestamp>,
    /// The HTML body, with its placeholders.
    #[serde(default)]
    pub html: Option<String>,
    /// The plain-text body, with its placeholders.
    #[serde(default)]
    pub text: Option<String>,
    /// The topic that it goes out under.
    #[serde(default)]
    pub topic_id: Option<TopicId>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_broadcast_lives_with_what_the_service_leaves_out_and_adds() {
        // BCAST-03, BCAST-05, GEN-33
        let least =
            json!({"id": "b1", "created_at": "2026-12-01 19:32:22+00", "sent_at": null, "clicks": [1]});
        let broadcast: Broadcast = serde_json::from_value(least.clone()).unwrap();
        assert_eq!((broadcast.status, broadcast.sent_at), (None, None));
        let summary: BroadcastSummary = serde_json::from_value(least).unwrap();
        assert_eq!((summary.name, summary.segment_id), (None, None));
    }

    #[test]
    fn every_status_comes_back_as_it_was_written() {
        // BCAST-03
        for word in ["draft", "scheduled", "queued", "sent", "canceled", "on_hold"] {
            let status: BroadcastStatus = serde_json::from_value(word.into()).unwrap();
            assert_eq!(matches!(status, BroadcastStatus::Unknown(_)), word == "on_hold");
            assert_eq!(serde_json::to_value(status).unwrap(), Value::from(word));
        }
    }
}
