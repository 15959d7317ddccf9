//! The periods of a range of time, in a time zone.

use jiff::civil::Weekday;
use jiff::{RoundMode, SignedDuration, Timestamp, ToSpan as _, Unit, Zoned, ZonedRound};

use super::query::{Granularity, Query};
use crate::wire::Problem;

/// The maximum number of periods.
const MAX_PERIODS: usize = 10_000;

/// The periods of a range, oldest first.
pub(super) struct Periods {
    granularity: Granularity,
    starts: Vec<Zoned>,
    instants: Vec<Timestamp>,
}

impl Periods {
    pub(super) fn from_query(query: &Query) -> Result<Self, Problem> {
        let granularity = query.granularity;
        let mut starts = Vec::new();
        let mut next = granularity.start_of(&query.start.to_zoned(query.zone.clone()));
        while let Some(start) = next.filter(|start| start.timestamp() <= query.end) {
            if starts.len() == MAX_PERIODS {
                return Err(Problem::validation(format!(
                    "`granularity` must divide the range into at most {MAX_PERIODS} periods; found more for `{}`.",
                    granularity.as_str()
                )));
            }
            next = granularity.next_start(&start);
            starts.push(start);
        }
        let instants = starts.iter().map(Zoned::timestamp).collect();
        Ok(Self { granularity, starts, instants })
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The index of the period that contains an instant in the range.
    pub(super) fn index_at(&self, at: Timestamp) -> usize {
        self.instants.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The first day of the period; for an hour, its start with the offset from UTC.
    pub(super) fn name(&self, index: usize) -> String {
        let format =
            if self.granularity == Granularity::Hourly { "%Y-%m-%dT%H:%M:%S%:z" } else { "%Y-%m-%d" };
        self.starts.get(index).map(|start| start.strftime(format).to_string()).unwrap_or_default()
    }
}

impl Granularity {
    /// The start of the period that contains a time; `None` outside the calendar.
    fn start_of(self, at: &Zoned) -> Option<Zoned> {
        let date = at.date();
        let first = match self {
            Self::Hourly => {
                return at.round(ZonedRound::new().smallest(Unit::Hour).mode(RoundMode::Trunc)).ok();
            }
            Self::Daily => date,
            Self::Weekly => date.checked_sub(date.weekday().since(Weekday::Monday).days()).ok()?,
            Self::Monthly => date.first_of_month(),
        };
        first.to_zoned(at.time_zone().clone()).ok()
    }

    /// The start of the next period.
    fn next_start(self, start: &Zoned) -> Option<Zoned> {
        let next = match self {
            Self::Hourly => {
                let later = start.checked_add(SignedDuration::from_hours(1)).ok()?;
                // Where clocks are put back by half an hour, an hour takes one and a half.
                return self.start_of(&later).filter(|next| next > start).or(Some(later));
            }
            Self::Daily => start.date().tomorrow(),
            Self::Weekly => start.date().checked_add(1.week()),
            Self::Monthly => start.date().checked_add(1.month()),
        };
        next.ok()?.to_zoned(start.time_zone().clone()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Parameters;

    fn names(granularity: &str, zone: &str, start: &str, end: &str) -> Vec<String> {
        let query = format!("granularity={granularity}&timezone={zone}&start_date={start}&end_date={end}");
        let query =
            Query::read(&Parameters::new(Some(&query)), "2030-01-01T00:00:00Z".parse().unwrap()).unwrap();
        let periods = Periods::from_query(&query).unwrap();
        (0..periods.len()).map(|index| periods.name(index)).collect()
    }

    #[test]
    fn periods_are_named_by_their_first_day_or_hour() {
        let hours = names("hourly", "UTC", "2026-03-02T11:30:00Z", "2026-03-02T13:00:00Z");
        assert_eq!(
            hours,
            ["2026-03-02T11:00:00+00:00", "2026-03-02T12:00:00+00:00", "2026-03-02T13:00:00+00:00"]
        );
        assert_eq!(names("daily", "UTC", "2026-02-28", "2026-03-01"), ["2026-02-28", "2026-03-01"]);
        assert_eq!(names("daily", "UTC", "2026-03-01", "2026-03-01"), ["2026-03-01"]);
        assert_eq!(names("weekly", "UTC", "2026-03-01", "2026-03-02"), ["2026-02-23", "2026-03-02"]);
        assert_eq!(
            names("monthly", "UTC", "2025-12-31", "2026-02-01"),
            ["2025-12-01", "2026-01-01", "2026-02-01"]
        );
    }

    #[test]
    fn clock_changes_neither_skip_nor_repeat_a_period() {
        let spring = names("hourly", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z");
        assert_eq!(spring, ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"]);
        let autumn = names("hourly", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z");
        assert_eq!(autumn, ["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"]);
        for zone in ["Australia/Lord_Howe", "Africa/Casablanca", "America/Santiago"] {
            for granularity in ["hourly", "daily", "weekly", "monthly"] {
                let mut names = names(granularity, zone, "2025-12-31", "2026-12-31");
                let many = names.len();
                names.dedup();
                assert_eq!(names.len(), many, "{granularity} {zone}");
            }
        }
    }

    #[test]
    fn more_than_ten_thousand_periods_are_rejected() {
        let count = |end: &str| {
            let query = format!("granularity=hourly&start_date=2025-01-01&end_date={end}");
            let query =
                Query::read(&Parameters::new(Some(&query)), "2030-01-01T00:00:00Z".parse().unwrap()).unwrap();
            Periods::from_query(&query).map(|periods| periods.len())
        };
        assert_eq!(count("2026-02-21T15:00:00Z"), Ok(10_000));
        assert!(count("2026-02-21T16:00:00Z").unwrap_err().message.contains("`granularity`"));
    }
}
