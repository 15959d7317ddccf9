//! The pager that shows tables longer than the screen.

use std::io::Write as _;
use std::process::Stdio;

use crate::processes;
use crate::settings::env::Env;

/// The assumed height of a terminal in rows.
const DEFAULT_HEIGHT: usize = 24;

/// A pager command, and the height of the terminal.
#[derive(Debug, Clone)]
pub(crate) struct Pager {
    command: String,
    height: usize,
    sets_less: bool,
}

impl Pager {
    /// `IDEMPOST_PAGER`, `PAGER`, or less; none in CI or on a terminal without cursor control.
    pub(crate) fn choose(env: &Env) -> Option<Self> {
        // Windows doesn't set `TERM`.
        let is_dumb = env.get("TERM").map_or(!cfg!(windows), |term| term == "dumb");
        if env.get("CI").is_some() || is_dumb {
            return None;
        }
        let less = || {
            let (folders, less) = (env.raw("PATH")?, format!("less{}", std::env::consts::EXE_SUFFIX));
            let found = std::env::split_paths(folders).any(|folder| folder.join(&less).is_file());
            found.then(|| "less -FRX".to_owned())
        };
        let command = env.get("IDEMPOST_PAGER").or_else(|| env.get("PAGER"));
        let measured = terminal_size::terminal_size().map(|(_, rows)| usize::from(rows.0));
        Some(Self {
            command: command.map(str::to_owned).or_else(less)?,
            height: measured.filter(|&rows| rows > 0).unwrap_or(DEFAULT_HEIGHT),
            sets_less: env.get("LESS").is_none(),
        })
    }

    /// Shows a text longer than the screen; returns false if it fits, or if the pager doesn't exist.
    pub(crate) fn show(&self, text: &str) -> bool {
        if text.lines().count() < self.height {
            return false;
        }
        let mut command = processes::shell(&self.command);
        command.stdin(Stdio::piped());
        if self.sets_less {
            command.env("LESS", "FRX");
        }
        let foreground = processes::foreground();
        let status = command.spawn().and_then(|mut pager| {
            if let Some(mut stdin) = pager.stdin.take() {
                // The user may quit before the end of the text.
                let _ = stdin.write_all(text.as_bytes());
            }
            pager.wait()
        });
        drop(foreground);
        // The exit codes of sh and cmd for an unknown command.
        let not_found =
            |code| if cfg!(windows) { matches!(code, 1 | 9009) } else { matches!(code, 126 | 127) };
        status.is_ok_and(|status| !status.code().is_some_and(not_found))
    }
}
