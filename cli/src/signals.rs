//! Signals that stop the program, and critical sections that must finish first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::{runtime::Handle, sync::Notify};

use crate::diagnostics::{Fail, Signal};
use crate::output::write_stderr;
use crate::processes;

/// The number of critical sections in progress.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
/// Notified when the last of them ends.
static RELEASED: Notify = Notify::const_new();

/// Whether a signal ends the command.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// Records that a signal ends the command.
pub(crate) fn begin_stopping() {
    STOPPING.store(true, Ordering::SeqCst);
}

/// Called at the end of standard input; doesn't return if a signal ends the command. Ctrl-C also ends the program at the other end of a pipe, so
/// the input may be cut off.
pub(crate) fn block_if_stopping() {
    let Ok(runtime) = Handle::try_current() else { return };
    let (done, handled) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        // Afterwards, the runtime has handled the signals that arrived earlier.
        tokio::task::yield_now().await;
        let _ = done.send(());
    });
    let _ = handled.recv();
    while STOPPING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// A critical section: while this exists, signals don't stop the program.
#[derive(Debug)]
pub(crate) struct CriticalSection(());

/// Delays termination by a signal: between the exchange of a code and the save, a response may hold the only copy of new tokens.
pub(crate) fn hold() -> CriticalSection {
    ACTIVE.fetch_add(1, Ordering::SeqCst);
    CriticalSection(())
}

impl Drop for CriticalSection {
    fn drop(&mut self) {
        if ACTIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
            RELEASED.notify_waiters();
        }
    }
}

/// Handles signals from its creation on, so that an early signal is neither lost nor ends the program.
#[derive(Debug)]
pub(crate) struct Signals {
    /// `None` if the program was started to ignore it: as a script's background job.
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// `None` if the program was started to ignore it: by nohup.
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
    #[cfg(windows)]
    events: ConsoleEvents,
}

/// The console's events. After a close, a logoff or a shutdown Windows ends the process within seconds.
#[cfg(windows)]
#[derive(Debug)]
struct ConsoleEvents {
    ctrl_c: tokio::signal::windows::CtrlC,
    ctrl_break: tokio::signal::windows::CtrlBreak,
    close: tokio::signal::windows::CtrlClose,
    logoff: tokio::signal::windows::CtrlLogoff,
    shutdown: tokio::signal::windows::CtrlShutdown,
}

impl Signals {
    /// Installs the handlers.
    pub(crate) fn listen() -> Result<Self, Fail> {
        #[cfg(unix)]
        let all = || {
            use tokio::signal::unix::{SignalKind, signal};
            let (interrupt, hangup) = (SignalKind::interrupt(), SignalKind::hangup());
            // Handling an ignored signal would undo what the parent intended.
            let handles_interrupt = is_ignored(interrupt) != Some(true);
            let handles_hangup = is_ignored(hangup) == Some(false);
            Ok(Self {
                interrupt: handles_interrupt.then(|| signal(interrupt)).transpose()?,
                terminate: signal(SignalKind::terminate())?,
                hangup: handles_hangup.then(|| signal(hangup)).transpose()?,
            })
        };
        #[cfg(windows)]
        let all = || {
            use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
            let events = ConsoleEvents {
                ctrl_c: ctrl_c()?,
                ctrl_break: ctrl_break()?,
                close: ctrl_close()?,
                logoff: ctrl_logoff()?,
                shutdown: ctrl_shutdown()?,
            };
            Ok(Self { events })
        };
        all().map_err(|error: std::io::Error| Fail::local("couldn't install signal handlers", error))
    }

    /// Waits for the next signal. While another program controls the terminal, it handles Ctrl-C.
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            let signal = self.next_event().await;
            if signal != Signal::Interrupt || !processes::has_foreground() {
                return signal;
            }
        }
    }

    /// Awaits the work, or fails with the next signal.
    pub(crate) async fn run_until_next<T>(
        &mut self,
        work: impl Future<Output = Result<T, Fail>>,
    ) -> Result<T, Fail> {
        tokio::select! {
            // Work that a signal also ends, by cutting off its input, isn't complete.
            biased;
            signal = self.next() => Err(Fail::interrupted(signal)),
            result = work => result,
        }
    }

    async fn next_event(&mut self) -> Signal {
        #[cfg(unix)]
        {
            async fn next(signal: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
                match signal {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            }
            tokio::select! {
                _ = next(&mut self.interrupt) => Signal::Interrupt,
                _ = self.terminate.recv() => Signal::Terminate,
                _ = next(&mut self.hangup) => Signal::Hangup,
            }
        }
        #[cfg(windows)]
        {
            let events = &mut self.events;
            tokio::select! {
                _ = events.ctrl_c.recv() => Signal::Interrupt,
                _ = events.ctrl_break.recv() => Signal::Terminate,
                _ = events.close.recv() => Signal::Hangup,
                _ = events.logoff.recv() => Signal::Terminate,
                _ = events.shutdown.recv() => Signal::Terminate,
            }
        }
    }

    /// Waits until all critical sections have ended, or for another signal.
    pub(crate) async fn wait_released(&mut self) {
        let mut announced = false;
        loop {
            let free = RELEASED.notified();
            if ACTIVE.load(Ordering::SeqCst) == 0 {
                return;
            }
            if !announced {
                write_stderr("saving the login, for up to 30 s; interrupt again to stop immediately\n");
                announced = true;
            }
            tokio::select! {
                () = free => {}
                _ = self.next() => return,
            }
        }
    }
}

/// Whether the program was started to ignore a signal.
#[cfg(target_os = "linux")]
fn is_ignored(signal: tokio::signal::unix::SignalKind) -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some((mask >> (signal.as_raw_value() - 1)) & 1 == 1)
}

/// Not detectable on this system: an interrupt is handled, and a hangup keeps its default behavior.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_: tokio::signal::unix::SignalKind) -> Option<bool> {
    None
}
