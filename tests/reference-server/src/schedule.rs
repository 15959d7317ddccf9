//! `scheduled_at`: an instant in ISO 8601, or in words such as `in 1 min` or `tomorrow at 9am`.
//!
//! The specification gives no grammar for the words. They are read by the crate `interim`, in UTC, after the words
//! that it does not know (`in`, `at`, `on`, `a`, `from now`, …) were taken out.

use interim::{Dialect, parse_date_string};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Reads a schedule. The error continues a sentence that starts with the field's name.
pub(crate) fn read(text: &str, now: Timestamp) -> Result<Timestamp, &'static str> {
    let instant = iso_8601(text.trim()).or_else(|| words(text, now)).ok_or(UNREADABLE)?;
    if instant < now { Err("must not lie in the past") } else { Ok(instant) }
}

const UNREADABLE: &str =
    "must be an ISO 8601 date and time, or words such as `in 1 min` or `tomorrow at 9am`";

/// A date and time with an offset, or without one and then in UTC.
fn iso_8601(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    if !text.starts_with(|first: char| first.is_ascii_digit()) || !text.contains('-') {
        return None;
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn words(text: &str, now: Timestamp) -> Option<Timestamp> {
    // No schedule that makes sense is longer, and numbers of so few digits can't overflow what reads them.
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let plain = normalise(text)?;
    let now = now.to_zoned(TimeZone::UTC);
    // The parser stops at the first word that it does not need; a schedule is understood as a whole or not at all.
    Some(parse_date_string(&plain, now, Dialect::Us).ok()?.timestamp())
}

/// The words as the parser knows them. None if there is one that it would silently skip.
fn normalise(text: &str) -> Option<String> {
    let mut plain: Vec<String> = Vec::new();
    for word in text.to_ascii_lowercase().split_whitespace() {
        let word = word.trim_end_matches(',');
        match word {
            "" | "in" | "at" | "on" | "from" | "now" | "the" | "and" | "utc" | "gmt" | "z" => {}
            "a" | "an" | "one" => plain.push("1".into()),
            "noon" | "midday" => plain.push("12:00".into()),
            "midnight" => plain.push("00:00".into()),
            "two" => plain.push("2".into()),
            "three" => plain.push("3".into()),
            "tonight" => plain.extend(["today".into(), "20:00".into()]),
            // Back in time is never a schedule, and the parser would accept it.
            "ago" | "last" | "yesterday" => return None,
            word if is_known(word) => plain.push(word.into()),
            _ => return None,
        }
    }
    if plain.is_empty() {
        return text.to_ascii_lowercase().contains("now").then(|| "now".into());
    }
    Some(plain.join(" "))
}

/// Words that mean something to the parser: numbers, times, dates, units, names of days and months.
fn is_known(word: &str) -> bool {
    const NAMES: [&str; 30] = [
        "today",
        "tomorrow",
        "next",
        "this",
        "am",
        "pm",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "sept",
        "tues",
        "thur",
        "thurs",
        "weds",
    ];
    const UNITS: [&str; 24] = [
        "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes", "h", "hr", "hrs",
        "hour", "hours", "d", "day", "days", "w", "week", "weeks", "month", "months", "year",
    ];
    let digits = word.trim_start_matches(|char: char| char.is_ascii_digit() || ":./-".contains(char));
    if digits.len() < word.len() {
        return matches!(digits, "" | "am" | "pm" | "st" | "nd" | "rd" | "th") || UNITS.contains(&digits);
    }
    NAMES.iter().any(|name| name == &word || (word.len() == 3 && name.starts_with(word)))
        || UNITS.contains(&word)
        || word == "years"
}
