//! Contact imports: CSV files whose rows become contacts in the background.

pub mod rows;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::table;
use crate::wire::{to_database_format, view, words};

/// The maximum size of a file, in bytes.
pub const MAX_FILE: usize = 200_000_000;
/// The maximum size of the other parts of a request, in bytes.
pub const MAX_PARTS: usize = 1 << 20;

/// An import.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ContactImport {
    pub id: Uuid,
    pub status: Status,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub counts: Counts,
}

/// The number of rows by effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Counts {
    /// The rows read so far.
    pub total: u64,
    pub created: u64,
    pub updated: u64,
    pub skipped: u64,
    pub failed: u64,
}

impl Counts {
    pub fn add(&mut self, more: Self) {
        let Self { total, created, updated, skipped, failed } = more;
        self.total += total;
        self.created += created;
        self.updated += updated;
        self.skipped += skipped;
        self.failed += failed;
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
    pub enum Status {
        Queued = "queued",
        InProgress = "in_progress",
        Completed = "completed",
        Failed = "failed",
    }
}

impl Status {
    /// The statuses of imports that aren't finished.
    pub const UNFINISHED: [Self; 2] = [Self::Queued, Self::InProgress];
}

impl table::Record for ContactImport {
    const NOUN: &'static str = "a contact import";
    const PLURAL: &'static str = "contact imports";

    type Group = Status;

    fn groups(&self) -> Vec<Status> {
        vec![self.status]
    }
}

impl ContactImport {
    pub fn new(id: Uuid, created_at: Timestamp) -> Self {
        Self { id, status: Status::Queued, created_at, completed_at: None, counts: Counts::default() }
    }

    /// Ends the import.
    pub fn finish(&mut self, status: Status, at: Timestamp) {
        self.status = status;
        self.completed_at = Some(at);
    }
}

view! {
    pub Detail of import: ContactImport {
        object: "contact_import",
        id: import.id,
        status: import.status.as_str(),
        created_at: to_database_format(import.created_at),
        completed_at: import.completed_at.map(to_database_format),
        counts: import.counts,
    }
}

view! {
    pub Item of import: ContactImport { ..Detail, }
}
