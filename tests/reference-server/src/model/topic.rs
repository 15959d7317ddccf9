//! Topics, which contacts can subscribe to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::contact::Subscription;
use crate::store::table::{self, NoGroup};
use crate::wire::{to_database_format, view, words};

/// A topic.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Topic {
    pub id: Uuid,
    pub name: String,
    pub description: Option<String>,
    /// The subscription of contacts without a choice. It never changes.
    pub default_subscription: Subscription,
    pub visibility: Visibility,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl table::Record for Topic {
    const NOUN: &'static str = "a topic";
    const PLURAL: &'static str = "topics";

    type Group = NoGroup;
}

words! {
    /// Where a topic is shown to contacts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Visibility {
        Public = "public",
        Private = "private",
    }
}

view! {
    pub Item of topic: Topic {
        id: topic.id,
        name: topic.name,
        description: topic.description,
        default_subscription: topic.default_subscription,
        visibility: topic.visibility,
        created_at: to_database_format(topic.created_at),
    }
}

view! {
    pub Detail of topic: Topic { object: "topic", ..Item, }
}
