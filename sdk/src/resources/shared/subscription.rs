//! Subscriptions to topics.

use serde::{Serialize, Serializer};

use crate::{
    problem::Validator,
    types::{SegmentId, TopicId},
};

open_enum! {
    /// Whether a contact receives the emails of a topic. (The specification documents `opt_in`.)
    Subscription {
        /// The contact receives them.
        OptIn = "opt_in",
        /// The contact doesn't receive them.
        OptOut = "opt_out",
    }
}

pub(crate) fn check_subscription(v: &mut Validator, subscription: &Subscription) {
    if let Subscription::Unknown(value) = subscription {
        v.report_found("type", "a subscription must be opt_in or opt_out", value.as_str());
    }
}

/// A contact's subscription to one topic.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub(crate) struct Choice {
    pub(crate) id: TopicId,
    pub(crate) subscription: Subscription,
}

json_field!(Choice);

impl Choice {
    pub(crate) fn validate(&self, v: &mut Validator) {
        check_id(v, self.id.as_str());
        v.field("subscription", |v| check_subscription(v, &self.subscription));
    }
}

/// Writes segments as the service reads them: `{id}`.
pub(crate) fn named_by_id<S: Serializer>(segments: &[SegmentId], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        id: &'a SegmentId,
    }
    serializer.collect_seq(segments.iter().map(|id| Named { id }))
}

pub(crate) fn check_id(v: &mut Validator, id: &str) {
    if id.is_empty() {
        v.report_at("id", "empty", "`id` must not be empty");
    }
}
