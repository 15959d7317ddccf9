//! A batch's result as workers record it: the outcomes of its emails, and the number of requests.

/// The number of requests for a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestCounts {
    /// The requests, including earlier workers'.
    pub(crate) requests: u32,
    /// The responses with status 429.
    pub(crate) throttled: u32,
    /// Whether a request repeated an earlier one whose outcome was uncertain.
    pub(crate) repeated: bool,
}

impl RequestCounts {
    /// Prepends the counts to a record.
    pub(super) fn prepend_to(self, record: &[u8]) -> Vec<u8> {
        let Self { requests, throttled, repeated } = self;
        let parts = [&requests.to_le_bytes()[..], &throttled.to_le_bytes(), &[u8::from(repeated)], record];
        parts.concat()
    }

    /// Splits a result into the counts and the record. If it is too short, both are empty.
    pub(crate) fn split(result: &[u8]) -> (Self, &[u8]) {
        let split = || {
            let (requests, rest) = result.split_first_chunk()?;
            let (throttled, rest) = rest.split_first_chunk()?;
            let (repeated, record) = rest.split_first()?;
            let (requests, throttled) = (u32::from_le_bytes(*requests), u32::from_le_bytes(*throttled));
            Some((Self { requests, throttled, repeated: *repeated != 0 }, record))
        };
        split().unwrap_or_default()
    }
}
