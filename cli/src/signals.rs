//! The two signals that ask the program to stop.

use crate::fail::{Fail, Signal};

/// Listens from the moment it is made: a signal that arrives before anybody waits for it is not lost, and does not end
/// the program.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Begins to listen.
    pub(crate) fn listen() -> Result<Self, Fail> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let both = || {
                Ok(Self {
                    interrupt: signal(SignalKind::interrupt())?,
                    terminate: signal(SignalKind::terminate())?,
                })
            };
            both()
                .map_err(|error: std::io::Error| Fail::local("the program cannot listen for signals", error))
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
            Signal::Interrupt
        }
    }
}
