//! Subscriptions to topics.

use serde::Serialize;
use serde_json::Value;

use crate::{
    problem::Validator,
    types::{
        TopicId,
        fields::{FieldValue, Kind, Reader},
    },
};

open_enum! {
    /// Whether a contact receives a topic's emails. (The specification documents `opt_in`.)
    Subscription {
        /// The contact receives them.
        OptIn = "opt_in",
        /// The contact doesn't receive them.
        OptOut = "opt_out",
    }
}

/// A contact's subscription to one topic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Choice {
    pub(crate) id: TopicId,
    pub(crate) subscription: Subscription,
}

impl FieldValue for Choice {
    const KIND: Kind = Kind::Json;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        Reader::object(v, value, &["id", "subscription"], |fields| Self {
            id: fields.required("id"),
            subscription: fields.required("subscription"),
        })
    }
}

impl Choice {
    pub(crate) fn validate(&self, v: &mut Validator) {
        check_id(v, self.id.as_str());
        v.check_known("subscription", Subscription::KNOWN, Some(self.subscription.as_str()));
    }
}

pub(crate) fn check_id(v: &mut Validator, id: &str) {
    if id.is_empty() {
        v.report_at("id", "empty", "`id` must not be empty");
    }
}
