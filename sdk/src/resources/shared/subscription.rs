//! Subscriptions to topics.

use crate::problem::Validator;

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
