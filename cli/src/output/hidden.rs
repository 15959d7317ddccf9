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
            // A terminal that can't hide shows: the secret is its owner's own.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden);
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        }
        Self(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        show();
    }
}

/// Shows again what is typed; whoever ends the program while something is hidden has to.
pub(crate) fn show() {
    #[cfg(unix)]
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}
