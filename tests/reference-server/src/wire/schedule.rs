//! `scheduled_at`: an instant in ISO 8601, or in words such as `in 1 min` or `tomorrow at 9am`.
//!
//! The specification gives no grammar for the words. They are parsed by the crate `interim`, which stops at the first unknown word and
//! misinterprets numbers out of range. A schedule must be understood completely or rejected, so the words are preprocessed: filler words
//! (`in`, `at`, `on`, …) are dropped, a time of day is validated and normalized to `HH:MM:SS`, and an unknown word is an error. Without a
//! time zone the words mean UTC.

use interim::{Dialect, parse_date_string};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// How far ahead a schedule can lie. The specification is silent on it.
const LIMIT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Parses a schedule within the limit. The error continues a sentence that starts with the field's name.
pub fn read(text: &str, now: Timestamp) -> Result<Timestamp, &'static str> {
    let instant = parse(text, now)?;
    if instant.duration_since(now) > LIMIT { Err("must be at most 30 days ahead") } else { Ok(instant) }
}

fn parse(text: &str, now: Timestamp) -> Result<Timestamp, &'static str> {
    let instant = iso_8601(text.trim()).or_else(|| words(text, now)).ok_or(UNREADABLE)?;
    if instant < now { Err("must not lie in the past") } else { Ok(instant) }
}

const UNREADABLE: &str =
    "must be an ISO 8601 date and time, or words such as `in 1 min` or `tomorrow at 9am`";

/// A date and time, in UTC if it has no offset.
fn iso_8601(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    // The library's other civil formats don't start with a digit.
    text.starts_with(|first: char| first.is_ascii_digit()).then_some(())?;
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The preprocessed words.
struct Phrase {
    /// The input of the parser: a day, or a duration from now.
    day: Vec<String>,
    /// `HH:MM:SS`.
    time: Option<String>,
    zone: TimeZone,
}

fn words(text: &str, now: Timestamp) -> Option<Timestamp> {
    // No valid schedule is longer.
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let mut phrase = Phrase::sort(&text.to_ascii_lowercase())?;
    let now = now.to_zoned(phrase.zone.clone());
    if phrase.day.is_empty() {
        match &phrase.time {
            // "at 9am": today, which may be past.
            Some(_) => phrase.day.push("today".into()),
            None => return text.to_ascii_lowercase().contains("now").then(|| now.timestamp()),
        }
    }
    let months = phrase.day.iter().any(|word| word.starts_with("month") || word.starts_with("year"));
    if months && phrase.time.is_none() {
        // The parser would add months from midnight, and days from the current time.
        phrase.time = Some(now.strftime("%H:%M:%S").to_string());
    }
    if phrase.time.is_some() && phrase.day.iter().any(|word| is_short_unit(word)) {
        // "in 5 minutes at 9am": the parser would ignore the time.
        return None;
    }
    phrase.day.extend(phrase.time);
    Some(parse_date_string(&phrase.day.join(" "), now, Dialect::Us).ok()?.timestamp())
}

impl Phrase {
    /// Sorts the words. Returns `None` if one is unknown, or if the time of day occurs twice.
    fn sort(text: &str) -> Option<Self> {
        let mut phrase = Self { day: Vec::new(), time: None, zone: TimeZone::UTC };
        let mut words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            if let "in" | "at" | "on" | "from" | "now" | "the" | "of" = word {
                continue;
            }
            if let Some(zone) = zone(word) {
                phrase.zone = zone;
                continue;
            }
            // "9 am" counts as one word.
            let half = words.peek().copied().filter(|next| matches!(*next, "am" | "pm"));
            let joined = half.map(|half| format!("{word}{half}"));
            if let Some(time) = time_of_day(joined.as_deref().unwrap_or(word)) {
                if half.is_some() {
                    words.next();
                }
                if phrase.time.replace(time).is_some() {
                    return None;
                }
                continue;
            }
            let next_unit = word == "next" && words.peek().is_some_and(|next| unit(next).is_some());
            // The parser reads the "months" of "next months" as Monday.
            let word = if next_unit { "1" } else { word };
            phrase.day.extend(day_word(word)?);
        }
        phrase.has_a_sound_date().then(|| phrase.in_the_parser_s_order())
    }

    /// Reorders `March 5` without a year and `5 March 2027` with one: the parser reads `5 March 09:00` as the year 9, and requires a comma
    /// in `March 5, 2027`.
    fn in_the_parser_s_order(mut self) -> Self {
        let is_month = |word: &String| MONTHS.iter().any(|month| is_name(word, month));
        match self.day.as_slice() {
            [month, _, _] if is_month(month) => self.day.swap(0, 1),
            [_, month] if is_month(month) => self.day.swap(0, 1),
            _ => {}
        }
        self
    }

    /// Whether the day next to a month's name is in range for some month; the parser would wrap 257 to 1.
    fn has_a_sound_date(&self) -> bool {
        let named = self.day.iter().any(|word| MONTHS.iter().any(|month| is_name(word, month)));
        let number = |word: &String| word.parse::<u32>().ok();
        !named
            || self.day.iter().filter_map(number).all(|number| (1..=31).contains(&number) || number >= 1970)
    }
}

