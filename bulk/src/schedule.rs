//! When a job sends: at which times of day, how many emails per day, and how many to a domain.
//!
//! # Why no day exceeds its cap
//!
//! An email counts on the day of its batch's first attempt, which is journaled before the request is sent, and again on the day of a later attempt or
//! result: a request whose outcome was uncertain may have been executed on either day. Requests that the service certainly didn't process don't
//! count. Batches that were in flight when a run ended are repeated as soon as the job is resumed, since their keys expire; they count before any
//! other batch starts.
//!
//! The journal doesn't contain the time of a result. So a [`Record::Attempt`](crate::journal::Record::Attempt) precedes the first attempt of a batch on
//! each later day, and an outcome on a later day than the last attempt. Wherever the job is killed, its journal then contains the days on which the
//! batch counts. If the clock is in doubt, since the machine may have slept, the service is asked for the time first.

mod days;
mod domains;
mod timetable;

pub(crate) use timetable::{Timetable, load, store};

use idempost::problem::Problem;
use jiff::{
    Timestamp, Zoned,
    civil::{Date, Time},
    tz::TimeZone,
};
use serde::{Deserialize, Serialize};

use days::Days;
use domains::DomainRate;

/// The length of a day in minutes.
const DAY: u16 = 24 * 60;
/// The number of days searched for the opening of a window: clock changes can skip one.
const OPENINGS: usize = 3;
/// The maximum number of windows and days skipped before a batch starts.
const STEPS: usize = 16;

/// When a job sends: daily caps on emails, rates for domains, and a daily time window. The schedule stays with the job until another one is set.
///
/// ```
/// use idempost_bulk::{RunOptions, Schedule};
///
/// # fn example() -> Result<(), idempost::problem::Problem> {
/// let schedule = Schedule::new().daily([50, 100, 200])?.window("08:00-20:00")?.time_zone("Europe/Berlin")?;
/// let options = RunOptions::default().schedule(schedule);
/// # drop(options);
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    daily: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    domain_rates: Vec<DomainRate>,
}

impl Schedule {
    /// Creates a schedule without restrictions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of emails on the first, second, third… day on which the job sends; the last cap applies to all later days. The plan's
    /// largest request has to fit into every cap: see [`Bulk::batch_size`](crate::Bulk::batch_size).
    ///
    /// # Errors
    /// `caps` is empty or contains 0.
    pub fn daily(mut self, caps: impl IntoIterator<Item = u64>) -> Result<Self, Problem> {
        self.daily = caps.into_iter().collect();
        if self.daily.is_empty() || self.daily.contains(&0) {
            return Err(Problem::new("", "range", "a daily cap must be a whole number above 0"));
        }
        Ok(self)
    }

    /// Sets the time window in which requests start, such as `08:00-20:00`. It may cross midnight.
    ///
    /// # Errors
    /// The format is invalid, or both ends are equal.
    pub fn window(mut self, window: &str) -> Result<Self, Problem> {
        if minutes(window).is_none() {
            let rule = "a window must be two different times of the day, such as 08:00-20:00";
            return Err(Problem::new("", "type", rule).with_value(window));
        }
        self.window = Some(window.to_owned());
        Ok(self)
    }

    /// Sets the time zone of days and windows, such as `Europe/Berlin`. The default is the system's time zone.
    ///
    /// # Errors
    /// The time zone is unknown to the system.
    pub fn time_zone(mut self, name: &str) -> Result<Self, Problem> {
        TimeZone::get(name)
            .map_err(|error| Problem::new("", "time_zone", error.to_string()).with_value(name))?;
        self.time_zone = Some(name.to_owned());
        Ok(self)
    }

    /// Sets the maximum number of emails to a recipient domain in any second, minute, hour or day, such as `gmail.com=100/min`; can be called several
    /// times, even for one domain. An email counts if one of its recipients is at the domain. The largest request of the plan must fit into each rate: see
    /// [`Bulk::batch_size`](crate::Bulk::batch_size). A request waits until all of its emails may be sent.
    ///
    /// # Errors
    /// The rate doesn't have this form, with a unit of `s`, `min`, `h` or `day`.
    pub fn domain_rate(mut self, rate: &str) -> Result<Self, Problem> {
        self.domain_rates.push(DomainRate::parse(rate)?);
        Ok(self)
    }

    /// Returns the smallest daily cap or domain rate, which no request may exceed.
    pub fn smallest_cap(&self) -> Option<u64> {
        let rates = self.domain_rates.iter().map(|rate| rate.emails);
        self.daily.iter().copied().chain(rates).min()
    }

    /// Returns the domains that have a rate.
    pub(crate) fn domains(&self) -> Vec<String> {
        self.domain_rates.iter().map(|rate| rate.domain.clone()).collect()
    }

    /// Returns the minimum number of days that a job of this many emails takes; `None` without daily caps.
    pub fn days(&self, emails: u64) -> Option<u64> {
        let last = self.daily.last()?;
        let (mut left, mut days) = (emails, 0);
        for cap in &self.daily {
            days += u64::from(left > 0);
            left = left.saturating_sub(*cap);
        }
        Some(days + left.div_ceil(*last))
    }

