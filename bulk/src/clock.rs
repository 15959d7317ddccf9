//! Time and the ages of attempts. No other module decides about either.
//!
//! # Why a wrong clock can't cause a duplicate
//!
//! The service remembers an idempotency key for 24 hours, so a batch whose outcome is uncertain may be repeated for some time after its first
//! attempt. A wrong clock must never make that time look shorter than it was:
//!
//! - Within a process, time follows the monotonic clock and never goes back. Changing the wall clock has no effect.
//! - The monotonic clock may stop while the machine sleeps, and it doesn't survive the process. If the wall clock has advanced further than the
//!   monotonic clock, or attempts of an earlier process are open, the [clock is in doubt](Clock::is_in_doubt). Before the process repeats an attempt,
//!   it then asks a reference that its own machine can't change: the service (the `Date` header of a response) or the queue of a distributed job.
//! - Both clocks stop while a virtual machine is paused. So the service is also asked if no response has stated its time since the attempt ended.
//! - An attempt that was dated by a wall clock ahead of the true time would seem newer once the clock is right. So before its first request, a run
//!   asks the service for the time, and if this clock is ahead of it, attempts are journaled by the service's time. If a proxy answered instead, the
//!   first accepted batch shows the service's time: open attempts are then journaled a second time, as are all attempts of a job with a schedule,
//!   which counts by this machine's time.
//! - Clocks that should agree may differ by up to [`TOLERANCE`], which the safety margin of [`RESEND_WITHIN`] covers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::locked::Locked;

/// How far clocks that should agree may differ: the clocks of two machines, or one clock before and after a correction.
pub(crate) const TOLERANCE: Duration = Duration::from_mins(5);
/// How long after its first attempt a batch may be attempted again. The service remembers a key for 24 hours; the last hour is a safety margin for
/// clock differences and delayed requests.
pub(crate) const RESEND_WITHIN: Duration = Duration::from_hours(23);
/// Smaller differences from the queue's clock are network noise and aren't corrected.
#[cfg(feature = "nats")]
const NOISE: Duration = Duration::from_millis(100);

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UnixMillis(pub(crate) u64);

impl UnixMillis {
    /// Reads the wall clock. A time before the epoch counts as the epoch.
    pub(crate) fn now() -> Self {
        WallClock::default().now().into()
    }

    /// Returns the time elapsed since `earlier`, or `None` if `earlier` is later.
    pub(crate) fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_millis)
    }

    /// Returns the time `delay` later.
    pub(crate) fn saturating_add(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(Self::from(delay).0))
    }

    /// Returns the time `by` earlier.
    pub(crate) fn saturating_sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(Self::from(by).0))
    }

    /// Returns the age of an attempt made at this time, or `None` if that is later than `now` by more than the tolerance.
    pub(crate) fn age(self, now: Self) -> Option<Duration> {
        now.saturating_add(TOLERANCE)
            .checked_duration_since(self)
            .map(|_| now.checked_duration_since(self).unwrap_or_default())
    }
}

/// The time since the Unix epoch.
impl From<Duration> for UnixMillis {
    fn from(since_epoch: Duration) -> Self {
        Self(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Returns whether the service certainly still remembers the key of an attempt of this age.
pub(crate) fn can_be_resent(age: Option<Duration>) -> bool {
    age.is_some_and(|age| age < RESEND_WITHIN)
}

/// A step of the queue's clock beyond the tolerance.
#[cfg(feature = "nats")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) by: Duration,
    pub(crate) ahead: bool,
}

/// Checks a reading of the queue's clock, which should be between `earliest` and `latest`.
#[cfg(feature = "nats")]
pub(crate) fn check_step(earliest: Duration, latest: Duration, time: Duration) -> Result<(), Step> {
    if time + TOLERANCE < earliest {
        return Err(Step { by: earliest.saturating_sub(time), ahead: false });
    }
    if latest + TOLERANCE < time {
        return Err(Step { by: time.saturating_sub(latest), ahead: true });
    }
    Ok(())
}

/// This machine's wall clock; tests can move it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallClock {
    moved: Arc<AtomicI64>,
    /// The milliseconds by which tests have advanced the machine's other clock too.
    #[cfg(test)]
    passed: Arc<AtomicI64>,
    /// Whether time passes while the process waits on tokio's paused clock.
    #[cfg(test)]
    passes_waiting: bool,
}

impl WallClock {
    /// Returns the time since the Unix epoch, or zero before it.
    pub(crate) fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let moved = self.moved.load(Ordering::SeqCst);
        let by = Duration::from_millis(moved.unsigned_abs());
        if moved < 0 { now.saturating_sub(by) } else { now.saturating_add(by) }
    }

