//! How much this thread has changed in stores that are written to disk.
//!
//! The stores count here and the gate reads it (``gate``), so no store knows whether or where it is written.

use std::cell::Cell;

/// What a change costs beside the bytes of its record, in bytes.
const ROW: usize = 512;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Counts a changed record and those of its bytes that the caller knows of.
pub(crate) fn count(bytes: usize) {
    BYTES.set(BYTES.get().wrapping_add(ROW + bytes));
}

/// The bytes that this thread has counted since it started. Wraps around.
pub(crate) fn bytes() -> usize {
    BYTES.get()
}
