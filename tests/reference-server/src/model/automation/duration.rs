//! Durations in words, such as `30 minutes` or `1 day`. The specification doesn't define delays; these are parsed by jiff's friendly
//! format, with a day of 24 hours, and are at most 30 days.

use jiff::{SignedDuration, Span, SpanRelativeTo};

const MAX_DURATION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Parses a duration. The error continues a sentence that starts with the field's name.
pub fn read(text: &str) -> Result<SignedDuration, &'static str> {
    let duration = parse(text)?;
    if duration <= SignedDuration::ZERO || duration > MAX_DURATION {
        return Err("must be above zero and at most 30 days");
    }
    Ok(duration)
}

/// The same without limits.
pub fn parse(text: &str) -> Result<SignedDuration, &'static str> {
    let unreadable = "must be a duration such as `30 minutes` or `3 days`";
    // No valid duration is longer; the parser also reads `ago` and ISO 8601 (`PT5M`).
    let words = text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_digit());
    if !words || text.ends_with("ago") {
        return Err(unreadable);
    }
    let span: Span = text.parse().map_err(|_| unreadable)?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_in_words_are_parsed() {
        for (text, seconds) in [
            ("1 second", 1),
            ("30 minutes", 1_800),
            ("1 hour", 3_600),
            ("1 hour 30 minutes", 5_400),
            ("12 hours", 43_200),
            ("1 day", 86_400),
            ("3 days", 259_200),
            ("1 week", 604_800),
            ("30 days", 2_592_000),
            ("5m", 300),
        ] {
            assert_eq!(read(text).map(|duration| duration.as_secs()), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn invalid_and_too_long_durations_are_rejected() {
        for text in [
            "",
            "soon",
            "5",
            "minutes",
            "-5 minutes",
            "0 minutes",
            "5 minutes ago",
            "PT5M",
            "31 days",
            "30 days 1 second",
            "5 weeks",
            "1 month",
            "1 year",
            "five minutes",
            "99999999999999999999 days",
            "5 minutes; drop",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
