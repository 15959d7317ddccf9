//! Row positions in an input.

/// Where a row begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of the row, from 1; the header is 0.
    pub(crate) row: u64,
    /// The line, from 1.
    pub(crate) line: u64,
    /// The offset in bytes.
    pub(crate) offset: u64,
}
