//! A terminal that doesn't show what is typed, for a secret.

#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

#[cfg(unix)]
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// How the terminal was, while something is hidden.
#[cfg(unix)]
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// While it lives, the terminal of standard input shows nothing of what is typed.
#[derive(Debug)]
pub(crate) struct Hidden(());

impl Hidden {
    /// Hides what is typed from now on.
    pub(crate) fn begin() -> Self {
        #[cfg(unix)]
        if let Ok(before) = tcgetattr(std::io::stdin()) {
            let mut hidden = before.clone();
            hidden.local_modes -= LocalModes::ECHO;
            // Noted first, for a signal that comes at once.
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            // Where the terminal can't hide it, the secret is shown to its owner.
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

/// Shows what is typed again. Call it before the program ends: a signal skips the drop.
pub(crate) fn show() {
    #[cfg(unix)]
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}
