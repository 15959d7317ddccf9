//! Contacts.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::value::PropertyValue;
use crate::store::table;
use crate::wire::{Problem, to_database_format, view, words};

/// A new contact with only an address.
pub fn new_contact(id: Uuid, email: String, now: Timestamp) -> Contact {
    Contact { id, email, created_at: now, updated_at: now, ..Contact::default() }
}

/// A contact.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Contact {
    pub id: Uuid,
    /// `local@domain` as given. It is unique, ignoring case.
    pub email: String,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    /// Whether the contact receives no broadcasts at all.
    pub unsubscribed: bool,
    pub properties: BTreeMap<String, PropertyValue>,
    pub segments: Vec<Uuid>,
    /// Former segments, so that paging can continue after a former member.
    pub left_segments: BTreeSet<Uuid>,
    /// The topics that the contact has explicitly subscribed to or opted out of.
    pub topics: BTreeMap<Uuid, Subscription>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The groups of contacts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    /// The members of a segment.
    Member(Uuid),
    /// The contacts that have left a segment.
    FormerMember(Uuid),
    /// The unsubscribed contacts.
    Unsubscribed,
    /// The unsubscribed members of a segment.
    UnsubscribedMember(Uuid),
    /// The contacts with an explicit choice for a topic.
    Topic(Uuid),
    /// The contacts that have a value for the property with this key.
    Property(String),
}

impl table::Record for Contact {
    const NOUN: &'static str = "a contact";
    const PLURAL: &'static str = "contacts";
    const IGNORES_CASE: bool = true;

    type Group = Group;

    fn key(&self) -> Option<&str> {
        Some(&self.email)
    }

    fn conflict(&self, _: &Self) -> Problem {
        Problem::new(
            StatusCode::CONFLICT,
            "validation_error",
            format!("`email` must not be the address of another contact; found {:?}.", self.email),
        )
    }

    fn groups(&self) -> Vec<Group> {
        let members = self.segments.iter().copied().map(Group::Member);
        let former_members = self.left_segments.iter().copied().map(Group::FormerMember);
        let topics = self.topics.keys().copied().map(Group::Topic);
        let properties = self.properties.keys().cloned().map(Group::Property);
        let unsubscribed = std::iter::once(Group::Unsubscribed)
            .chain(self.segments.iter().copied().map(Group::UnsubscribedMember))
            .filter(|_| self.unsubscribed);
        members.chain(former_members).chain(topics).chain(properties).chain(unsubscribed).collect()
    }
}

impl Contact {
    /// Adds the contact to a segment; adding it again has no effect.
    pub fn join(&mut self, segment: Uuid) {
        self.left_segments.remove(&segment);
        if !self.segments.contains(&segment) {
            self.segments.push(segment);
        }
    }

    /// Removes the contact from a segment. Returns false if it isn't a member.
    pub fn leave_segment(&mut self, segment: Uuid) -> bool {
        let before = self.segments.len();
        self.segments.retain(|one| *one != segment);
        let left = self.segments.len() < before;
        if left {
            self.left_segments.insert(segment);
        }
        left
    }

    /// Removes all traces of a deleted segment.
    pub fn forget_segment(&mut self, segment: Uuid) {
        self.leave_segment(segment);
        self.left_segments.remove(&segment);
    }

    /// Whether it is or was a member, for cursors of the member list.
    pub fn has_joined(&self, segment: Uuid) -> bool {
        self.segments.contains(&segment) || self.left_segments.contains(&segment)
    }
}

words! {
    /// Whether a contact receives the emails of a topic.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Subscription {
        OptIn = "opt_in",
        OptOut = "opt_out",
    }
}

view! {
    pub Item of contact: Contact {
        id: contact.id,
        email: contact.email,
        first_name: contact.first_name,
        last_name: contact.last_name,
        created_at: to_database_format(contact.created_at),
        unsubscribed: contact.unsubscribed,
    }
}

view! {
    pub Detail of contact: Contact {
        object: "contact",
        ..Item,
        properties: contact.properties.iter().map(|(key, value)| (key, PropertyItem(value))).collect::<BTreeMap<_, _>>(),
    }
}

view! {
    PropertyItem of value: PropertyValue { type: value.kind(), value: value, }
}
