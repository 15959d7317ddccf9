//! Requests of a plan, ready to send.

use std::{ops::Deref, sync::Arc};

use idempost::bytes::Bytes;

use crate::budget::{ByteBudget, Reserved};

/// Which endpoint a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchKind {
    /// `POST /emails/batch`: the body is an array.
    Batch,
    /// `POST /emails`: the body is one email, with an attachment or a schedule.
    Single,
}

/// A request of a plan. The same plan gives the same bytes every time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    /// The index in the plan, from 0.
    pub(crate) batch: u32,
    pub(crate) kind: BatchKind,
    /// The JSON body: at most 4 MiB, or one email of any size.
    pub(crate) body: Bytes,
    /// The first 128 bits of the body's BLAKE3 hash.
    pub(crate) hash: [u8; 16],
    /// The rows, in the order of the emails in the body.
    pub(crate) rows: Vec<PreparedRow>,
}

impl Prepared {
    /// Returns the number of emails, at most 100.
    pub(crate) fn emails(&self) -> u16 {
        u16::try_from(self.rows.len()).unwrap_or(u16::MAX)
    }
}

/// A request of a plan that is ready to send, and its share of the memory for requests.
#[derive(Debug)]
pub(crate) struct Rendered {
    prepared: Prepared,
    _reserved: Reserved,
}

impl Rendered {
    /// Blocks until there is memory for the request. Its body counts twice: each attempt sends a copy.
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

/// A row of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreparedRow {
    /// The number of the row, from 1.
    pub(crate) row: u64,
    /// The addresses in `to`, separated by `; `.
    pub(crate) recipient: String,
}
