//! The cost of work in tests, as CPU time, independent of other programs.

use std::time::Duration;

/// Returns the CPU time that this thread has spent on `work`. On systems other than Unix, it is elapsed time.
pub(crate) fn cpu_time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = now();
    work();
    now().saturating_sub(start)
}

#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

#[cfg(not(unix))]
fn now() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}
