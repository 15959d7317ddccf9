//! The parameters of the metrics.

use std::str::FromStr as _;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use uuid::Uuid;

use crate::model::metric::Metric;
use crate::wire::{Input, Kind, Parameters, Problem, quote, words, words_of};

/// The maximum number of IDs in a filter.
const MAX_IDS: usize = 100;
/// The length of the default range in days, not counting its last day.
const DAYS: i64 = 6;

/// The parameters of the sandbox's own route.
pub const QUERY: &[Input] = &[
    Input::new(
        "start_date",
        Kind::Text,
        "The start of the range, an ISO 8601 date or time; by default six days before its end",
    ),
    Input::new("end_date", Kind::Text, "The end of the range, inclusive; by default now"),
    Input::new("timezone", Kind::Text, "The IANA name of a time zone; by default UTC"),
    Input::new(
        "granularity",
        Kind::Words(|| words_of(Granularity::WORDS)),
        "The length of a period; by default `daily`",
    ),
    Input::new(
        "metrics",
        Kind::List(&Kind::Words(|| words_of(Metric::WORDS)), Metric::WORDS.len()),
        "The metrics; by default all",
    ),
    Input::new(
        "dimensions",
        Kind::List(&Kind::Words(|| words_of(Dimension::WORDS)), Dimension::WORDS.len()),
        "What to group by",
    ),
    Input::new("domain_id", Kind::List(&Kind::Id, MAX_IDS), "Only emails of these domains"),
    Input::new("email_id", Kind::List(&Kind::Id, MAX_IDS), "Only these emails"),
    Input::new("broadcast_id", Kind::List(&Kind::Id, MAX_IDS), "Only emails of these broadcasts"),
];

/// A valid query.
#[derive(Debug)]
pub struct Query {
    pub(super) start: Timestamp,
    /// Inclusive.
    pub(super) end: Timestamp,
    pub(super) zone: TimeZone,
    pub(super) granularity: Granularity,
    pub(super) metrics: Vec<Metric>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) selection: Selection,
    pub(super) domains: Option<Vec<Uuid>>,
}

/// The emails that count.
#[derive(Debug)]
pub(super) enum Selection {
    All,
    Emails(Vec<Uuid>),
    Broadcasts(Vec<Uuid>),
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Granularity {
        Hourly = "hourly",
        Daily = "daily",
        Weekly = "weekly",
        Monthly = "monthly",
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Dimension {
        Period = "period",
        Domain = "domain",
        Email = "email",
        Broadcast = "broadcast",
    }
}

impl Query {
    pub(super) fn read(parameters: &Parameters<'_>, now: Timestamp) -> Result<Self, Problem> {
        let text = |name: &str| parameters.text(name);
        let ids = |name: &str| parameters.ids(name, MAX_IDS);
        let date = |name: &str| text(name).map(|text| read_date(name, text)).transpose();
        let (start, end) = (date("start_date")?, date("end_date")?);
        let end = end.map_or(now, |(_, last)| last).min(now);
        let start = start.map_or_else(|| days_before(end), |(first, _)| first);
        if start > end {
            let (start, end) = (start.to_string(), end.to_string());
            return Err(Problem::validation(format!(
                "`start_date` must not be after `end_date` or in the future; found {start} with an end at {end}."
            )));
        }
        let zone = match text("timezone") {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| {
                let found = quote(name);
                Problem::validation(format!(
                    "`timezone` must be the IANA name of a time zone, such as `Europe/Berlin`; found {found}."
                ))
            })?,
        };
        let granularity = parameters.one_of("granularity", Granularity::WORDS)?;
        let metrics = parameters.word_list("metrics", Metric::WORDS)?;
        let metrics = metrics.unwrap_or_else(|| Metric::WORDS.iter().map(|(_, metric)| *metric).collect());
        let dimensions = parameters.word_list("dimensions", Dimension::WORDS)?.unwrap_or_default();
        let (domains, emails, broadcasts) = (ids("domain_id")?, ids("email_id")?, ids("broadcast_id")?);
        let by = |dimension| dimensions.contains(&dimension);
        let conflicts = [
            (
                by(Dimension::Email) && by(Dimension::Broadcast),
                "`dimensions` must not have both `email` and `broadcast`.",
            ),
            (
                emails.is_some() && broadcasts.is_some(),
                "`email_id` and `broadcast_id` can't be used together.",
            ),
            (
                emails.is_some() && by(Dimension::Broadcast),
                "`email_id` can't be used with the dimension `broadcast`.",
            ),
            (
                broadcasts.is_some() && by(Dimension::Email),
                "`broadcast_id` can't be used with the dimension `email`.",
            ),
        ];
        if let Some((_, message)) = conflicts.iter().find(|(is_wrong, _)| *is_wrong) {
            return Err(Problem::validation(*message));
        }
        let selection = match (emails, broadcasts) {
            (Some(ids), _) => Selection::Emails(ids),
            (None, Some(ids)) => Selection::Broadcasts(ids),
            (None, None) => Selection::All,
        };
        Ok(Self {
            start,
            end,
            zone,
            granularity: granularity.unwrap_or(Granularity::Daily),
            metrics,
            dimensions,
            selection,
            domains,
        })
    }
}

/// The start of the day in UTC six days before.
fn days_before(end: Timestamp) -> Timestamp {
    let day = end.to_zoned(TimeZone::UTC).date().saturating_sub(DAYS.days());
    day.to_zoned(TimeZone::UTC).map_or(Timestamp::MIN, |midnight| midnight.timestamp())
}

/// The first and the last instant of a date, or the same instant twice. Without an offset it is in UTC.
fn read_date(name: &str, text: &str) -> Result<(Timestamp, Timestamp), Problem> {
    let wrong = || {
        let found = quote(text);
        Problem::validation(format!("`{name}` must be an ISO 8601 date, or a date and time; found {found}."))
    };
    let in_utc =
        |local: DateTime| local.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp()).map_err(|_| wrong());
    let is_date = text.len() == "2026-07-01".len();
    if let (true, Ok(day)) = (is_date, Date::from_str(text)) {
        let first = in_utc(day.to_datetime(jiff::civil::Time::midnight()))?;
        let last = first.saturating_add(SignedDuration::new(86_399, 999_999_999)).map_err(|_| wrong())?;
        return Ok((first, last));
    }
    // jiff also parses forms without hyphens, and other formats than dates.
    if is_date
        || text.as_bytes().get(4) != Some(&b'-')
        || !text.starts_with(|first: char| first.is_ascii_digit())
    {
        return Err(wrong());
    }
    let instant = text.parse().or_else(|_| in_utc(text.parse().map_err(|_| wrong())?))?;
    Ok((instant, instant))
}
