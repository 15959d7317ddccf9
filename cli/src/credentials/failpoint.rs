//! Points at which tests kill the program, like `kill -9`. Release builds have none.

/// Aborts here if `IDEMPOST_FAILPOINT` names this point: alone, or as `POINT:n` for the n-th time.
#[cfg(debug_assertions)]
pub(super) fn point(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);

    let Ok(wanted) = std::env::var("IDEMPOST_FAILPOINT") else { return };
    let (wanted, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if wanted != name {
        return;
    }
    if PASSED.fetch_add(1, Ordering::Relaxed) + 1 == nth.parse().unwrap_or(1) {
        #[cfg(unix)]
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn point(_: &str) {}
