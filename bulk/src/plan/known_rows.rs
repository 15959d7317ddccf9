//! The rows held by earlier parts of a job.

use std::path::Path;

use super::{
    RowKey,
    hashes::{Bits, Lookup, Sorter},
};
use crate::error::Result;

/// The state of a row in an earlier part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    /// It was sent, or may have been sent. It isn't planned again.
    Taken,
    /// Its part will send it. It isn't planned again.
    Pending,
    /// The service rejected it.
    Rejected,
    /// It may have been sent. It is planned again only deliberately.
    Unknown,
    /// Its part was canceled before it was sent.
    Unsent,
}

impl Held {
    const ALL: [Self; 5] = [Self::Taken, Self::Pending, Self::Rejected, Self::Unknown, Self::Unsent];

    /// Returns whether the row is never planned again.
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Self::Taken | Self::Pending)
    }
}

/// The rows of earlier parts, while they are collected.
#[derive(Debug)]
pub(crate) struct EarlierRows {
    rows: Sorter,
    /// The recipients of taken rows.
    recipients: Sorter,
}

impl EarlierRows {
    /// Creates an empty collection with its files in this folder.
    pub(crate) fn new(dir: &Path) -> Self {
        Self { rows: Sorter::new(dir), recipients: Sorter::new(dir) }
    }

    pub(crate) fn add(&mut self, key: RowKey, held: Held) -> Result<()> {
        if held.is_final() {
            self.recipients.push((key.recipient, 0))?;
        }
        self.rows.push((key.identity, held as u64))
    }

    /// Completes the collection. A row taken in one part is taken, whatever its state in other parts.
    pub(crate) fn finish(self) -> Result<KnownRows> {
        let (mut taken, mut pending) = (0, 0);
        let rows = Lookup::new(self.rows, |(_, held)| {
            taken += u64::from(held == Held::Taken as u64);
            pending += u64::from(held == Held::Pending as u64);
        })?;
        let recipients = Lookup::new(self.recipients, drop)?;
        Ok(KnownRows { rows: Some((rows, recipients)), found: Bits::default(), taken, pending })
    }
}

/// The rows of earlier parts, with one bit of memory each.
#[derive(Debug, Default)]
pub(crate) struct KnownRows {
    /// The rows, and the recipients of taken rows.
    rows: Option<(Lookup, Lookup)>,
    found: Bits,
    /// The numbers of rows of each kind that weren't found.
    taken: u64,
    pending: u64,
}

impl KnownRows {
    /// Returns the state of a row, and marks it as found.
    pub(crate) fn find(&mut self, identity: &[u8; 16]) -> Result<Option<Held>> {
        let Some((rows, _)) = &self.rows else { return Ok(None) };
        let Some((place, held)) = rows.find(identity)? else { return Ok(None) };
        let held = Held::ALL.into_iter().find(|state| *state as u64 == held);
        if self.found.insert(place) {
            self.taken -= u64::from(held == Some(Held::Taken));
            self.pending -= u64::from(held == Some(Held::Pending));
        }
        Ok(held)
    }

    pub(super) fn has_recipient(&self, recipient: &[u8; 16]) -> Result<bool> {
        let Some((_, recipients)) = &self.rows else { return Ok(false) };
        Ok(recipients.find(recipient)?.is_some())
    }

    /// Counts the taken and pending rows that weren't found.
    pub(crate) fn missing_count(&self) -> u64 {
        self.taken + self.pending
    }

    /// Counts the pending rows that weren't found.
    pub(crate) fn pending(&self) -> u64 {
        self.pending
    }
}
