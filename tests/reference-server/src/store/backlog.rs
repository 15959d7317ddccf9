//! The backlog of changes that aren't on disk yet, and the back pressure that bounds it.
//!
//! A thread that wants to change something waits while the oldest unwritten change is older than `MAX_AGE`, or while more has changed
//! since the last write started than the disk can write in `WRITE_TIME`. A change is on disk after the write in progress and the one that
//! contains it, so a killed process loses at most the changes of about twice that time, under any load.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::lock::lock;

/// The age of the oldest unwritten change above which further changes wait.
const MAX_AGE: Duration = Duration::from_millis(250);
/// The target duration of a write.
const WRITE_TIME: Duration = Duration::from_millis(100);
/// The initial limit of a write in bytes, until the speed of the disk is known, and the bounds of the adapted limit.
const FIRST_LIMIT: usize = 1 << 20;
const LIMITS: std::ops::RangeInclusive<usize> = 256 << 10..=256 << 20;

#[derive(Debug, Default)]
pub struct Backlog {
    unwritten: Mutex<Unwritten>,
    less: Condvar,
}

#[derive(Debug)]
struct Unwritten {
    /// Whether a writer is active. Without one, and while writes fail, nothing waits.
    is_written: bool,
    /// The changes of the next write.
    next: Part,
    /// The changes that are being written.
    current: Part,
    /// The maximum number of bytes per write.
    limit: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// The time of the oldest change.
    since: Option<Instant>,
    bytes: usize,
}

impl Default for Unwritten {
    fn default() -> Self {
        Self { is_written: false, next: Part::default(), current: Part::default(), limit: FIRST_LIMIT }
    }
}

impl Unwritten {
    fn is_full(&self, now: impl FnOnce() -> Instant) -> bool {
        let oldest = self.current.since.or(self.next.since);
        let is_old = || oldest.is_some_and(|since| now().duration_since(since) > MAX_AGE);
        self.is_written && (self.next.bytes >= self.limit || is_old())
    }

    fn add(&mut self, bytes: usize, now: impl FnOnce() -> Instant) {
        self.next.since.get_or_insert_with(now);
        self.next.bytes += bytes;
    }

    /// Moves the changes so far into one write, together with those of a failed one.
    fn begin(&mut self) {
        let next = std::mem::take(&mut self.next);
        self.current.since = self.current.since.or(next.since);
        self.current.bytes += next.bytes;
    }

    /// Adapts the limit to the measured throughput: it shrinks immediately, and grows only while it delays changes.
    fn end(&mut self, took: Duration) {
        let written = std::mem::take(&mut self.current).bytes;
        let share = WRITE_TIME.as_secs_f64() / took.as_secs_f64().max(1e-3);
        if share < 1.0 {
            self.limit = times(written, share);
        } else if written >= self.limit / 2 {
            self.limit = self.limit.max(times(written, share.min(1.5)));
        }
        self.limit = self.limit.clamp(*LIMITS.start(), *LIMITS.end());
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an estimate"
)]
fn times(bytes: usize, factor: f64) -> usize {
    (bytes as f64 * factor) as usize
}

impl Backlog {
    /// Waits until another change is allowed.
    pub fn wait(&self) {
        let full = |unwritten: &mut Unwritten| unwritten.is_full(Instant::now);
        let waited = self.less.wait_while(lock(&self.unwritten), full);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    pub fn is_full(&self) -> bool {
        lock(&self.unwritten).is_full(Instant::now)
    }

    /// Counts changes.
    pub fn add(&self, bytes: usize) {
        if bytes > 0 {
            lock(&self.unwritten).add(bytes, Instant::now);
        }
    }

    /// Starts a write of the changes so far.
    pub fn begin_write(&self) {
        lock(&self.unwritten).begin();
        self.less.notify_all();
    }

    /// Ends a write that took this long, encoding included.
    pub fn end_write(&self, took: Duration) {
        let mut unwritten = lock(&self.unwritten);
        unwritten.end(took);
        unwritten.is_written = true;
        self.less.notify_all();
    }

    /// Stops the back pressure: writes fail, or the writer has ended.
    pub fn give_up(&self) {
        lock(&self.unwritten).is_written = false;
        self.less.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::store::changes;
    use crate::store::snapshot_lock::SnapshotLock;

    /// A backlog whose writer hasn't written yet.
    fn unwritten() -> Unwritten {
        Unwritten { is_written: true, ..Unwritten::default() }
    }

    #[test]
    fn changes_wait_while_the_backlog_exceeds_the_write_limit() {
        let (mut unwritten, now) = (unwritten(), Instant::now());
        unwritten.add(FIRST_LIMIT - 1, || now);
        assert!(!unwritten.is_full(|| now));
        unwritten.add(1, || now);
        assert!(unwritten.is_full(|| now));
        unwritten.begin();
        assert!(!unwritten.is_full(|| now), "the next write may grow to the same size during this one");
        unwritten.add(FIRST_LIMIT, || now);
        assert!(unwritten.is_full(|| now));
    }

    #[test]
    fn changes_wait_while_the_oldest_unwritten_change_is_too_old() {
        let (mut unwritten, now) = (unwritten(), Instant::now());
        let later = now + MAX_AGE + Duration::from_millis(1);
        unwritten.add(1, || now);
        assert!(!unwritten.is_full(|| now + MAX_AGE) && unwritten.is_full(|| later));
        unwritten.begin();
        assert!(unwritten.is_full(|| later), "changes in flight still count");
        unwritten.end(WRITE_TIME);
        assert!(!unwritten.is_full(|| later));
        unwritten.add(1, || now);
        unwritten.is_written = false;
        assert!(!unwritten.is_full(|| later), "nothing waits while writes fail");
    }

    #[test]
    fn write_limit_adapts_to_the_throughput() {
        let (mut unwritten, now) = (unwritten(), Instant::now());
        let mut write = |bytes, took| {
            unwritten.add(bytes, || now);
            unwritten.begin();
            unwritten.end(took);
            unwritten.limit
        };
        assert_eq!(write(FIRST_LIMIT, 4 * WRITE_TIME), FIRST_LIMIT / 4);
        assert_eq!(
            write(FIRST_LIMIT / 4, WRITE_TIME / 10),
            FIRST_LIMIT * 3 / 8,
            "it grows by at most a half"
        );
        assert_eq!(
            write(10, WRITE_TIME / 10),
            FIRST_LIMIT * 3 / 8,
            "a small write doesn't measure the throughput of a large one"
        );
        assert_eq!(write(10, 100 * WRITE_TIME), *LIMITS.start());
    }

    #[test]
    fn entering_the_snapshot_lock_waits_for_the_writer() {
        let lock = Arc::new(SnapshotLock::default());
        lock.backlog().end_write(WRITE_TIME);
        let inside = lock.enter();
        changes::count(FIRST_LIMIT);
        drop(lock.enter());
        drop(inside);
        assert!(lock.backlog().is_full(), "changes under the lock count");

        let (events, happened) = channel();
        let (late, entered) = (Arc::clone(&lock), events.clone());
        let waiting = std::thread::spawn(move || {
            let _guard = late.enter();
            entered.send("a change").unwrap();
        });
        assert!(happened.recv_timeout(Duration::from_millis(50)).is_err());
        events.send("the write begins").unwrap();
        drop(lock.close());
        lock.backlog().begin_write();
        waiting.join().unwrap();
        assert_eq!(happened.try_iter().collect::<Vec<_>>(), ["the write begins", "a change"]);
    }
}
