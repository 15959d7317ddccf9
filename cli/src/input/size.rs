//! Sizes in bytes.

/// Parses `1GiB`, `500 MB`, `4096`; units are powers of 1,000 or, with an `i`, of 1,024. Returns `None` for an invalid or zero size.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    parse_size::parse_size(text).ok().filter(|size| *size > 0)
}
