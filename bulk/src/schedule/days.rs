//! The number of emails that a job has sent on each day.

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::journal::{Record, UnixMillis};

/// Emails by day, from journal records.
#[derive(Clone, Debug, Default)]
pub(super) struct Days {
    by_day: BTreeMap<Date, u64>,
    /// The batches without an outcome.
    open: HashMap<u32, Open>,
    /// The latest time in the journal.
    latest: UnixMillis,
}

/// A batch without an outcome.
#[derive(Clone, Debug)]
struct Open {
    emails: u64,
    /// The days on which it counts.
    days: Vec<Date>,
    /// The day of its latest journaled attempt.
    journaled: Date,
}

impl Open {
    fn count(&mut self, day: Date, by_day: &mut BTreeMap<Date, u64>) {
        if !self.days.contains(&day) {
            self.days.push(day);
            *by_day.entry(day).or_default() += self.emails;
        }
    }
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
                // A repeated intent has the service's time, and a schedule counts by this machine's.
                if !self.open.contains_key(batch) {
                    let day = to_date(*at, zone);
                    let mut open = Open { emails: u64::from(*emails), days: Vec::new(), journaled: day };
                    open.count(day, &mut self.by_day);
                    self.open.insert(*batch, open);
                }
            }
            Record::Attempt { batch, at } => {
                self.reach(*at);
                if let Some(open) = self.open.get_mut(batch) {
                    open.journaled = to_date(*at, zone);
                    open.count(open.journaled, &mut self.by_day);
                }
            }
            Record::NotSent { batch } => {
                if let Some(open) = self.open.remove(batch) {
                    for day in open.days {
                        *self.by_day.entry(day).or_default() -= open.emails;
                    }
                }
            }
            _ => {
                let latest = to_date(self.latest, zone);
                if let Some(mut open) = record.settles().and_then(|batch| self.open.remove(&batch)) {
                    open.count(latest, &mut self.by_day);
                }
            }
        }
    }

    /// Counts the batches without an outcome on this day too, on which they will be repeated.
    pub(super) fn repeat_open(&mut self, now: UnixMillis, zone: &TimeZone) {
        let today = to_date(now, zone);
        self.open.values_mut().for_each(|open| open.count(today, &mut self.by_day));
    }

    /// Returns whether a batch has no outcome, and the journal contains no attempt of it on this day.
    pub(super) fn is_new_day(&self, batch: u32, now: UnixMillis, zone: &TimeZone) -> bool {
        self.open.get(&batch).is_some_and(|open| open.journaled != to_date(now, zone))
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

    #[test]
    fn a_request_that_was_not_sent_counts_on_no_day() {
        let [first, second] = [1, 2].map(|day| to_date(UnixMillis(day * DAY), &TimeZone::UTC));
        let mut days = Days::default();
        let apply = |days: &mut Days, record| days.apply(&record, &TimeZone::UTC);
        apply(&mut days, Record::Intent { batch: 0, emails: 10, at: UnixMillis(DAY), hash: [0; 16] });
        // Midnight passes while it is in flight.
        days.repeat_open(UnixMillis(2 * DAY), &TimeZone::UTC);
        assert_eq!((days.sent_on(first), days.sent_on(second)), (10, 10));
        apply(&mut days, Record::NotSent { batch: 0 });
        assert_eq!((days.sent_on(first), days.sent_on(second), days.days_before(second)), (0, 0, 0));
    }

    #[test]
    fn a_journal_counts_a_batch_once_on_each_day_with_an_attempt() {
        let dates = [1, 2, 3].map(|day| to_date(UnixMillis(day * DAY), &TimeZone::UTC));
        let mut days = Days::default();
        let apply = |days: &mut Days, record| days.apply(&record, &TimeZone::UTC);
        let is_new = |days: &Days, day| days.is_new_day(0, UnixMillis(day * DAY), &TimeZone::UTC);
        assert!(!is_new(&days, 1));
        apply(&mut days, Record::Intent { batch: 0, emails: 10, at: UnixMillis(DAY), hash: [0; 16] });
        for day in [1, 2, 2] {
            // A run that has been resumed.
            days.repeat_open(UnixMillis(day * DAY), &TimeZone::UTC);
            apply(&mut days, Record::Attempt { batch: 0, at: UnixMillis(day * DAY) });
            assert_eq!((is_new(&days, day), is_new(&days, day + 1)), (false, true));
        }
        apply(&mut days, Record::Result { batch: 0, ids: Vec::new() });
        assert_eq!(dates.map(|day| days.sent_on(day)), [10, 10, 0]);
        assert!(!is_new(&days, 3));
    }
}
