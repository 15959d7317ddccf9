//! The number of emails that a job has recently sent to a domain.
//!
//! # Why the emails to a domain never exceed its rate in any period
//!
//! A batch counts from its admission until one period after its result, without a gap. Let a be the time at which the last batch with an email in
//! a period was admitted. Every other batch with an email in the period was admitted before a, and none of them had its result more than a period
//! before a: they all count at a, and the admission leaves their sum within the rate. Which attempt of a batch the service executed doesn't matter,
//! nor how often the job was killed in between. Requests that the service certainly didn't process don't count.
//!
//! The journal doesn't contain the time of a result, only the times of later records: a result is dated to the next intent or start of a process.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use idempost::problem::Problem;
use serde::{Deserialize, Serialize};

use crate::{
    clock::RESEND_WITHIN,
    journal::{Record, UnixMillis},
};

/// The number of steps in which the emails of a period leave the count.
const STEPS: u64 = 60;
/// How far the times of records that are written together may be out of order.
const DISORDER: Duration = Duration::from_secs(1);
/// How long after the first attempt of a batch its last one can have been executed.
const LAST_ATTEMPT: Duration = RESEND_WITHIN.saturating_add(Duration::from_hours(1));

/// The maximum number of emails to a domain in each period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DomainRate {
    pub(super) domain: String,
    pub(super) emails: u64,
    period: Period,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Period {
    S,
    Min,
    H,
    Day,
}

impl Period {
    const ALL: [Self; 4] = [Self::S, Self::Min, Self::H, Self::Day];

    /// Returns the name and the milliseconds.
    fn parts(self) -> (&'static str, u64) {
        match self {
            Self::S => ("s", 1_000),
            Self::Min => ("min", 60_000),
            Self::H => ("h", 3_600_000),
            Self::Day => ("day", 86_400_000),
        }
    }
}

impl DomainRate {
    /// Parses a rate such as `gmail.com=100/min`.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let parse = || {
            let (domain, rate) = text.split_once('=')?;
            let (emails, unit) = rate.split_once('/')?;
            let emails = emails.trim().parse().ok().filter(|emails: &u64| *emails > 0)?;
            let period = Period::ALL.into_iter().find(|period| period.parts().0 == unit.trim())?;
            // As the addresses of a row are compared, in ASCII.
            let domain = idna::domain_to_ascii(domain.trim()).ok()?;
            let is_domain = !domain.is_empty() && !domain.contains(|c: char| c == '@' || c.is_whitespace());
            is_domain.then_some(Self { domain, emails, period })
        };
        parse().ok_or_else(|| {
            let rule = "a rate must be a domain and a number of emails per s, min, h or day, such as gmail.com=100/min";
            Problem::new("", "type", rule).with_value(text)
        })
    }

    /// Returns when an email whose result arrived at this time stops counting.
    fn leaves(&self, at: UnixMillis) -> u64 {
        let (_, period) = self.period.parts();
        let step = period / STEPS;
        (at.0 / step + 1).saturating_mul(step).saturating_add(period)
    }

    pub(super) fn reason(&self) -> String {
        format!("{} is limited to {} emails per {}", self.domain, self.emails, self.period.parts().0)
    }
}

/// The emails that currently count, by domain.
#[derive(Debug, Default)]
pub(super) struct Domains {
    windows: Vec<Window>,
    /// The batches without a result, with their emails to each domain.
    open: HashMap<u32, Vec<u64>>,
}

#[derive(Debug)]
struct Window {
    rate: DomainRate,
    /// The emails of batches without a result.
    open: u64,
    /// The other emails, by the time at which they stop counting.
    leaving: BTreeMap<u64, u64>,
}

impl Window {
    /// Returns the minimum time that this many emails have to wait.
    fn wait(&mut self, emails: u64, now: UnixMillis) -> Option<Duration> {
        self.leaving = self.leaving.split_off(&(now.0 + 1));
        let counted = self.open + self.leaving.values().sum::<u64>();
        let mut excess = (counted + emails).saturating_sub(self.rate.emails);
        if emails == 0 || excess == 0 {
            return None;
        }
        for (at, leaving) in &self.leaving {
            excess = excess.saturating_sub(*leaving);
            if excess == 0 {
                return Some(Duration::from_millis(at - now.0));
            }
        }
        // Emails in flight count for a period after their result.
        Some(Duration::from_millis(self.rate.period.parts().1))
    }

