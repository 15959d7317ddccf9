//! Labels of an inbox, which can be added to its threads.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::table;
use crate::wire::{Problem, quote, to_iso, view};

/// A label.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Label {
    pub id: Uuid,
    pub inbox: Uuid,
    pub name: String,
    /// As `#RRGGBB`.
    pub color: String,
    pub created_at: Timestamp,
    /// The inbox and the name in lower case.
    key: String,
}

impl Label {
    pub fn new(id: Uuid, inbox: Uuid, name: String, color: String, created_at: Timestamp) -> Self {
        let mut label = Self { id, inbox, name: String::new(), color, created_at, key: String::new() };
        label.rename(name);
        label
    }

    pub fn rename(&mut self, name: String) {
        self.key = format!("{}/{}", self.inbox, name.to_lowercase());
        self.name = name;
    }
}

impl table::Record for Label {
    const NOUN: &'static str = "a label";
    const PLURAL: &'static str = "labels";

    /// The inbox.
    type Group = Uuid;

    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }

    fn conflict(&self, holder: &Self) -> Problem {
        let name = quote(&holder.name);
        Problem::validation(format!("`name` must be unique in the inbox; the label {} is {name}.", holder.id))
    }

    fn groups(&self) -> Vec<Uuid> {
        vec![self.inbox]
    }
}

view! {
    pub OfThread of label: Label {
        id: label.id,
        name: label.name,
        color: label.color,
    }
}

view! {
    pub Item of label: Label { ..OfThread, created_at: to_iso(label.created_at), }
}
