//! The signals that ask the program to stop, and the moments when it has to finish something first.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::diagnostics::{Fail, Signal};
use crate::output::{pager, write_stderr};

/// How many things are being done that a signal must not cut off.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// Told when the last of them is done.
static FREE: Notify = Notify::const_new();

/// While it lives, the program finishes before it stops.
#[derive(Debug)]
pub(crate) struct Held(());

/// Delays the end by a signal: between the exchange of a code and the save a response may hold the only copy of new tokens.
pub(crate) fn hold() -> Held {
    HELD.fetch_add(1, Ordering::SeqCst);
    Held(())
}

impl Drop for Held {
    fn drop(&mut self) {
        if HELD.fetch_sub(1, Ordering::SeqCst) == 1 {
            FREE.notify_waiters();
        }
    }
}

/// Listens from the moment it is made: a signal that arrives before anybody waits for it is not lost, and does not end
/// the program.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// None for a program that was told not to heed it (nohup).
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Begins to listen.
    pub(crate) fn listen() -> Result<Self, Fail> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let all = || {
                let hangup = if heeds_hangup() { Some(signal(SignalKind::hangup())?) } else { None };
                Ok(Self {
                    interrupt: signal(SignalKind::interrupt())?,
                    terminate: signal(SignalKind::terminate())?,
                    hangup,
                })
            };
            all().map_err(|error: std::io::Error| Fail::local("the program cannot listen for signals", error))
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next one. Ctrl-C while a pager is open is the pager's.
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            let signal = self.any().await;
            if signal != Signal::Interrupt || !pager::is_open() {
                return signal;
            }
        }
    }

    async fn any(&mut self) -> Signal {
        #[cfg(unix)]
        {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => Signal::Interrupt,
                _ = self.terminate.recv() => Signal::Terminate,
                _ = hangup => Signal::Hangup,
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            Signal::Interrupt
        }
    }

    /// Waits until nothing is held any more, or until another signal.
    pub(crate) async fn when_free(&mut self) {
        let mut announced = false;
        loop {
            let free = FREE.notified();
            if HELD.load(Ordering::SeqCst) == 0 {
                return;
            }
            if !announced {
                write_stderr("saving the login, at most 30 s; interrupt again to stop at once\n");
                announced = true;
            }
            tokio::select! {
                () = free => {}
                _ = self.next() => return,
            }
        }
    }
}

/// Whether a hangup ends the program. Listening for it would undo what nohup(1) did.
#[cfg(target_os = "linux")]
fn heeds_hangup() -> bool {
    let ignored = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?.trim().to_owned();
        u64::from_str_radix(&mask, 16).ok()
    };
    ignored().is_some_and(|mask| mask & 1 == 0)
}

/// Where it can't be found out, the system does what it always does.
#[cfg(all(unix, not(target_os = "linux")))]
fn heeds_hangup() -> bool {
    false
}
