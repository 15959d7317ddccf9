//! Segments: groups of contacts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::table::{self, NoGroup};
use crate::wire::{to_database_format, view};

/// A segment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Segment {
    pub id: Uuid,
    pub name: String,
    pub created_at: Timestamp,
}

impl table::Record for Segment {
    const NOUN: &'static str = "a segment";
    const PLURAL: &'static str = "segments";

    type Group = NoGroup;
}

view! {
    /// `docs/specification.md`, Segment (list item).
    pub Item of segment: Segment {
        id: segment.id,
        name: segment.name,
        created_at: to_database_format(segment.created_at),
    }
}
