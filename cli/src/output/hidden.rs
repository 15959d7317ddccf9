//! Turns off a terminal's echo while a secret is typed.

#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal's settings to restore.
#[cfg(unix)]
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// While this exists, the terminal doesn't echo input.
#[derive(Debug)]
pub(crate) struct Hidden(());

impl Hidden {
    /// Turns the echo off.
    pub(crate) fn begin() -> Self {
        #[cfg(unix)]
        if let Ok(before) = tcgetattr(std::io::stdin()) {
            let mut hidden = before.clone();
            hidden.local_modes -= LocalModes::ECHO;
            // Stored first, in case a signal arrives at once.
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            // If the echo can't be turned off, the secret is visible only to its owner.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden);
        }
        Self(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        show();
    }
}

/// Restores the echo. Call this before exiting: a signal skips the drop.
pub(crate) fn show() {
    #[cfg(unix)]
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}
