//! Stores of records: ordered, with lookups by ID, key and group whose cost doesn't grow with the number of records.

pub mod backlog;
pub mod budget;
pub mod changes;
pub mod counted;
pub mod dirty;
pub mod expiring;
pub mod interned;
pub mod ledger;
pub mod mails;
pub mod packed_headers;
pub mod paging;
pub mod single;
pub mod size;
pub mod snapshot_lock;
pub mod table;
