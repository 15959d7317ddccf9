//! Requests of a plan, ready to send.

use std::{ops::Deref, sync::Arc};

use idempost::bytes::Bytes;

use crate::budget::{ByteBudget, Reserved};

/// The first 128 bits of the BLAKE3 hash of a request's body.
pub(crate) type BodyHash = [u8; 16];

pub(super) fn body_hash(hasher: &blake3::Hasher) -> BodyHash {
    truncate_hash(hasher.finalize())
}

/// Returns the first 128 bits.
pub(super) fn truncate_hash(hash: blake3::Hash) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash.as_bytes()[..16]);
    half
}

/// The endpoint that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchKind {
    /// `POST /emails/batch`: the body is an array.
    Batch,
    /// `POST /emails`: the body is one email, with an attachment or a schedule.
    Single,
}

/// A request of a plan. The same plan always produces the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    /// The index in the plan, from 0.
    pub(crate) batch: u32,
    pub(crate) kind: BatchKind,
    /// The JSON body: at most 4 MiB, or one email of any size.
    pub(crate) body: Bytes,
    pub(crate) hash: BodyHash,
    /// The rows, in the order of the emails in the body.
    pub(crate) rows: Vec<PreparedRow>,
    /// The number of emails to each of the domains that are [counted](super::Preparer::counting).
    pub(crate) domains: Vec<u64>,
}

impl Prepared {
    /// Returns the number of emails, at most 100.
    pub(crate) fn emails(&self) -> u16 {
        u16::try_from(self.rows.len()).unwrap_or(u16::MAX)
    }

    /// Returns a batch with only one of the emails, and its hash.
    pub(crate) fn alone(&self, email: usize) -> (Bytes, BodyHash) {
        // After the opening bracket, or after the previous email and its comma.
        let start = email.checked_sub(1).map_or(0, |before| self.rows[before].end) + 1;
        let body = [b"[", &self.body[start..self.rows[email].end], b"]"].concat();
        let hash = body_hash(blake3::Hasher::new().update(&body));
        (body.into(), hash)
    }
}

/// A request that is ready to send, and its share of the memory budget.
#[derive(Debug)]
pub(crate) struct Rendered {
    prepared: Prepared,
    _reserved: Reserved,
}

impl Rendered {
    /// Blocks until the budget has room for the request. Its body counts twice, since each attempt sends a copy.
    pub(crate) fn new(prepared: Prepared, budget: &Arc<ByteBudget>) -> Self {
        let reserved = budget.reserve(2 * prepared.body.len());
        Self { prepared, _reserved: reserved }
    }
}

impl Deref for Rendered {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        &self.prepared
    }
}

/// A row of a request that isn't rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedRow {
    /// The number of the row, from 1.
    pub(crate) row: u64,
    /// The addresses in `to`.
    pub(crate) to: Vec<String>,
    /// The subject; `None` if a stored template contains it.
    pub(crate) subject: Option<String>,
}

/// A row of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreparedRow {
    /// The number of the row, from 1.
    pub(crate) row: u64,
    /// The addresses in `to`, separated by `; `.
    pub(crate) recipient: String,
    /// The end of the row's email in the body.
    pub(crate) end: usize,
}
