//! `scheduled_at`: an instant in ISO 8601, or in words such as `in 1 min` or `tomorrow at 9am`.
//!
//! The specification gives no grammar for the words. Here they are, in any order: a duration from now (`in 1h30m`, `in half an hour`, `next
//! month`), or a day (`today`, `tomorrow`, `friday`, `march 5`, `5 march 2027`, `2026-03-05`), a time of day (`9am`, `17:30`, `noon`, `end of
//! day`) and a time zone. `tonight` is today at 22:00 unless it has a time. A day keeps the current time of day, except a date, which starts at
//! midnight; a time of day without a day is the next one. An unknown word is an error. Without a time zone the words mean UTC.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, Zoned};

/// How far ahead a schedule can lie. The specification is silent on it.
const LIMIT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Parses a schedule within the limit. The error continues a sentence that starts with the field's name.
pub fn read(text: &str, now: Timestamp) -> Result<Timestamp, &'static str> {
    let instant = parse(text, now)?;
    if instant.duration_since(now) > LIMIT { Err("must be at most 30 days ahead") } else { Ok(instant) }
}

fn parse(text: &str, now: Timestamp) -> Result<Timestamp, &'static str> {
    let instant = iso_8601(text.trim()).or_else(|| parse_words(text, now)).ok_or(UNREADABLE)?;
    if instant < now { Err("must not be in the past") } else { Ok(instant) }
}

const UNREADABLE: &str =
    "must be an ISO 8601 date and time, or words such as `in 1 min` or `tomorrow at 9am`";