    /// Reads both clocks of this machine.
    fn read(&self) -> Reading {
        let monotonic = Instant::now();
        #[cfg(test)]
        let monotonic = monotonic + Duration::from_millis(self.passed.load(Ordering::SeqCst).unsigned_abs());
        Reading { monotonic, wall: self.now() }
    }

    /// Moves the clock by milliseconds.
    pub(crate) fn advance_millis(&self, milliseconds: i64) {
        self.moved.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// Creates the clocks of a machine whose waits take no real time.
    #[cfg(test)]
    pub(crate) fn without_waits() -> Self {
        Self { passes_waiting: true, ..Self::default() }
    }

    /// Lets time pass on both clocks of the machine.
    #[cfg(test)]
    pub(crate) fn pass(&self, time: Duration) {
        let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        self.passed.fetch_add(milliseconds, Ordering::SeqCst);
        self.advance_millis(milliseconds);
    }
}

/// The clock of a process, which never goes back.
#[derive(Debug)]
pub(crate) struct Clock {
    wall: WallClock,
    state: Locked<State>,
}

/// The service's time as a response states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatedTime {
    pub(crate) since_epoch: Duration,
    /// Whether the response is certainly the service's. A proxy may have written any other, by its own clock.
    pub(crate) is_certain: bool,
}

/// The time that a response stated, and this clock's time when it was read.
#[derive(Clone, Copy, Debug)]
struct Reference {
    stated: StatedTime,
    then: Duration,
}

/// Simultaneous readings of this machine's clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    monotonic: Instant,
    wall: Duration,
}

#[derive(Debug)]
struct State {
    /// The clock's time at its anchor, the reading `at`.
    time: Duration,
    at: Reading,
    /// Whether only a reference can confirm the time.
    unconfirmed: bool,
    /// The earliest time that the service stated since the clock was last confirmed, so that it shows all the time that has passed since then.
    reference: Option<Reference>,
    /// When a response last stated the service's time, or the clock was confirmed.
    checked: Option<Instant>,
}

impl State {
    fn new(time: Duration, at: Reading) -> Self {
        Self { time, at, unconfirmed: false, reference: None, checked: None }
    }

    /// Advances the time by the monotonic clock and returns it.
    fn advance(&mut self, to: Reading) -> Duration {
        let elapsed = to.monotonic.saturating_duration_since(self.at.monotonic);
        let now = self.time + elapsed;
        if to.wall + TOLERANCE < self.at.wall + elapsed && !self.unconfirmed {
            // The wall clock was set back; from here on, its advance shows again whether the machine slept.
            (self.time, self.at) = (now, to);
        }
        now
    }

    fn is_in_doubt(&mut self, to: Reading) -> bool {
        let now = self.advance(to);
        self.unconfirmed || to.wall.saturating_sub(self.at.wall) > now.saturating_sub(self.time) + TOLERANCE
    }

    /// Sets the time, from which both of the machine's clocks are measured on.
    fn anchor(&mut self, time: Duration, at: Reading) {
        (self.time, self.at, self.unconfirmed) = (time, at, false);
    }

    fn confirm(&mut self, stated: Option<StatedTime>, to: Reading) {
        let now = self.advance(to);
        let confirmed = match (stated, self.reference) {
            (Some(time), Some(Reference { stated: before, then })) => {
                then + time.since_epoch.saturating_sub(before.since_epoch)
            }
            (Some(time), None) => time.since_epoch,
            // The wall clock is the only other evidence.
            (None, _) => self.time + to.wall.saturating_sub(self.at.wall),
        };
        let time = now.max(confirmed);
        self.anchor(time, to);
        self.checked = Some(to.monotonic);
        self.reference = stated.map(|stated| Reference { stated, then: time }).or(self.reference);
    }