/// A time of day as `HH:MM:SS`.
fn time_of_day(word: &str) -> Option<String> {
    match word {
        "noon" | "midday" => return Some("12:00:00".into()),
        "midnight" => return Some("00:00:00".into()),
        _ => {}
    }
    let (clock, half) = match word.strip_suffix("am") {
        Some(clock) => (clock, Some(0)),
        None => word.strip_suffix("pm").map_or((word, None), |clock| (clock, Some(12))),
    };
    let mut parts = clock.split(':').map(|part| {
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u8>().ok()).flatten()
    });
    let hour = parts.next()??;
    let rest: Vec<_> = parts.collect::<Option<_>>()?;
    if rest.len() > 2 || (rest.is_empty() && half.is_none()) || rest.iter().any(|part| *part > 59) {
        return None;
    }
    let hour = match half {
        None => (hour <= 23).then_some(hour)?,
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
    };
    let minute = rest.first().unwrap_or(&0);
    let second = rest.get(1).unwrap_or(&0);
    Some(format!("{hour:02}:{minute:02}:{second:02}"))
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const MONTHS: [&str; 12] = [
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
];

const UNITS: [(&str, &[&str]); 7] = [
    ("seconds", &["s", "sec", "secs", "second", "seconds"]),
    ("minutes", &["m", "min", "mins", "minute", "minutes"]),
    ("hours", &["h", "hr", "hrs", "hour", "hours"]),
    ("days", &["d", "day", "days"]),
    ("weeks", &["w", "week", "weeks"]),
    ("months", &["month", "months"]),
    ("years", &["year", "years"]),
];

const NUMBERS: [&str; 11] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Translates a word for the parser; `5min` becomes two. `None` for an unknown word, or one that refers to the past.
fn day_word(word: &str) -> Option<Vec<String>> {
    if let "today" | "tomorrow" | "next" | "this" = word {
        return Some(vec![word.into()]);
    }
    if let "a" | "an" = word {
        return Some(vec!["1".into()]);
    }
    if let Some(number) = NUMBERS.iter().position(|name| *name == word) {
        return Some(vec![number.to_string()]);
    }
    if DAYS.iter().chain(&MONTHS).any(|name| is_name(word, name)) {
        return Some(vec![word.into()]);
    }
    if let Some(unit) = unit(word) {
        return Some(vec![unit.into()]);
    }
    if word.parse::<Date>().is_ok() && word.len() == 10 {
        return Some(vec![word.into()]);
    }
    let end = word.find(|char: char| !char.is_ascii_digit()).unwrap_or(word.len());
    let (number, rest) = word.split_at(end);
    if number.is_empty() || number.len() > 4 {
        return None;
    }
    match rest {
        "" | "st" | "nd" | "rd" | "th" => Some(vec![number.into()]),
        rest => Some(vec![number.into(), unit(rest)?.into()]),
    }
}

fn unit(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(_, names)| names.contains(&word)).map(|(unit, _)| *unit)
}

fn is_short_unit(word: &str) -> bool {
    matches!(word, "seconds" | "minutes" | "hours")
}

/// The name of a day or a month, or its first three letters.
fn is_name(word: &str, name: &str) -> bool {
    word == name || (word.len() == 3 && name.starts_with(word))
}

