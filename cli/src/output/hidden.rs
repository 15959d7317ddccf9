//! Turns off a terminal's echo while a secret is typed.

use std::sync::{Mutex, PoisonError};

/// The terminal's settings to restore.
static BEFORE: Mutex<Option<system::Settings>> = Mutex::new(None);

/// While this exists, the terminal doesn't echo input.
#[derive(Debug)]
pub(crate) struct Hidden(());

impl Hidden {
    /// Turns the echo off. Input typed before is discarded.
    pub(crate) fn begin() -> Self {
        Self::hide(false)
    }

    /// The same for any number of lines: input typed before stays, and line feeds are echoed, except on Windows.
    pub(crate) fn for_lines() -> Self {
        Self::hide(true)
    }

    fn hide(lines: bool) -> Self {
        if let Some(before) = system::read() {
            // Stored first, in case a signal arrives immediately.
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before.clone());
            system::hide(before, lines);
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
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        system::restore(&before);
    }
}

/// The terminal of standard input. If its settings can't be changed, the secret is visible only to its owner.
#[cfg(unix)]
mod system {
    use std::io::stdin;

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    pub(super) use rustix::termios::Termios as Settings;

    pub(super) fn read() -> Option<Settings> {
        tcgetattr(stdin()).ok()
    }

    pub(super) fn hide(mut settings: Settings, lines: bool) {
        settings.local_modes -= LocalModes::ECHO;
        if lines {
            settings.local_modes |= LocalModes::ECHONL;
        }
        let _ =
            tcsetattr(stdin(), if lines { OptionalActions::Now } else { OptionalActions::Flush }, &settings);
    }

    pub(super) fn restore(settings: &Settings) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, settings);
    }
}

/// The console of standard input.
#[cfg(windows)]
mod system {
    use winapi_util::HandleRef;
    use winapi_util::console::{mode, set_mode};

    const ENABLE_ECHO_INPUT: u32 = 0x4;

    pub(super) type Settings = u32;

    pub(super) fn read() -> Option<Settings> {
        mode(HandleRef::stdin()).ok()
    }

    pub(super) fn hide(settings: Settings, _: bool) {
        let _ = set_mode(HandleRef::stdin(), settings & !ENABLE_ECHO_INPUT);
    }

    pub(super) fn restore(settings: &Settings) {
        let _ = set_mode(HandleRef::stdin(), *settings);
    }
}
