//! Contact imports as the service returns them.

use crate::types::{ContactImportId, Timestamp};

open_enum! {
    /// The status of a contact import.
    ContactImportStatus {
        /// It hasn't started.
        Queued = "queued",
        /// Rows are being processed.
        InProgress = "in_progress",
        /// Every row was processed; some may have failed.
        Completed = "completed",
        /// It ended before the last row.
        Failed = "failed",
    }
}

impl ContactImportStatus {
    /// Returns whether the import has ended, completed or failed.
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

record! {
    /// An import of contacts.
    pub struct ContactImport {
        /// The import's ID.
        pub id: ContactImportId,
        /// The status.
        pub status: Option<ContactImportStatus>,
        /// When the file was accepted.
        pub created_at: Option<Timestamp>,
        /// When the import ended.
        pub completed_at: Option<Timestamp>,
        /// The number of rows by outcome.
        pub counts: ContactImportCounts,
    }
}

items!(ContactImport);

record! {
    /// The number of an import's rows by outcome so far. The service doesn't report which rows failed, or why.
    #[derive(PartialEq, Eq)]
    pub struct ContactImportCounts {
        /// The rows that were read.
        pub total: Option<u64>,
        /// Rows that created a contact.
        pub created: Option<u64>,
        /// Rows that updated a contact.
        pub updated: Option<u64>,
        /// Rows whose contact already existed and was left unchanged.
        pub skipped: Option<u64>,
        /// Rows without a valid contact.
        pub failed: Option<u64>,
    }
}