/// A time zone by its common abbreviation.
fn zone(word: &str) -> Option<TimeZone> {
    let name = match word {
        "utc" | "gmt" | "z" => return Some(TimeZone::UTC),
        "et" | "est" | "edt" => "America/New_York",
        "ct" | "cst" | "cdt" => "America/Chicago",
        "mt" | "mst" | "mdt" => "America/Denver",
        "pt" | "pst" | "pdt" => "America/Los_Angeles",
        "cet" | "cest" => "Europe/Berlin",
        _ => return None,
    };
    // Unknown on a system without time zone data: the words are rejected then.
    TimeZone::get(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Monday.
    const NOW: &str = "2026-03-02T12:00:00Z";

    fn reads(text: &str) -> Option<String> {
        parse(text, NOW.parse().unwrap()).ok().map(|instant| instant.to_string())
    }

    #[test]
    fn a_schedule_is_at_most_30_days_ahead() {
        let now = NOW.parse().unwrap();
        for text in ["in 30 days", "2026-04-01T12:00:00Z"] {
            assert!(read(text, now).is_ok(), "{text}");
        }
        for text in ["in 31 days", "in 1 month", "2026-04-01T12:00:01Z", "2027-03-02T12:00:00Z"] {
            assert_eq!(read(text, now), Err("must be at most 30 days ahead"), "{text}");
        }
    }

    #[test]
    fn iso_8601_is_parsed_with_and_without_an_offset() {
        for (text, expected) in [
            ("2026-03-02T13:00:00Z", "2026-03-02T13:00:00Z"),
            ("2026-03-02T13:00:00.250Z", "2026-03-02T13:00:00.25Z"),
            ("2026-03-02T15:00:00+02:00", "2026-03-02T13:00:00Z"),
            ("2026-03-02 13:00:00+00", "2026-03-02T13:00:00Z"),
            ("2026-03-02T13:00:00", "2026-03-02T13:00:00Z"),
            ("2026-03-03", "2026-03-03T00:00:00Z"),
            (" 2026-03-02T13:00:00Z ", "2026-03-02T13:00:00Z"),
        ] {
            assert_eq!(reads(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn words_are_relative_to_the_service_clock() {
        for (text, expected) in [
            ("now", "2026-03-02T12:00:00Z"),
            ("in 1 min", "2026-03-02T12:01:00Z"),
            ("in 1 hour", "2026-03-02T13:00:00Z"),
            ("in an hour", "2026-03-02T13:00:00Z"),
            ("in 90 seconds", "2026-03-02T12:01:30Z"),
            ("5 minutes from now", "2026-03-02T12:05:00Z"),
            ("5min", "2026-03-02T12:05:00Z"),
            ("In 2 Days", "2026-03-04T12:00:00Z"),
            ("in two weeks", "2026-03-16T12:00:00Z"),
            ("in 1 month", "2026-04-02T12:00:00Z"),
            ("tomorrow", "2026-03-03T12:00:00Z"),
            ("tomorrow at 9am", "2026-03-03T09:00:00Z"),
            ("tomorrow at 9 am", "2026-03-03T09:00:00Z"),
            ("9am tomorrow", "2026-03-03T09:00:00Z"),
            ("tomorrow at 12pm", "2026-03-03T12:00:00Z"),
            ("tomorrow at 12am", "2026-03-03T00:00:00Z"),
            ("tomorrow at noon", "2026-03-03T12:00:00Z"),
            ("today at 17:30", "2026-03-02T17:30:00Z"),
            ("at 5pm", "2026-03-02T17:00:00Z"),
            ("Friday at 3pm", "2026-03-06T15:00:00Z"),
            ("friday at 3pm UTC", "2026-03-06T15:00:00Z"),
            ("next month", "2026-04-02T12:00:00Z"),
            ("5 march at 9am", "2026-03-05T09:00:00Z"),
            ("March 5 at 9am", "2026-03-05T09:00:00Z"),
            ("march 5th, 2027 at 9am", "2027-03-05T09:00:00Z"),
            ("5 march 2027 9am", "2027-03-05T09:00:00Z"),
            ("2026-03-05 9:30pm", "2026-03-05T21:30:00Z"),
        ] {
            assert_eq!(reads(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn partially_understood_schedules_are_rejected() {
        for text in [
            "",
            " ",
            "soon",
            "whenever",
            "in",
            "at",
            "5",
            "in 5",
            "in minutes of joy",
            "tomorrow or so",
            "25:00",
            "tomorrow at 13pm",
            "tomorrow at 25:00",
            "tomorrow at 9:75am",
            "9am 10am",
            "in 5 minutes at 9am",
            "in 5 minutes tomorrow",
            "march 257",
            "march 32",
            "2026-13-01",
            "2026-258-01T00:00:00Z",
            "in 99999999999999999999 days",
            "-5 minutes",
            "in 1 min; drop",
            "1e3 days",
            "tomorrow\r\nat 9am",
            "завтра",
            "P1D",
            "1772452800",
        ] {
            assert_eq!(reads(text), None, "{text:?}");
        }
    }

    #[test]
    fn past_schedules_are_rejected() {
        for text in [
            "2026-03-02T11:59:59Z",
            "yesterday",
            "5 minutes ago",
            "last friday",
            "today at 9am",
            "1999-01-01",
        ] {
            assert_eq!(reads(text), None, "{text}");
        }
    }

    #[test]
    fn arbitrary_text_does_not_panic() {
        let words = [
            "in", "9999", "0", "31", "feb", "next", "this", "99:99", "12pm", "years", "days", ":", "-", "/",
            "z",
        ];
        for a in words {
            for b in words {
                for c in words {
                    let _ = reads(&format!("{a} {b} {c}"));
                    let _ = reads(&format!("{a}{b}{c}"));
                }
            }
        }
    }
}
