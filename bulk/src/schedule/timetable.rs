//! The schedule of a running job: how much it has sent, and which batches may start.

use std::{path::Path, time::Duration};

use jiff::{Timestamp, tz::TimeZone};

use super::{
    Days, Schedule,
    days::timestamp,
    domains::{Domains, Replay},
};
use crate::{
    error::{BulkError, Result},
    files, folder,
    journal::{Record, UnixMillis},
    locked::Locked,
    plan::Plan,
};

/// The schedule file in a job's folder.
const NAME: &str = "schedule.json";
/// The longest time before a waiting batch checks the clock again.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// Decides which batches of a running job may start.
#[derive(Debug)]
pub(crate) struct Timetable {
    schedule: Schedule,
    zone: TimeZone,
    state: Locked<State>,
}

#[derive(Debug)]
struct State {
    days: Days,
    domains: Domains,
    /// When the waiting batches may start, and why they wait.
    waiting: Option<(Timestamp, String)>,
}

impl Timetable {
    /// Reads how much the job has sent, across all parts. Blocks.
    ///
    /// # Errors
    /// A request in the plan is larger than a daily cap, or a journal can't be read.
    pub(crate) fn open(plan: &Plan, schedule: Schedule, now: UnixMillis) -> Result<Self> {
        let mut largest = 0;
        plan.visit_batches(|_, _, _, emails| largest = largest.max(u64::from(emails)))?;
        let daily = schedule.daily.iter().map(|cap| (*cap, "the daily cap".to_owned()));
        let rates = schedule.domain_rates.iter();
        let rates = rates.map(|rate| (rate.emails, format!("the rate for {}", rate.domain)));
        if let Some((cap, what)) = daily.chain(rates).filter(|(cap, _)| *cap < largest).min() {
            let message =
                format!("requests in the plan contain up to {largest} emails, more than {what} of {cap}");
            return Err(BulkError::NotRunnable(message));
        }
        let zone = schedule.zone();
        let read = |dir: &Path| {
            let (mut days, mut replay) = (Days::default(), Replay::new(&schedule.domain_rates, now));
            folder::read_journal(dir, |record| {
                days.apply(&record, &zone);
                replay.apply(&record);
                Ok(())
            })?;
            Ok::<_, BulkError>((days, replay))
        };
        let mut domains = Domains::new(&schedule.domain_rates);
        let mut count = |part: &Plan, batches: Vec<(u32, Option<UnixMillis>)>| {
            if schedule.domain_rates.is_empty() {
                return Ok(());
            }
            let mut preparer = part.preparer()?.counting(schedule.domains());
            for (batch, ended) in batches {
                let emails = preparer.domains_of(batch)?;
                match ended {
                    Some(at) => domains.settle(&emails, at),
                    None => domains.start(batch, &emails),
                }
            }
            Ok::<_, BulkError>(())
        };
        let (mut days, replay) = read(plan.dir())?;
        days.repeat_open(now, &zone);
        count(plan, replay.finish(true, now))?;
        for dir in plan.earlier_dirs() {
            let (earlier, replay) = read(&dir)?;
            days.add(&earlier);
            // One whose folder is gone was deleted by its owner.
            if dir.exists() {
                count(&Plan::read(&dir)?, replay.finish(false, now))?;
            }
        }
        Ok(Self { schedule, zone, state: Locked::new(State { days, domains, waiting: None }) })
    }

    /// Counts a batch whose first attempt is about to start, by its number of emails to each domain with a rate; or returns the minimum time that it
    /// has to wait. An email of a split batch was counted with the batch.
    pub(crate) fn admit(&self, intent: &Record, domains: &[u64]) -> std::result::Result<(), Duration> {
        let (batch, emails, at) = match *intent {
            Record::Intent { batch, emails, at, .. } => (batch, u64::from(emails), at),
            Record::EmailIntent { batch, at, .. } => (batch, 0, at),
            _ => return Ok(()),
        };
        let mut state = self.state.lock();
        state.days.repeat_open(at, &self.zone);
        let now = timestamp(at);
        let start = self.schedule.next_start(now, &self.zone, emails, &state.days);
        let (start, reason) = if start == Some(now) {
            let admitted = if emails == 0 { Ok(()) } else { state.domains.admit(batch, domains, at) };
            let Err((wait, reason)) = admitted else {
                state.days.apply(intent, &self.zone);
                state.waiting = None;
                return Ok(());
            };
            (timestamp(at.saturating_add(wait)), reason)
        } else {
            (start.unwrap_or(Timestamp::MAX), self.schedule.reason(now, &self.zone, &state.days))
        };
        state.waiting = Some((start, reason));
        let wait = Duration::try_from(start.duration_since(now)).unwrap_or(MAX_WAIT);
        Err(wait.min(MAX_WAIT))
    }

    /// Returns the record of another attempt or the outcome of an open batch, if the journal contains no attempt of it on this day.
    pub(crate) fn attempt_on_new_day(&self, batch: u32, at: UnixMillis) -> Option<Record> {
        self.state.lock().days.is_new_day(batch, at, &self.zone).then_some(Record::Attempt { batch, at })
    }

    /// Counts a record that was journaled by this time.
    pub(crate) fn apply(&self, record: &Record, now: UnixMillis) {
        let mut state = self.state.lock();
        state.days.reach(now);
        state.days.apply(record, &self.zone);
        state.domains.apply(record, now);
    }

    /// Returns how long batches still wait, and why.
    pub(crate) fn pause(&self, now: UnixMillis) -> Option<(Duration, String)> {
        let state = self.state.lock();
        let (until, reason) = state.waiting.as_ref()?;
        let remaining = Duration::try_from(until.duration_since(timestamp(now))).ok()?;
        let until = until.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M %Z");
        Some((remaining, format!("until {until}, {reason}")))
    }
}

/// Stores the schedule in the job's folder. Blocks.
pub(crate) fn store(plan: &Plan, schedule: &Schedule) -> Result<()> {
    files::replace_json(&plan.dir().join(NAME), schedule)
}

/// Returns the stored schedule of the job or its latest part. Blocks.
pub(crate) fn load(plan: &Plan) -> Result<Option<Schedule>> {
    for dir in std::iter::once(plan.dir().to_owned()).chain(plan.earlier_dirs().rev()) {
        let path = dir.join(NAME);
        if let Some(text) = files::read_if_exists(&path)? {
            return files::parse_json(&text, &path).map(Some);
        }
    }
    Ok(None)
}
