//! Sizes in bytes.

/// Parses `1GiB`, `500 MB`, `4096`; units are powers of 1,000 or, with an `i`, of 1,024. Returns `None` for an invalid or zero size.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = unit.trim().to_ascii_lowercase();
    let (prefix, base) = match unit.strip_suffix('b').unwrap_or(&unit) {
        prefix if prefix.ends_with('i') => (prefix.trim_end_matches('i'), 1024_u64),
        prefix => (prefix, 1000),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix)?;
    let size = digits.parse::<u64>().ok()?.checked_mul(base.pow(u32::try_from(power).ok()?))?;
    (size > 0).then_some(size)
}
