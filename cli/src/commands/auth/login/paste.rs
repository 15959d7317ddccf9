//! Reads the redirect URL that the user pastes when the browser can't reach this machine.

use std::io::{BufRead as _, Read as _};

use idempost::auth::{AuthError, AuthorizationCode, AuthorizationRequest, CallbackError};
use tokio::sync::mpsc;

use super::countdown::Countdown;
use crate::context::Context;
use crate::output::hidden::Hidden;

/// Longer than any redirect URL.
const MAX_BYTES: u64 = 4 * 1024;

/// Reads pasted URLs from the terminal.
pub(super) struct PasteReader {
    lines: mpsc::UnboundedReceiver<Option<String>>,
    // Keeps the authorization code off the screen.
    _hidden: Hidden,
}

impl PasteReader {
    /// Starts reading, with the terminal's echo off.
    pub(super) fn listen() -> Self {
        Self { _hidden: Hidden::for_lines(), lines: read_lines() }
    }

    /// Waits for the redirect URL of this login. Reports why other text is rejected, and keeps waiting.
    pub(super) async fn code(
        mut self,
        authorization: &AuthorizationRequest,
        countdown: &Countdown,
        context: &Context,
    ) -> Result<AuthorizationCode, AuthError> {
        while let Some(line) = self.lines.recv().await {
            let refusal = match line.as_deref().map(strip_paste_marks) {
                Some("") => continue,
                None => "the URL is too long".to_owned(),
                Some(address) => match authorization.code_from_url(address) {
                    Err(AuthError::Callback(error)) => rejection_message(authorization, error),
                    outcome => return outcome,
                },
            };
            countdown.suspend(|| context.out.warn(&refusal));
        }
        // End of input; the browser may still redirect here.
        std::future::pending().await
    }
}

/// Why a URL isn't the redirect of this login.
pub(super) fn rejection_message(authorization: &AuthorizationRequest, error: CallbackError) -> String {
    match error {
        CallbackError::Url => {
            format!("paste the complete URL, which starts with `{}?`", authorization.redirect_uri())
        }
        CallbackError::State => {
            "that URL belongs to another login; open the page printed by this one".to_owned()
        }
        error => error.to_string(),
    }
}

/// Lines of standard input; `None` stands for a line that is too long.
fn read_lines() -> mpsc::UnboundedReceiver<Option<String>> {
    let (send, lines) = mpsc::unbounded_channel();
    // On a separate thread, since the program may exit while a read is blocked.
    std::thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let mut stdin = std::io::stdin().lock();
            let read = stdin.by_ref().take(MAX_BYTES + 1).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) {
                return;
            }
            let whole = line.ends_with(b"\n") || line.len() as u64 <= MAX_BYTES;
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

/// The pasted text without the control sequences and spaces around it.
fn strip_paste_marks(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("\u{1b}[200~").unwrap_or(line);
    line.strip_suffix("\u{1b}[201~").unwrap_or(line).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bracketed_paste_sequences_and_spaces_are_stripped() {
        // C-10
        for line in [
            "http://a/?x",
            "  http://a/?x \r\n",
            "\u{1b}[200~http://a/?x\u{1b}[201~\n",
            "\u{1b}[200~ http://a/?x\n",
        ] {
            assert_eq!(strip_paste_marks(line), "http://a/?x", "{line:?}");
        }
    }
}