    fn zone(&self) -> TimeZone {
        self.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or_else(TimeZone::system)
    }

    /// Returns the cap for the nth day on which the job sends, from 0.
    fn cap(&self, nth: usize) -> u64 {
        self.daily.get(nth).or(self.daily.last()).copied().unwrap_or(u64::MAX)
    }

    /// Returns the cap of a day.
    fn day_cap(&self, day: Date, sent: &Days) -> u64 {
        self.cap(sent.days_before(day))
    }

    fn is_open(&self, time: Time) -> bool {
        let Some((from, to)) = self.window.as_deref().and_then(minutes) else { return true };
        let minute = u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs());
        if from < to { (from..to).contains(&minute) } else { minute >= from || minute < to }
    }

    /// Returns the next opening of the window after a time.
    fn opening(&self, after: &Zoned) -> Option<Timestamp> {
        let (from, _) = self.window.as_deref().and_then(minutes)?;
        let time = Time::new(i8::try_from(from / 60).ok()?, i8::try_from(from % 60).ok()?, 0, 0).ok()?;
        let days = after.date().series(jiff::Span::new().days(1)).take(OPENINGS);
        let times = days.flat_map(|day| {
            // A time that occurs twice opens the window twice; a skipped time opens it after the gap.
            let opening = || after.time_zone().to_ambiguous_zoned(day.to_datetime(time));
            [opening().compatible(), opening().later()]
        });
        times.flatten().map(|time| time.timestamp()).find(|time| *time > after.timestamp())
    }

    /// Returns when a batch with this many emails may start, from `now` on; `None` if never. Emails that count already only wait for the window.
    fn next_start(&self, now: Timestamp, zone: &TimeZone, emails: u64, sent: &Days) -> Option<Timestamp> {
        let mut at = now;
        for _ in 0..STEPS {
            let local = at.to_zoned(zone.clone());
            let day = local.date();
            if !self.is_open(local.time()) {
                at = self.opening(&local)?;
            } else if emails > 0 && sent.sent_on(day).saturating_add(emails) > self.day_cap(day, sent) {
                at = local.tomorrow().ok()?.start_of_day().ok()?.timestamp();
            } else {
                return Some(at);
            }
        }
        None
    }

    /// Returns why batches have to wait at this time.
    fn reason(&self, now: Timestamp, zone: &TimeZone, sent: &Days) -> String {
        let local = now.to_zoned(zone.clone());
        match &self.window {
            Some(window) if !self.is_open(local.time()) => format!("outside the window {window}"),
            _ => format!("the cap for this day is {} emails", self.day_cap(local.date(), sent)),
        }
    }
}