    /// A clock in doubt may be behind: related to it, the stated time would hide that.
    fn observe(&mut self, stated: StatedTime, to: Reading) {
        if self.is_in_doubt(to) {
            return;
        }
        let now = self.advance(to);
        self.checked = Some(to.monotonic);
        if stated.is_certain && self.reference.is_none_or(|reference| !reference.stated.is_certain) {
            self.reference = Some(Reference { stated, then: now });
        }
        self.unconfirmed = self.reference.is_some_and(|Reference { stated: before, then }| {
            let there = stated.since_epoch.saturating_sub(before.since_epoch);
            there > now.saturating_sub(then) + TOLERANCE
        });
    }

    #[cfg(feature = "nats")]
    fn follow(&mut self, time: Duration, to: Reading) -> Result<(), Step> {
        let now = self.advance(to);
        let latest = now.max(self.time + to.wall.saturating_sub(self.at.wall));
        check_step(now, latest, time).inspect_err(|_| self.unconfirmed = true)?;
        self.anchor(if now.abs_diff(time) > NOISE { time } else { now }, to);
        Ok(())
    }
}

impl Clock {
    /// Creates the clock of a process that starts at this time. It is in doubt if the process continues attempts of an earlier process.
    pub(crate) fn new(start: UnixMillis, wall: WallClock, continues: bool) -> Self {
        let clock = Self::new_at(Duration::from_millis(start.0), wall);
        clock.state.lock().unconfirmed = continues;
        clock
    }

    /// Creates a clock that [follows](Self::follow) another clock, which now shows this time since the Unix epoch.
    #[cfg(feature = "nats")]
    pub(crate) fn new_following(time: Duration) -> Self {
        Self::new_at(time, WallClock::default())
    }

    fn new_at(time: Duration, wall: WallClock) -> Self {
        let at = wall.read();
        Self { wall, state: Locked::new(State::new(time, at)) }
    }

    /// Returns the time since the Unix epoch.
    #[cfg(feature = "nats")]
    pub(crate) fn now(&self) -> Duration {
        self.state.lock().advance(self.wall.read())
    }

    /// Returns the time as the journal records it.
    pub(crate) fn millis(&self) -> UnixMillis {
        self.state.lock().advance(self.wall.read()).into()
    }

