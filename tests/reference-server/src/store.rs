//! Stores of records: ordered, with lookups by ID, key and group whose cost doesn't grow with the number of records.

pub(crate) mod backlog;
pub(crate) mod budget;
pub(crate) mod changes;
pub(crate) mod counted;
pub(crate) mod dirty;
pub(crate) mod expiring;
pub(crate) mod interned;
pub(crate) mod ledger;
pub(crate) mod mails;
pub(crate) mod paging;
pub(crate) mod single;
pub(crate) mod size;
pub(crate) mod snapshot_lock;
pub(crate) mod table;