/// Parses a window into its start and end in minutes after midnight.
fn minutes(window: &str) -> Option<(u16, u16)> {
    let time = |text: &str| {
        let (hour, minute) = text.trim().split_once(':')?;
        let parse = |text: &str| text.parse::<u16>().ok().filter(|_| text.len() == 2);
        let (hour, minute) = (parse(hour)?, parse(minute)?);
        Some(hour * 60 + minute).filter(|time| minute < 60 && *time <= DAY)
    };
    let (from, to) = window.split_once('-')?;
    let (from, to) = (time(from)?, time(to)?);
    (from % DAY != to % DAY || from < to).then_some((from % DAY, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BERLIN: &str = "Europe/Berlin";

    fn schedule(caps: &[u64], window: &str) -> Schedule {
        let schedule = Schedule::new().time_zone(BERLIN).unwrap();
        let schedule = if caps.is_empty() { schedule } else { schedule.daily(caps.iter().copied()).unwrap() };
        if window.is_empty() { schedule } else { schedule.window(window).unwrap() }
    }

    /// Returns when a batch that is ready at a given time in Berlin may start, given the emails sent on each day.
    fn start(schedule: &Schedule, now: &str, emails: u64, sent: &[(&str, u64)]) -> Option<String> {
        let zone = schedule.zone();
        let days = Days::from_sent(sent.iter().map(|(day, emails)| (day.parse().unwrap(), *emails)));
        let now = now.parse::<Timestamp>().unwrap();
        let at = schedule.next_start(now, &zone, emails, &days)?;
        Some(at.to_zoned(zone).strftime("%Y-%m-%dT%H:%M%:z").to_string())
    }

    #[test]
    fn a_window_opens_on_the_same_day_or_the_next_one() {
        let day = schedule(&[], "08:00-20:00");
        for (now, expected) in [
            ("2026-11-27T07:59:59+01:00", "2026-11-27T08:00+01:00"),
            ("2026-11-27T08:00:00+01:00", "2026-11-27T08:00+01:00"),
            ("2026-11-27T19:59:59+01:00", "2026-11-27T19:59+01:00"),
            ("2026-11-27T20:00:00+01:00", "2026-11-28T08:00+01:00"),
        ] {
            assert_eq!(start(&day, now, 100, &[]).as_deref(), Some(expected), "{now}");
        }
        let night = schedule(&[], "22:00-06:00");
        for (now, expected) in [
            ("2026-11-27T05:59:00+01:00", "2026-11-27T05:59+01:00"),
            ("2026-11-27T06:00:00+01:00", "2026-11-27T22:00+01:00"),
            ("2026-11-27T23:30:00+01:00", "2026-11-27T23:30+01:00"),
        ] {
            assert_eq!(start(&night, now, 100, &[]).as_deref(), Some(expected), "{now}");
        }
    }

    #[test]
    fn a_window_follows_the_changes_of_the_clock() {
        // Clocks go from 02:00 to 03:00 on 2026-03-29, and from 03:00 back to 02:00 on 2026-10-25.
        let skipped = schedule(&[], "02:30-02:45");
        assert_eq!(
            start(&skipped, "2026-03-29T00:10:00+01:00", 1, &[]).unwrap(),
            "2026-03-30T02:30+02:00",
            "the window of this day doesn't exist"
        );
        let longer = schedule(&[], "02:30-04:00");
        assert_eq!(start(&longer, "2026-03-29T00:10:00+01:00", 1, &[]).unwrap(), "2026-03-29T03:30+02:00");
        let twice = |now| start(&skipped, now, 1, &[]).unwrap();
        assert_eq!(twice("2026-10-25T02:00:00+02:00"), "2026-10-25T02:30+02:00");
        assert_eq!(twice("2026-10-25T02:50:00+02:00"), "2026-10-25T02:30+01:00");
        assert_eq!(twice("2026-10-25T02:50:00+01:00"), "2026-10-26T02:30+01:00");
        let day = schedule(&[], "08:00-20:00");
        assert_eq!(start(&day, "2026-03-28T20:00:00+01:00", 1, &[]).unwrap(), "2026-03-29T08:00+02:00");
    }

    #[test]
    fn a_full_day_waits_for_the_next_one_and_the_last_cap_stays() {
        let warm_up = schedule(&[50, 100, 200], "");
        let now = "2026-11-27T12:00:00+01:00";
        let next = Some("2026-11-28T00:00+01:00".to_owned());
        let at_once = Some("2026-11-27T12:00+01:00".to_owned());
        assert_eq!(start(&warm_up, now, 50, &[]), at_once);
        assert_eq!(start(&warm_up, now, 1, &[("2026-11-27", 50)]), next);
        // Only days on which the job sent count.
        assert_eq!(start(&warm_up, now, 50, &[("2026-11-20", 50), ("2026-11-27", 50)]), at_once);
        assert_eq!(start(&warm_up, now, 51, &[("2026-11-20", 50), ("2026-11-27", 50)]), next);
        let later = [("2026-11-01", 50), ("2026-11-02", 100), ("2026-11-03", 200), ("2026-11-04", 200)];
        assert_eq!(start(&warm_up, now, 200, &later), at_once);
        assert_eq!(start(&warm_up, now, 51, &[]), None, "a batch that is larger than the cap never starts");
        // The day has 23 hours, and the next day has its own cap.
        let spring = start(&warm_up, "2026-03-29T12:00:00+02:00", 1, &[("2026-03-29", 50)]);
        assert_eq!(spring.unwrap(), "2026-03-30T00:00+02:00");
    }

    #[test]
    fn a_job_takes_as_many_days_as_its_caps_require() {
        let warm_up = schedule(&[50, 100, 200], "");
        let days = [0, 1, 50, 51, 150, 351, 550, 551].map(|emails| warm_up.days(emails).unwrap());
        assert_eq!(days, [0, 1, 1, 2, 2, 4, 4, 5]);
        assert_eq!(schedule(&[], "08:00-20:00").days(100), None);
    }

    #[test]
    fn caps_and_windows_hold_together() {
        let both = schedule(&[50], "08:00-20:00");
        let full = [("2026-11-27", 50)];
        assert_eq!(start(&both, "2026-11-27T12:00:00+01:00", 1, &full).unwrap(), "2026-11-28T08:00+01:00");
        let night = schedule(&[50], "22:00-06:00");
        assert_eq!(
            start(&night, "2026-11-27T23:00:00+01:00", 1, &full).unwrap(),
            "2026-11-28T00:00+01:00",
            "the window crosses midnight, where another day begins"
        );
    }

    #[test]
    fn what_is_no_schedule_is_rejected() {
        for window in ["", "8:00-20:00", "08:00", "08:00-08:00", "08:60-09:00", "08:00-24:01", "00:00-0:00"] {
            assert!(Schedule::new().window(window).is_err(), "{window}");
        }
        for window in ["08:00-20:00", "22:00-06:00", "00:00-24:00", "18:00-24:00"] {
            assert!(Schedule::new().window(window).is_ok(), "{window}");
        }
        assert!(Schedule::new().daily([]).is_err() && Schedule::new().daily([10, 0]).is_err());
        assert!(Schedule::new().time_zone("Europe/Atlantis").is_err());
    }
}
