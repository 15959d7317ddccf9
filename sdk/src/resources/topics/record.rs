//! Topics as the service returns them.

use crate::{
    resources::shared::Subscription,
    types::{Timestamp, TopicId},
};

record! {
    /// A topic.
    pub struct Topic {
        /// The topic's ID.
        pub id: TopicId,
        /// The topic's name.
        pub name: String,
        /// The topic's description.
        pub description: Option<String>,
        /// The subscription of contacts without an explicit one.
        pub default_subscription: Option<Subscription>,
        /// Which contacts see the topic on the preference page.
        pub visibility: Option<Visibility>,
        /// When the topic was created.
        pub created_at: Option<Timestamp>,
    }
}

items!(Topic);

open_enum! {
    /// Which contacts see a topic on the preference page.
    Visibility {
        /// All contacts.
        Public = "public",
        /// Only contacts that already have an explicit subscription.
        Private = "private",
    }
}
