//! Subscriptions to topics.

use crate::problem::Problem;

open_enum! {
    /// Whether a contact receives the emails of a topic. (The specification has seen `opt_in`.)
    Subscription {
        /// The contact receives them.
        OptIn = "opt_in",
        /// The contact doesn't receive them.
        OptOut = "opt_out",
    }
}

pub(crate) fn subscription_problem(at: &str, subscription: &Subscription) -> Option<Problem> {
    let Subscription::Unknown(value) = subscription else { return None };
    Some(Problem::new(at, "type", "a subscription is opt_in or opt_out").found(value.as_str()))
}