    /// Returns whether ages measured by this clock may be too small. A reference then has to confirm the time before an uncertain attempt is
    /// repeated.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.state.lock().is_in_doubt(self.wall.read())
    }

    /// Reads this machine's clocks, before the service is asked for the time.
    pub(crate) fn read(&self) -> Reading {
        self.wall.read()
    }

    /// Confirms the time with the service's, or with the wall clock if the service doesn't state its time. The clock is in doubt again if the machine
    /// has slept since the service was `asked`.
    pub(crate) fn confirm(&self, service: Option<StatedTime>, asked: Reading) {
        self.state.lock().confirm(service, asked);
    }

    /// Returns whether no response has stated the service's time since this reading. A virtual machine that was paused since then may not know it.
    pub(crate) fn is_unchecked_since(&self, reading: Reading) -> bool {
        self.state.lock().checked.is_none_or(|checked| checked < reading.monotonic)
    }

    /// Records the time in a response. A later one shows how much time has passed, if this one is certainly the service's.
    pub(crate) fn observe(&self, service: Option<StatedTime>) {
        if let Some(service) = service {
            self.state.lock().observe(service, self.wall.read());
        }
    }

    /// Returns how far this clock is ahead of the service's, if that is more than the tolerance.
    pub(crate) fn lead(&self) -> Duration {
        let ahead = |Reference { stated, then }| then.saturating_sub(stated.since_epoch);
        self.state.lock().reference.map(ahead).filter(|lead| *lead > TOLERANCE).unwrap_or_default()
    }

    /// Follows the queue's clock. Corrections within the tolerance may move this clock back.
    ///
    /// # Errors
    /// The queue's clock was set by more than the tolerance. This clock stays in doubt until both agree again.
    #[cfg(feature = "nats")]
    pub(crate) fn follow(&self, queue: Duration) -> Result<(), Step> {
        self.state.lock().follow(queue, self.wall.read())
    }

    /// Waits.
    pub(crate) async fn sleep(&self, time: Duration) {
        #[cfg(test)]
        let until = self.millis().saturating_add(time);
        tokio::time::sleep(time).await;
        #[cfg(test)]
        if self.wall.passes_waiting {
            self.wall.pass(until.checked_duration_since(self.millis()).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3_600;
    const START: Duration = Duration::from_secs(1_000 * DAY);

    /// Readings after so many seconds of the monotonic clock, with a wall clock that was moved by so many.
    struct Machine(Instant);

    impl Machine {
        fn at(&self, seconds: u64, moved: i64) -> Reading {
            let wall = (START.as_secs() + seconds).saturating_add_signed(moved);
            Reading { monotonic: self.0 + Duration::from_secs(seconds), wall: Duration::from_secs(wall) }
        }
    }

    fn started() -> (Machine, State) {
        let machine = Machine(Instant::now());
        let state = State::new(START, machine.at(0, 0));
        (machine, state)
    }

    fn certain(since_epoch: Duration) -> StatedTime {
        StatedTime { since_epoch, is_certain: true }
    }

    fn passed(state: &mut State, reading: Reading) -> u64 {
        state.advance(reading).saturating_sub(START).as_secs()
    }

    #[test]
    fn setting_the_wall_clock_changes_no_age() {
        // F-11
        let (machine, mut state) = started();
        let day = DAY.cast_signed();
        for (seconds, moved) in [(10, day), (20, -day), (30, -2 * day), (40, 300), (50, 0)] {
            assert_eq!(passed(&mut state, machine.at(seconds, moved)), seconds, "{moved}");
        }
    }

    #[test]
    fn a_wall_clock_that_advanced_further_puts_the_time_in_doubt() {
        // F-11
        let (machine, mut state) = started();
        assert!(!state.is_in_doubt(machine.at(10, 299)));
        assert!(state.is_in_doubt(machine.at(10, 301)));
        // A machine whose clock was set back an hour ago sleeps for ten minutes.
        assert!(!state.is_in_doubt(machine.at(20, -3_600)));
        assert!(state.is_in_doubt(machine.at(30, -3_000)));
    }

    #[test]
    fn the_service_s_time_tells_sleep_from_a_setting() {
        // F-11
        for (slept, expected) in [(0, 60), (DAY, 60 + DAY)] {
            let (machine, mut state) = started();
            // The service's clock is an hour ahead.
            let service = |seconds| certain(START + Duration::from_secs(3_600 + seconds));
            state.observe(service(50), machine.at(50, 0));
            let reading = machine.at(60, DAY.cast_signed());
            assert!(state.is_in_doubt(reading));
            // Another response after the sleep.
            state.observe(service(60 + slept), reading);
            state.confirm(Some(service(60 + slept)), reading);
            assert_eq!(passed(&mut state, reading), expected);
            assert!(!state.is_in_doubt(reading));
        }
    }

    #[test]
    fn short_sleeps_between_responses_add_up() {
        // F-11
        let (machine, mut state) = started();
        let mut minutes = 0;
        // A minute awake, four asleep.
        let reading = loop {
            let reading = machine.at(60 * minutes, 240 * minutes.cast_signed());
            if state.is_in_doubt(reading) {
                break reading;
            }
            state.observe(certain(START + Duration::from_mins(5 * minutes)), reading);
            minutes += 1;
        };
        state.confirm(Some(certain(START + Duration::from_mins(5 * minutes))), reading);
        assert_eq!((minutes, passed(&mut state, reading)), (2, 600));
    }

    #[test]
    fn the_service_s_time_reveals_that_both_clocks_stood_still() {
        // F-11
        let (machine, mut state) = started();
        let service = |seconds| certain(START + Duration::from_secs(seconds));
        state.observe(service(10), machine.at(10, 0));
        state.observe(service(310), machine.at(20, 0));
        assert!(!state.is_in_doubt(machine.at(20, 0)));
        state.observe(service(DAY), machine.at(30, 0));
        assert!(state.is_in_doubt(machine.at(30, 0)));
        state.confirm(Some(service(DAY + 10)), machine.at(40, 0));
        assert_eq!(passed(&mut state, machine.at(40, 0)), DAY + 10);
    }

    #[test]
    fn a_response_with_the_time_checks_the_clock_until_then() {
        let wall = WallClock::default();
        let clock = Clock::new(wall.now().into(), wall.clone(), false);
        let ended = clock.read();
        assert!(clock.is_unchecked_since(ended));
        wall.pass(Duration::from_secs(1));
        clock.observe(Some(StatedTime { since_epoch: wall.now(), is_certain: false }));
        wall.pass(Duration::from_secs(1));
        assert!(!clock.is_unchecked_since(ended) && clock.is_unchecked_since(clock.read()));
    }

    #[test]
    fn the_service_s_time_replaces_that_of_a_proxy() {
        // F-11
        let wall = WallClock::default();
        let clock = Clock::new(wall.now().into(), wall.clone(), true);
        let day = Duration::from_secs(DAY);
        clock.confirm(Some(StatedTime { since_epoch: wall.now() + day, is_certain: false }), clock.read());
        assert_eq!(clock.lead(), Duration::ZERO);
        clock.observe(Some(certain(wall.now())));
        assert!(clock.lead().abs_diff(day) < TOLERANCE && !clock.is_in_doubt());
    }

    #[test]
    fn a_sleep_before_the_service_s_time_arrives_leaves_the_time_in_doubt() {
        // F-11
        let wall = WallClock::default();
        let clock = Clock::new(wall.now().into(), wall.clone(), true);
        let (asked, time) = (clock.read(), certain(wall.now()));
        wall.advance_millis(DAY.cast_signed() * 1_000);
        clock.confirm(Some(time), asked);
        assert!(clock.is_in_doubt());
        clock.confirm(Some(certain(wall.now())), clock.read());
        assert!(!clock.is_in_doubt());
    }

    #[test]
    fn without_the_service_s_time_the_wall_clock_counts() {
        // F-11
        let (machine, mut state) = started();
        let reading = machine.at(60, DAY.cast_signed());
        state.confirm(None, reading);
        assert_eq!(passed(&mut state, reading), 60 + DAY);
        assert!(!state.is_in_doubt(reading));
    }

    #[test]
    fn a_time_that_is_a_little_in_the_future_is_new_and_one_far_ahead_unknown() {
        // F-11
        let now = UnixMillis(10_000_000);
        let ahead = |by: Duration| now.saturating_add(by).age(now);
        assert_eq!(ahead(Duration::ZERO), Some(Duration::ZERO));
        assert_eq!(ahead(TOLERANCE), Some(Duration::ZERO));
        assert_eq!(ahead(TOLERANCE + Duration::from_millis(1)), None);
        assert_eq!(UnixMillis(9_000_000).age(now), Some(Duration::from_secs(1_000)));
    }

    #[cfg(feature = "nats")]
    #[test]
    fn a_queue_s_clock_is_followed_unless_it_steps_back_beyond_the_tolerance() {
        // F-11
        let (machine, mut state) = started();
        let queue = |seconds| START + Duration::from_secs(seconds);
        state.follow(queue(15), machine.at(10, 0)).unwrap();
        assert_eq!(passed(&mut state, machine.at(11, 0)), 16);
        state.follow(queue(10), machine.at(11, 0)).unwrap();
        assert_eq!(passed(&mut state, machine.at(11, 0)), 10);
        let back = state.follow(queue(15), machine.at(411, 0)).unwrap_err();
        assert_eq!(back, Step { by: Duration::from_secs(395), ahead: false });
        assert!(state.is_in_doubt(machine.at(412, 0)), "an age could be too small");
        assert_eq!(passed(&mut state, machine.at(412, 0)), 411);
        state.follow(queue(420), machine.at(420, 0)).unwrap();
        assert!(!state.is_in_doubt(machine.at(420, 0)));
        let ahead = state.follow(queue(420 + DAY), machine.at(420, 0)).unwrap_err();
        assert_eq!(ahead, Step { by: Duration::from_secs(DAY), ahead: true });
        // The machine slept for a day.
        state.follow(queue(420 + DAY), machine.at(420, DAY.cast_signed())).unwrap();
        assert_eq!(passed(&mut state, machine.at(420, DAY.cast_signed())), 420 + DAY);
    }
}