/// A date and time, in UTC if it has neither an offset nor the name of a time zone (RFC 9557).
fn iso_8601(text: &str) -> Option<Timestamp> {
    if text.ends_with(']') {
        return text.parse::<Zoned>().ok().map(|instant| instant.timestamp());
    }
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    // The library's other civil formats don't start with a digit.
    text.starts_with(|first: char| first.is_ascii_digit()).then_some(())?;
    // The library's last instant is in that year.
    if let Some(rest) = text.strip_prefix("9999-") {
        return iso_8601(&format!("9998-{rest}")).map(|_| Timestamp::MAX);
    }
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Words that carry no meaning.
const FILLERS: [&str; 9] = ["in", "at", "on", "from", "now", "the", "of", "and", "this"];

/// The meaning of the words.
#[derive(Default)]
struct Phrase {
    months: i64,
    days: i64,
    seconds: i64,
    is_relative: bool,
    day: Option<Day>,
    time: Option<Time>,
    is_tonight: bool,
    zone: Option<TimeZone>,
}

#[derive(Clone, Copy)]
enum Day {
    /// This many days from today.
    Later(i64),
    Weekday(Weekday),
    /// The first such weekday after today.
    NextWeekday(Weekday),
    /// The year is the next possible one unless it is given.
    Date {
        year: Option<i16>,
        month: i8,
        day: i8,
    },
}

fn parse_words(text: &str, now: Timestamp) -> Option<Timestamp> {
    // No valid schedule is longer.
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let text = text.to_ascii_lowercase();
    let all: Vec<_> = text.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect();
    let words: Vec<_> = all.iter().copied().filter(|word| !FILLERS.contains(word)).collect();
    if words.is_empty() {
        return all.contains(&"now").then_some(now);
    }
    let mut phrase = Phrase::default();
    let mut rest = &words[..];
    while !rest.is_empty() {
        rest = phrase.read(rest)?;
    }
    phrase.resolve(now)
}

impl Phrase {
    /// Reads the first words, and returns the rest. `None` if they are unknown or contradictory.
    fn read<'a, 'w>(&mut self, words: &'a [&'w str]) -> Option<&'a [&'w str]> {
        let joined = words.get(..2).map(<[&str]>::concat);
        let is_half = words.get(1).is_some_and(|half| matches!(*half, "am" | "pm"));
        match words {
            ["today", rest @ ..] => self.set_day(Day::Later(0), rest),
            ["tomorrow", rest @ ..] => self.set_day(Day::Later(1), rest),
            ["tonight", rest @ ..] => {
                self.is_tonight = true;
                self.set_day(Day::Later(0), rest)
            }
            ["end", "day", rest @ ..] | ["eod", rest @ ..] => {
                self.set_time(Time::constant(23, 59, 59, 0), rest)
            }
            ["half", "a" | "an", "hour", rest @ ..] | ["half", "hour", rest @ ..] => {
                self.set_delay(30, "minutes", rest)
            }
            ["half", "a", "day", rest @ ..] => self.set_delay(12, "hours", rest),
            ["next", name, rest @ ..] => match parse_weekday(name) {
                Some(weekday) => self.set_day(Day::NextWeekday(weekday), rest),
                None => self.set_delay(1, name, rest),
            },
            [_, _, rest @ ..] if is_half => self.set_time(time_of_day(&joined?)?, rest),
            [word, rest @ ..] if time_of_day(word).is_some() => self.set_time(time_of_day(word)?, rest),
            [word, rest @ ..] if parse_zone(word).is_some() => {
                self.zone = parse_zone(word);
                Some(rest)
            }
            [word, rest @ ..] if parse_weekday(word).is_some() => {
                self.set_day(Day::Weekday(parse_weekday(word)?), rest)
            }
            [name, day, rest @ ..] if parse_month(name).is_some() => self.date(parse_month(name)?, day, rest),
            [day, name, rest @ ..] if parse_month(name).is_some() => self.date(parse_month(name)?, day, rest),
            [date, rest @ ..] if date.len() == 10 => {
                let date: Date = date.parse().ok()?;
                let (year, month, day) = (Some(date.year()), date.month(), date.day());
                self.set_day(Day::Date { year, month, day }, rest)
            }
            [count, name, rest @ ..] if parse_number(count).is_some() => {
                self.set_delay(parse_number(count)?, name, rest)
            }
            [word, rest @ ..] => self.parse_durations(word).map(|()| rest),
            [] => None,
        }
    }

    fn set_day<T>(&mut self, day: Day, rest: T) -> Option<T> {
        self.day.replace(day).is_none().then_some(rest)
    }

    fn set_time<T>(&mut self, time: Time, rest: T) -> Option<T> {
        self.time.replace(time).is_none().then_some(rest)
    }

    fn set_delay<T>(&mut self, count: i64, name: &str, rest: T) -> Option<T> {
        self.is_relative = true;
        match parse_unit(name)? {
            "seconds" => self.seconds += count,
            "minutes" => self.seconds += count * 60,
            "hours" => self.seconds += count * 3_600,
            "days" => self.days += count,
            "weeks" => self.days += count * 7,
            "months" => self.months += count,
            _ => self.months += count * 12,
        }
        Some(rest)
    }

    /// A day of a month, which a year may follow.
    fn date<'a, 'w>(&mut self, month: i8, day: &str, rest: &'a [&'w str]) -> Option<&'a [&'w str]> {
        let day = ["st", "nd", "rd", "th"].iter().find_map(|end| day.strip_suffix(end)).unwrap_or(day);
        let day = day.parse().ok().filter(|day| (1..=31).contains(day))?;
        let year =
            rest.first().and_then(|year| year.parse().ok()).filter(|year| (1970..=9998).contains(year));
        self.set_day(Day::Date { year, month, day }, &rest[usize::from(year.is_some())..])
    }

    /// `5min` or `1h30m`.
    fn parse_durations(&mut self, word: &str) -> Option<()> {
        let mut rest = word;
        while !rest.is_empty() {
            let digits = rest.find(|char: char| !char.is_ascii_digit())?;
            let (count, after) = rest.split_at(digits);
            let end = after.find(|char: char| char.is_ascii_digit()).unwrap_or(after.len());
            self.set_delay(parse_number(count)?, &after[..end], ())?;
            rest = &after[end..];
        }
        Some(())
    }

    fn resolve(self, now: Timestamp) -> Option<Timestamp> {
        let now = now.to_zoned(self.zone.clone().unwrap_or(TimeZone::UTC));
        let has_day = self.day.is_some() || self.time.is_some();
        // "in 5 minutes at 9am", "in 2 days tomorrow"
        if has_day && self.seconds > 0 || self.day.is_some() && self.is_relative {
            return None;
        }
        let span = Span::new().try_months(self.months).ok()?.try_days(self.days).ok()?;
        let Ok(later) = now.checked_add(span.try_seconds(self.seconds).ok()?) else {
            return Some(Timestamp::MAX);
        };
        if !has_day {
            return self.is_relative.then(|| later.timestamp());
        }
        let tonight = self.is_tonight.then(|| Time::constant(22, 0, 0, 0));
        let is_date = matches!(self.day, Some(Day::Date { .. }));
        let time = self.time.or(tonight).unwrap_or(if is_date { Time::midnight() } else { now.time() });
        let date = match self.day {
            None if !self.is_relative && time < now.time() => later.date().tomorrow().ok()?,
            None => later.date(),
            Some(day) => day.date(&now, time)?,
        };
        Some(date.to_datetime(time).to_zoned(now.time_zone().clone()).ok()?.timestamp())
    }
}

impl Day {
    /// The next such day on which the time is in the future.
    fn date(self, now: &Zoned, time: Time) -> Option<Date> {
        let today = now.date();
        match self {
            Self::Later(days) => today.checked_add(Span::new().days(days)).ok(),
            Self::Weekday(weekday) if today.weekday() == weekday && time > now.time() => Some(today),
            Self::Weekday(weekday) | Self::NextWeekday(weekday) => today.nth_weekday(1, weekday).ok(),
            Self::Date { year: Some(year), month, day } => Date::new(year, month, day).ok(),
            Self::Date { year: None, month, day } => {
                let of = |year| Date::new(year, month, day).ok();
                of(today.year()).filter(|date| *date >= today).or_else(|| of(today.year() + 1))
            }
        }
    }
}

