//! The number of bytes that this thread has changed in persistent stores.
//!
//! The stores count here and the snapshot lock reads it ([`snapshot_lock`](super::snapshot_lock)), so stores don't depend on persistence.

use std::cell::Cell;

/// The overhead of a change in addition to the bytes of its record, in bytes.
const ROW: usize = 512;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Counts a changed record, with as many of its bytes as the caller knows.
pub fn count(bytes: usize) {
    BYTES.set(BYTES.get().wrapping_add(ROW + bytes));
}

/// The bytes that this thread has counted since it started. Wraps around.
pub fn bytes() -> usize {
    BYTES.get()
}
