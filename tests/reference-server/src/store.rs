//! Where records are kept: in order, found by ID, by key and by group, at a cost that doesn't grow with their number.

pub(crate) mod backlog;
pub(crate) mod budget;
pub(crate) mod changes;
pub(crate) mod counted;
pub(crate) mod dirty;
pub(crate) mod interned;
pub(crate) mod ledger;
pub(crate) mod paging;
pub(crate) mod size;
pub(crate) mod snapshot_lock;
pub(crate) mod table;
