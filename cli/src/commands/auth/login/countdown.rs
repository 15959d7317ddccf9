//! Shows the time left to log in, on a terminal.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::settings::ProgressStyle;

/// A line that counts down and then disappears; absent with `--quiet`, with `--progress none`, or if standard error isn't a terminal.
#[derive(Debug)]
pub(super) struct Countdown {
    bar: ProgressBar,
    until: Option<Instant>,
}

impl Countdown {
    pub(super) fn new(timeout: Duration, context: &Context) -> Result<Self, Fail> {
        let out = &context.out;
        let shown = out.terminal.stderr
            && !out.quiet
            && !out.messages_are_json
            && context.settings()?.progress.value == ProgressStyle::Auto;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(BarStyle::with_template("{msg}").unwrap_or_else(|_| BarStyle::default_spinner()));
        Ok(Self { bar, until: Instant::now().checked_add(timeout) })
    }

    /// Updates the line every second.
    pub(super) async fn run(&self) -> Infallible {
        let mut second = tokio::time::interval(Duration::from_secs(1));
        loop {
            second.tick().await;
            if let Some(until) = self.until {
                let left = until.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
                self.bar.set_message(format!("{:.0}:{:02.0} left", (left / 60.0).floor(), left % 60.0));
                self.bar.tick();
            }
        }
    }

    /// Hides the line while something else is written to the terminal.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Countdown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
