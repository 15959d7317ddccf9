//! The result of a batch as workers record it: what became of its emails, and the requests that it took.

/// The number of bytes before the record.
const COUNTS: usize = 9;

/// The requests of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    /// The requests, those of earlier workers included.
    pub(crate) requests: u32,
    /// The responses with status 429.
    pub(crate) throttled: u32,
    /// Whether a request repeated an earlier one whose outcome was uncertain.
    pub(crate) repeated: bool,
}

impl Effort {
    /// Puts the counts before a record.
    pub(super) fn before(self, record: &[u8]) -> Vec<u8> {
        let Self { requests, throttled, repeated } = self;
        let parts = [&requests.to_le_bytes()[..], &throttled.to_le_bytes(), &[u8::from(repeated)], record];
        parts.concat()
    }

    /// Splits a result into the counts and the record. One that is too short has neither.
    pub(crate) fn split(result: &[u8]) -> (Self, &[u8]) {
        let Some((counts, record)) = result.split_first_chunk::<COUNTS>() else {
            return (Self::default(), &[]);
        };
        let [a, b, c, d, e, f, g, h, repeated] = *counts;
        let effort = Self {
            requests: u32::from_le_bytes([a, b, c, d]),
            throttled: u32::from_le_bytes([e, f, g, h]),
            repeated: repeated != 0,
        };
        (effort, record)
    }
}