    fn settle(&mut self, emails: u64, at: UnixMillis) {
        if emails > 0 {
            *self.leaving.entry(self.rate.leaves(at)).or_default() += emails;
        }
    }
}

impl Domains {
    pub(super) fn new(rates: &[DomainRate]) -> Self {
        let window = |rate: &DomainRate| Window { rate: rate.clone(), open: 0, leaving: BTreeMap::new() };
        Self { windows: rates.iter().map(window).collect(), open: HashMap::new() }
    }

    /// Counts a batch that is about to start, by its number of emails to each domain; or returns the minimum time that it has to wait, and the rate
    /// that it waits for.
    pub(super) fn admit(
        &mut self,
        batch: u32,
        emails: &[u64],
        now: UnixMillis,
    ) -> Result<(), (Duration, String)> {
        let windows = self.windows.iter_mut().zip(emails);
        let waits = windows.filter_map(|(window, emails)| Some((window.wait(*emails, now)?, &window.rate)));
        if let Some((wait, rate)) = waits.max_by_key(|(wait, _)| *wait) {
            return Err((wait, rate.reason()));
        }
        self.start(batch, emails);
        Ok(())
    }

    /// Counts a batch without a result.
    pub(super) fn start(&mut self, batch: u32, emails: &[u64]) {
        self.windows.iter_mut().zip(emails).for_each(|(window, emails)| window.open += emails);
        self.open.insert(batch, emails.to_vec());
    }

    /// Counts a batch whose result arrived at this time.
    pub(super) fn settle(&mut self, emails: &[u64], at: UnixMillis) {
        self.windows.iter_mut().zip(emails).for_each(|(window, emails)| window.settle(*emails, at));
    }

    /// Counts a record of this time about a started batch.
    pub(super) fn apply(&mut self, record: &Record, now: UnixMillis) {
        let is_sent = !matches!(record, Record::NotSent { .. });
        let Some(batch) = record.settles().or(record.batch().filter(|_| !is_sent)) else { return };
        let Some(emails) = self.open.remove(&batch) else { return };
        self.windows.iter_mut().zip(&emails).for_each(|(window, emails)| window.open -= emails);
        if is_sent {
            self.settle(&emails, now);
        }
    }
}

/// The batches of a journal that count: 16 bytes each.
#[derive(Debug)]
pub(super) struct Replay {
    /// Batches whose result arrived before this time don't count.
    since: u64,
    /// The batches without a result, with the time of their first attempt.
    open: HashMap<u32, UnixMillis>,
    /// The batches with a result that no later record dates yet.
    ended: Vec<u32>,
    settled: Vec<(u32, UnixMillis)>,
}

impl Replay {
    pub(super) fn new(rates: &[DomainRate], now: UnixMillis) -> Self {
        let longest = rates.iter().map(|rate| 2 * rate.period.parts().1).max().unwrap_or_default();
        let since = now.0.saturating_sub(longest);
        Self { since, open: HashMap::new(), ended: Vec::new(), settled: Vec::new() }
    }

    pub(super) fn apply(&mut self, record: &Record) {
        match record {
            Record::Job(job) => self.reach(job.started),
            Record::Intent { batch, at, .. } => {
                self.reach(*at);
                self.open.entry(*batch).or_insert(*at);
            }
            Record::Attempt { at, .. } => self.reach(*at),
            Record::NotSent { batch } => drop(self.open.remove(batch)),
            _ => {
                let settled = record.settles().filter(|batch| self.open.remove(batch).is_some());
                self.ended.extend(settled);
            }
        }
    }

    /// Dates the results so far to this time.
    fn reach(&mut self, at: UnixMillis) {
        let at = at.saturating_add(DISORDER);
        let ended = self.ended.drain(..).filter(|_| at.0 > self.since);
        self.settled.extend(ended.map(|batch| (batch, at)));
    }