fn time_of_day(word: &str) -> Option<Time> {
    match word {
        "noon" | "midday" => return Some(Time::constant(12, 0, 0, 0)),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let (clock, half) = match word.strip_suffix("am") {
        Some(clock) => (clock, Some(0)),
        None => word.strip_suffix("pm").map_or((word, None), |clock| (clock, Some(12))),
    };
    let mut parts = clock.split(':').map(|part| {
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<i8>().ok()).flatten()
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
    Time::new(hour, *rest.first().unwrap_or(&0), *rest.get(1).unwrap_or(&0), 0).ok()
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const MONTHS: &str = "january february march april may june july august september october november december";

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

/// Enough for 30 days in seconds.
const MAX_DIGITS: usize = 7;

/// A count, in digits or as a word.
fn parse_number(word: &str) -> Option<i64> {
    if let "a" | "an" = word {
        return Some(1);
    }
    let named = NUMBERS.iter().position(|name| *name == word).and_then(|number| i64::try_from(number).ok());
    let digits = || word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() <= MAX_DIGITS;
    named.or_else(|| digits().then(|| word.parse().ok()).flatten())
}

fn parse_weekday(word: &str) -> Option<Weekday> {
    let day = DAYS.iter().position(|name| is_name(word, name))?;
    Weekday::from_monday_zero_offset(i8::try_from(day).ok()?).ok()
}

fn parse_month(word: &str) -> Option<i8> {
    let month = MONTHS.split(' ').position(|name| is_name(word, name))?;
    i8::try_from(month + 1).ok()
}

fn parse_unit(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(_, names)| names.contains(&word)).map(|(unit, _)| *unit)
}

/// The name of a day or a month, or its first three letters.
fn is_name(word: &str, name: &str) -> bool {
    word == name || (word.len() == 3 && name.starts_with(word))
}

/// A time zone by its common abbreviation.
fn parse_zone(word: &str) -> Option<TimeZone> {
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
    fn iso_8601_is_parsed_with_and_without_an_offset() {
        for (text, expected) in [
            ("2026-03-02T13:00:00Z", "2026-03-02T13:00:00Z"),
            ("2026-03-02T13:00:00.250Z", "2026-03-02T13:00:00.25Z"),
            ("2026-03-02T15:00:00+02:00", "2026-03-02T13:00:00Z"),
            ("2026-03-02 13:00:00+00", "2026-03-02T13:00:00Z"),
            ("2026-03-02T13:00:00", "2026-03-02T13:00:00Z"),
            ("2026-03-03", "2026-03-03T00:00:00Z"),
            ("2026-03-02T15:00:00[Europe/Berlin]", "2026-03-02T14:00:00Z"),
            ("2026-03-02T15:00:00+01:00[Europe/Berlin]", "2026-03-02T14:00:00Z"),
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
            ("in 2592000 seconds", "2026-04-01T12:00:00Z"),
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
            ("at 9am", "2026-03-03T09:00:00Z"),
            ("midnight", "2026-03-03T00:00:00Z"),
            ("3am PST", "2026-03-03T11:00:00Z"),
            ("5am PST", "2026-03-02T13:00:00Z"),
            ("Friday at 3pm", "2026-03-06T15:00:00Z"),
            ("friday at 3pm UTC", "2026-03-06T15:00:00Z"),
            ("next month", "2026-04-02T12:00:00Z"),
            ("5 march at 9am", "2026-03-05T09:00:00Z"),
            ("March 5 at 9am", "2026-03-05T09:00:00Z"),
            ("march 5th, 2027 at 9am", "2027-03-05T09:00:00Z"),
            ("5 march 2027 9am", "2027-03-05T09:00:00Z"),
            ("2026-03-05 9:30pm", "2026-03-05T21:30:00Z"),
            ("tonight", "2026-03-02T22:00:00Z"),
            ("tonight at 9pm", "2026-03-02T21:00:00Z"),
            ("in half an hour", "2026-03-02T12:30:00Z"),
            ("in half a day", "2026-03-03T00:00:00Z"),
            ("in 1h30m", "2026-03-02T13:30:00Z"),
            ("in 1 hour and 30 minutes", "2026-03-02T13:30:00Z"),
            ("in 2d 6h", "2026-03-04T18:00:00Z"),
            ("end of day", "2026-03-02T23:59:59Z"),
            ("EOD tomorrow", "2026-03-03T23:59:59Z"),
            ("in 2 days at 9am", "2026-03-04T09:00:00Z"),
            ("monday at 1pm", "2026-03-02T13:00:00Z"),
            ("monday at 11am", "2026-03-09T11:00:00Z"),
            ("next monday", "2026-03-09T12:00:00Z"),
            ("next monday at 1pm", "2026-03-09T13:00:00Z"),
            ("next friday at 1pm", "2026-03-06T13:00:00Z"),
            ("this sunday", "2026-03-08T12:00:00Z"),
            ("january 5", "2027-01-05T00:00:00Z"),
            ("tomorrow at 9am PST", "2026-03-03T17:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00.999999999Z"),
            ("in 9999 years", "9999-12-30T22:00:00.999999999Z"),
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
            "in 2 days tomorrow",
            "today tomorrow",
            "tomorrow next",
            "2026-03-02T15:00:00+05:00[Europe/Berlin]",
            "half",
            "in 1h30",
            "end of",
            "9999-13-01",
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
