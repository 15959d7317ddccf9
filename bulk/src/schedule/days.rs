//! The number of emails that a job has sent on each day.

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::journal::{Record, UnixMillis};

/// Emails by day, from journal records.
#[derive(Clone, Debug, Default)]
pub(super) struct Days {
    by_day: BTreeMap<Date, u64>,
    /// The batches without an outcome, and the day on which each counts.
    open: HashMap<u32, (Date, u64)>,
    /// The latest time in the journal.
    latest: UnixMillis,
}

impl Days {
    #[cfg(test)]
    pub(super) fn from_sent(sent: impl Iterator<Item = (Date, u64)>) -> Self {
        Self { by_day: sent.collect(), ..Self::default() }
    }

    /// Returns the emails that count on a day.
    pub(super) fn sent_on(&self, day: Date) -> u64 {
        self.by_day.get(&day).copied().unwrap_or_default()
    }

    /// Returns the number of earlier days on which the job has sent.
    pub(super) fn days_before(&self, day: Date) -> usize {
        self.by_day.range(..day).filter(|(_, emails)| **emails > 0).count()
    }

    /// Notes that the following records were written at this time or later.
    pub(super) fn reach(&mut self, at: UnixMillis) {
        self.latest = self.latest.max(at);
    }

    /// Counts a record. Repeating a record has no effect.
    pub(super) fn apply(&mut self, record: &Record, zone: &TimeZone) {
        match record {
            Record::Job(job) => self.reach(job.started),
            Record::Intent { batch, emails, at, .. } => {
                self.reach(*at);
                if !self.open.contains_key(batch) {
                    let (day, emails) = (to_date(*at, zone), u64::from(*emails));
                    *self.by_day.entry(day).or_default() += emails;
                    self.open.insert(*batch, (day, emails));
                }
            }
            Record::NotSent { batch } => {
                if let Some((day, emails)) = self.open.remove(batch) {
                    *self.by_day.entry(day).or_default() -= emails;
                }
            }
            Record::Result { batch, .. }
            | Record::Partial { batch, .. }
            | Record::Rejected { batch, .. }
            | Record::Unknown { batch, .. } => {
                let latest = to_date(self.latest, zone);
                if let Some((_, emails)) = self.open.remove(batch).filter(|(day, _)| *day != latest) {
                    *self.by_day.entry(latest).or_default() += emails;
                }
            }
            Record::Split { .. } | Record::Rate(_) | Record::Finished(_) => {}
        }
    }

    /// Counts the batches without an outcome on this day too, on which they will be repeated.
    pub(super) fn repeat_open(&mut self, now: UnixMillis, zone: &TimeZone) {
        let today = to_date(now, zone);
        for (day, emails) in self.open.values_mut().filter(|(day, _)| *day != today) {
            *day = today;
            *self.by_day.entry(today).or_default() += *emails;
        }
    }

    /// Adds another journal's emails.
    pub(super) fn add(&mut self, other: &Self) {
        for (day, emails) in &other.by_day {
            *self.by_day.entry(*day).or_default() += emails;
        }
    }
}

fn to_date(at: UnixMillis, zone: &TimeZone) -> Date {
    timestamp(at).to_zoned(zone.clone()).date()
}

/// Converts a time. A time beyond the calendar's range becomes its last one.
pub(super) fn timestamp(at: UnixMillis) -> Timestamp {
    i64::try_from(at.0).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn a_batch_counts_on_the_day_of_its_first_attempt_and_of_a_later_one_or_its_result() {
        let intent = |batch| Record::Intent { batch, emails: 10, at: UnixMillis(DAY), hash: [0; 16] };
        let result = |batch| Record::Result { batch, ids: Vec::new() };
        let [first, second, third] = [1, 2, 3].map(|day| to_date(UnixMillis(day * DAY), &TimeZone::UTC));
        let mut days = Days::default();
        let apply = |days: &mut Days, record| days.apply(&record, &TimeZone::UTC);
        for batch in 0..3 {
            apply(&mut days, intent(batch));
        }
        apply(&mut days, result(0));
        assert_eq!((days.sent_on(first), days.sent_on(second)), (30, 0));
        // Batches 1 and 2 are repeated.
        for _ in 0..2 {
            days.repeat_open(UnixMillis(2 * DAY), &TimeZone::UTC);
            assert_eq!((days.sent_on(first), days.sent_on(second)), (30, 20));
        }
        days.reach(UnixMillis(2 * DAY));
        apply(&mut days, result(1));
        assert_eq!((days.sent_on(second), days.sent_on(third)), (20, 0));
        days.reach(UnixMillis(3 * DAY));
        apply(&mut days, result(2));
        assert_eq!((days.sent_on(second), days.sent_on(third)), (20, 10));
    }
}
