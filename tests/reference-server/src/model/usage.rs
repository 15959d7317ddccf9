//! The usage of a tenant in the current day and month.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The counters of the current periods, in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Usage {
    pub day: Period,
    pub month: Period,
}

/// A day or a month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Period {
    starts_at: Timestamp,
    pub resets_at: Timestamp,
    /// The recipients of accepted emails.
    pub sent: u64,
    pub received: u64,
    pub automation_runs: u64,
}

/// The counted unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageKind {
    /// This number of recipients of accepted emails.
    Sent(u64),
    Received,
    AutomationRun,
}

impl Usage {
    /// The counters at this time: a period that has ended is replaced by the current one.
    pub(crate) fn roll_over(mut self, now: Timestamp) -> Self {
        self.day.renew(now, |today| (today, today.tomorrow()));
        self.month.renew(now, |today| (today.first_of_month(), today.last_of_month().tomorrow()));
        self
    }

    pub fn count(&mut self, counted: UsageKind) {
        for period in [&mut self.day, &mut self.month] {
            match counted {
                UsageKind::Sent(recipients) => period.sent += recipients,
                UsageKind::Received => period.received += 1,
                UsageKind::AutomationRun => period.automation_runs += 1,
            }
        }
    }
}

impl Period {
    /// Starts the current period if `now` is outside of this one, even after the clock was set back.
    fn renew(&mut self, now: Timestamp, current: impl FnOnce(Date) -> (Date, Result<Date, jiff::Error>)) {
        if self.starts_at <= now && now < self.resets_at {
            return;
        }
        let midnight = |date: Date| date.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
        let (first, next) = current(now.to_zoned(TimeZone::UTC).date());
        let starts_at = midnight(first).unwrap_or(Timestamp::MIN);
        let resets_at = next.and_then(midnight).unwrap_or(Timestamp::MAX);
        *self = Self { starts_at, resets_at, ..Self::default() };
    }

    /// Sent and received emails.
    pub fn emails(&self) -> u64 {
        self.sent + self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(usage: &Usage, now: &str) -> (u64, u64) {
        let usage = usage.clone().roll_over(now.parse().unwrap());
        (usage.day.emails(), usage.month.emails())
    }

    #[test]
    fn counters_reset_at_the_end_of_the_day_and_of_the_month() {
        let mut usage = Usage::default().roll_over("2026-12-30T23:59:59Z".parse().unwrap());
        usage.count(UsageKind::Sent(3));
        usage.count(UsageKind::Received);
        assert_eq!(usage.day.resets_at, "2026-12-31T00:00:00Z".parse().unwrap());
        assert_eq!(usage.month.resets_at, "2027-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(at(&usage, "2026-12-30T23:59:59.999Z"), (4, 4));
        assert_eq!(at(&usage, "2026-12-31T00:00:00Z"), (0, 4));
        assert_eq!(at(&usage, "2027-01-01T00:00:00Z"), (0, 0));
        // A clock that was moved back.
        assert_eq!(at(&usage, "2026-12-01T00:00:00Z"), (0, 4));
        assert_eq!(at(&usage, "2026-11-30T00:00:00Z"), (0, 0));
    }
}
