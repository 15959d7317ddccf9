//! The filters of `emails list` and `emails tail`.

use idempost::emails::LastEvent;
use idempost::types::fields::Kind;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use serde_json::Value;

use crate::actions::pages::Match;
use crate::input::flags::Flags;
use crate::output::table::text_at;
use crate::output::time;
use crate::rows::prelude::*;

pub(super) const TO: Field =
    Field::new("to", "TEXT", "Part of the address or name of a recipient: to, cc or bcc");
pub(super) const FROM: Field = Field::new("from", "TEXT", "Part of the sender's address or name");
pub(super) const SUBJECT: Field = Field::new("subject", "TEXT", "Part of the subject");
pub(super) const STATUS: Field =
    Field::new("status", "EVENT", "Last event, such as delivered or bounced; comma-separated")
        .list(&Kind::Choice(LastEvent::KNOWN))
        .delimited();
pub(super) const SINCE: Field = Field::new(
    "since",
    "TIME",
    "Only emails created since then: a time or date (UTC by default), or an age such as 2h or 7d",
);

/// Names of text fields, and the text that one of them must contain, in lower case.
type Part = (&'static [&'static str], String);

/// Reads the flags.
pub(super) fn selection(given: &Given<'_>, flags: &mut Flags) -> Option<Selects> {
    // An empty one is rejected already.
    let since = given.text("since").filter(|text| !text.is_empty()).and_then(|text| {
        let rule = "--since must be a time such as 2026-11-26T09:00:00Z, a date, or an age such as 2h or 7d";
        flags.accept(parse_since(text, Timestamp::now()), "type", rule, "--since", text)
    });
    let parts = parts(["to", "from", "subject"].map(|flag| given.text(flag)));
    let status = given.texts("status");
    if parts.is_empty() && status.is_empty() && since.is_none() {
        return None;
    }
    Some(Box::new(move |email| check(email, &parts, &status, since)))
}

/// The text fields of `--to`, `--from` and `--subject`, and the required text.
fn parts(texts: [Option<&str>; 3]) -> Vec<Part> {
    let fields: [&[&str]; 3] = [&["to", "cc", "bcc"], &["from"], &["subject"]];
    fields.into_iter().zip(texts).filter_map(|(fields, text)| Some((fields, text?.to_lowercase()))).collect()
}

/// Whether an email meets all conditions.
fn check(email: &Value, parts: &[Part], status: &[String], since: Option<Timestamp>) -> Match {
    let created_at = || time::read(&text_at(email, "/created_at"));
    if let Some(since) = since
        && created_at().is_some_and(|created_at| created_at < since)
    {
        return Match::TooOld;
    }
    let has = |field: &str, part: &str| match &email[field] {
        Value::String(text) => text.to_lowercase().contains(part),
        Value::Array(texts) => {
            texts.iter().filter_map(Value::as_str).any(|text| text.to_lowercase().contains(part))
        }
        _ => false,
    };
    let is_kept = parts.iter().all(|(fields, part)| fields.iter().any(|field| has(field, part)))
        && (status.is_empty() || status.contains(&text_at(email, "/last_event")));
    if is_kept { Match::Yes } else { Match::No }
}

/// Parses a time or the beginning of a date, in UTC unless it names an offset or a zone; or an age.
fn parse_since(text: &str, now: Timestamp) -> Option<Timestamp> {
    let in_utc = now.to_zoned(TimeZone::UTC);
    let zoned = || Some(text.parse::<Zoned>().ok()?.timestamp());
    let civil = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let age = || text.parse::<Span>().ok().filter(|age| age.is_positive());
    let back = || Some(in_utc.checked_sub(age()?).ok()?.timestamp());
    text.parse().ok().or_else(zoned).or_else(civil).or_else(back)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_beginning_is_a_time_a_date_or_an_age() {
        let now: Timestamp = "2026-11-26T09:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2026-11-25T10:00:00+01:00", "2026-11-25T09:00:00Z"),
            ("2026-11-25", "2026-11-25T00:00:00Z"),
            ("2026-11-25T10:00", "2026-11-25T10:00:00Z"),
            ("2026-11-25T10:00[Europe/Berlin]", "2026-11-25T09:00:00Z"),
            ("7d", "2026-11-19T09:00:00Z"),
            ("2h 30m", "2026-11-26T06:30:00Z"),
        ] {
            assert_eq!(parse_since(text, now), expected.parse().ok(), "{text}");
        }
        for wrong in ["", "soon", "-2h", "0s", "7", "2026-13-01"] {
            assert_eq!(parse_since(wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn an_email_must_match_every_filter() {
        let parts = parts([Some("ADA@"), None, Some("week")]);
        let check = |email: &Value| check(email, &parts, &["sent".to_owned()], None);
        let email = json!({"to": ["bob@example.com"], "cc": ["Ada <ada@example.com>"], "subject": "Week 47", "last_event": "sent"});
        assert_eq!(check(&email), Match::Yes);
        for (field, value) in
            [("cc", json!(null)), ("subject", json!("Month")), ("last_event", json!("opened"))]
        {
            let mut other = email.clone();
            other[field] = value;
            assert_eq!(check(&other), Match::No, "{other}");
        }
    }
}
