//! Where records are kept: in order, found by ID, by key and by group, at a cost that doesn't grow with their number.

pub(crate) mod budget;
pub(crate) mod changes;
pub(crate) mod counted;
pub(crate) mod ledger;
pub(crate) mod size;
pub(crate) mod table;
