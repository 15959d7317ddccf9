//! The rows that the earlier parts of a job have.

use super::RowKey;

/// What became of a row in an earlier part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    /// It was sent, it may have been, or its part will send it. It isn't planned again.
    Taken,
    /// The service rejected it.
    Rejected,
    /// It may have been sent, and is sent again deliberately.
    Unknown,
    /// Its part was canceled before it was sent.
    Unsent,
}

/// The rows of earlier parts: 26 bytes each.
#[derive(Debug, Default)]
pub(crate) struct KnownRows {
    /// Sorted by identity, a taken one first.
    rows: Vec<([u8; 16], Held, bool)>,
    /// The recipients of taken rows, sorted.
    recipients: Vec<u64>,
}

impl KnownRows {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add(&mut self, key: RowKey, held: Held) {
        self.rows.push((key.identity, held, false));
        if held == Held::Taken {
            self.recipients.push(key.recipient);
        }
    }

    /// Ends the additions; nothing is found before.
    pub(crate) fn sort(&mut self) {
        self.rows.sort_unstable();
        self.rows.dedup_by_key(|(identity, ..)| *identity);
        self.recipients.sort_unstable();
        self.recipients.dedup();
    }

    /// Returns what became of a row, and marks it as found.
    pub(super) fn find(&mut self, identity: &[u8; 16]) -> Option<Held> {
        let at = self.rows.binary_search_by_key(identity, |(identity, ..)| *identity).ok()?;
        let (_, held, found) = &mut self.rows[at];
        *found = true;
        Some(*held)
    }

    pub(super) fn has_recipient(&self, recipient: u64) -> bool {
        self.recipients.binary_search(&recipient).is_ok()
    }

    /// Counts the taken rows that weren't found.
    pub(crate) fn missing(&self) -> u64 {
        self.rows.iter().filter(|(_, held, found)| *held == Held::Taken && !found).count() as u64
    }
}
