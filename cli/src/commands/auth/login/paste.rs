//! The address that the browser ended on, pasted where it could not come back by itself.

use std::io::{BufRead as _, Read as _};

use posthaste::auth::{AuthError, AuthorizationCode, AuthorizationRequest, CallbackError};
use tokio::sync::mpsc;

use super::countdown::Countdown;
use crate::context::Context;

/// No address that a service redirects to is longer.
const MOST_BYTES: u64 = 4 * 1024;

/// Somebody who may paste something.
pub(super) struct Paste {
    lines: mpsc::UnboundedReceiver<Option<String>>,
    // The address holds the code, which has no business on the screen.
    _echo: Echo,
}

impl Paste {
    /// Begins to listen, and keeps off the screen what is pasted.
    pub(super) fn listen() -> Self {
        Self { _echo: Echo::off(), lines: lines() }
    }

    /// Waits for the address of the answer. What is something else is refused with the reason, and the wait goes on.
    pub(super) async fn code(
        mut self,
        authorization: &AuthorizationRequest,
        countdown: &Countdown,
        context: &Context,
    ) -> Result<AuthorizationCode, AuthError> {
        while let Some(line) = self.lines.recv().await {
            let refusal = match line.as_deref().map(unwrapped) {
                Some("") => continue,
                None => "that is longer than any such address".to_owned(),
                Some(address) => match authorization.code_from(address) {
                    Err(AuthError::Callback(CallbackError::Url)) => {
                        format!("paste the whole address; it begins with {}?", authorization.redirect_uri())
                    }
                    Err(AuthError::Callback(CallbackError::State)) => {
                        "that address belongs to another login; begin with the page above".to_owned()
                    }
                    Err(AuthError::Callback(error)) => error.to_string(),
                    outcome => return outcome,
                },
            };
            countdown.suspend(|| context.out.warn(&refusal));
        }
        // Nobody types any more; the browser may still come back.
        std::future::pending().await
    }
}

/// Lines of standard input, each `None` if it is too long.
fn lines() -> mpsc::UnboundedReceiver<Option<String>> {
    let (send, lines) = mpsc::unbounded_channel();
    // A thread of its own: the program ends while it waits for a line.
    std::thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let mut stdin = std::io::stdin().lock();
            let read = stdin.by_ref().take(MOST_BYTES + 1).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) {
                return;
            }
            let whole = line.ends_with(b"\n") || line.len() as u64 <= MOST_BYTES;
            if !whole && stdin.skip_until(b'\n').is_err() {
                return;
            }
            let line = whole.then(|| String::from_utf8_lossy(&line).into_owned());
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// What was pasted, without what a terminal puts around it and people before it.
fn unwrapped(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("\u{1b}[200~").unwrap_or(line);
    line.strip_suffix("\u{1b}[201~").unwrap_or(line).trim()
}

/// The terminal without its echo, until this is dropped.
#[cfg(unix)]
struct Echo(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Echo {
    fn off() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let Ok(before) = tcgetattr(std::io::stdin()) else { return Self(None) };
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet.local_modes.insert(LocalModes::ECHONL);
        let done = tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet);
        Self(done.is_ok().then_some(before))
    }
}

#[cfg(unix)]
impl Drop for Echo {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // A terminal that is gone needs no echo.
            let _ =
                rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, before);
        }
    }
}

#[cfg(not(unix))]
struct Echo;

#[cfg(not(unix))]
impl Echo {
    fn off() -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_puts_around_a_paste_is_taken_off() {
        for line in [
            "http://a/?x",
            "  http://a/?x \r\n",
            "\u{1b}[200~http://a/?x\u{1b}[201~\n",
            "\u{1b}[200~ http://a/?x\n",
        ] {
            assert_eq!(unwrapped(line), "http://a/?x", "{line:?}");
        }
    }
}