    /// Returns the batches with the time of their result; `None` for one without a result, whose attempts continue if the job `is_running`.
    pub(super) fn finish(mut self, is_running: bool, now: UnixMillis) -> Vec<(u32, Option<UnixMillis>)> {
        let ended = self.ended.drain(..).map(|batch| (batch, Some(now)));
        let settled = self.settled.drain(..).map(|(batch, at)| (batch, Some(at)));
        let open = self.open.drain().map(|(batch, first)| {
            (batch, (!is_running).then(|| first.saturating_add(LAST_ATTEMPT).min(now)))
        });
        let mut batches: Vec<_> = ended.chain(settled).chain(open).collect();
        // Rows are read fastest in order.
        batches.sort_unstable_by_key(|(batch, _)| *batch);
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: u64 = 1_000_000_000_000;

    fn domains(rates: &[&str]) -> Domains {
        Domains::new(&rates.iter().map(|rate| DomainRate::parse(rate).unwrap()).collect::<Vec<_>>())
    }

    fn at(seconds: u64) -> UnixMillis {
        UnixMillis(T + seconds * 1_000)
    }

    fn result(batch: u32) -> Record {
        Record::Result { batch, ids: Vec::new() }
    }

    #[test]
    fn an_email_leaves_the_count_a_period_after_its_result() {
        let mut domains = domains(&["a.test=10/min"]);
        assert_eq!(domains.admit(0, &[8], at(0)), Ok(()));
        let (wait, reason) = domains.admit(1, &[3], at(100)).unwrap_err();
        assert_eq!((wait.as_secs(), reason.as_str()), (60, "a.test is limited to 10 emails per min"));
        assert_eq!(domains.admit(2, &[2], at(100)), Ok(()), "there is room for a smaller batch");
        assert_eq!(domains.admit(3, &[0], at(100)), Ok(()), "no email goes to the domain");
        domains.apply(&result(0), at(100));
        let (wait, _) = domains.admit(1, &[3], at(130)).unwrap_err();
        assert!((30..=31).contains(&wait.as_secs()), "{wait:?}");
        domains.apply(&Record::NotSent { batch: 2 }, at(130));
        assert_eq!(domains.admit(1, &[3], at(162)), Ok(()));
    }

    #[test]
    fn the_longest_wait_counts_and_memory_is_bounded() {
        let mut domains = domains(&["a.test=1000/h", "b.test=5/day"]);
        for batch in 0..900 {
            assert_eq!(domains.admit(batch, &[1, 0], at(batch.into())), Ok(()));
            domains.apply(&result(batch), at(batch.into()));
        }
        assert!(domains.windows[0].leaving.len() < 70 && domains.open.is_empty());
        assert_eq!(domains.admit(900, &[100, 5], at(900)), Ok(()));
        domains.apply(&result(900), at(900));
        let (wait, reason) = domains.admit(901, &[1, 1], at(901)).unwrap_err();
        assert!(wait > Duration::from_hours(23) && reason.starts_with("b.test"), "{wait:?} {reason}");
    }

    #[test]
    fn a_journal_shows_which_batches_count() {
        let rates = [DomainRate::parse("a.test=10/min").unwrap()];
        let mut replay = Replay::new(&rates, at(1_000));
        let intent = |batch, seconds| Record::Intent { batch, emails: 1, at: at(seconds), hash: [0; 16] };
        let records = [
            intent(0, 0),
            result(0),
            intent(1, 100),
            intent(2, 900),
            result(1),
            intent(3, 950),
            intent(4, 951),
            Record::NotSent { batch: 4 },
            result(2),
            intent(5, 952),
            Record::Unknown { batch: 5, reason: "timeout".into() },
        ];
        for record in &records {
            replay.apply(record);
        }
        let batches = replay.finish(true, at(1_000));
        // Batch 0 was long ago, and batch 4 wasn't sent.
        let expected = [(1, Some(at(951))), (2, Some(at(953))), (3, None), (5, Some(at(1_000)))];
        assert_eq!(batches, expected);
    }

    #[test]
    fn text_that_is_not_a_rate_is_rejected() {
        for text in ["", "a.test", "a.test=", "a.test=5", "a.test=0/s", "a.test=5/week", "=5/s", "a@b.c=5/s"]
        {
            assert!(DomainRate::parse(text).is_err(), "{text}");
        }
        for (text, same) in [("A.test = 5 / h", "a.test=5/h"), ("Bücher.test=5/h", "xn--bcher-kva.test=5/h")]
        {
            assert_eq!(DomainRate::parse(text).unwrap(), DomainRate::parse(same).unwrap());
        }
    }
}
