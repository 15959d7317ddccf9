//! Progress over rows on standard error: a bar on a terminal, occasional lines in a log.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};
use serde_json::json;

use super::out::{Out, write_stderr};
use crate::settings::ProgressStyle;

/// Maximum time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Fewer rows need no bar.
const MIN_SHOWN: u64 = 50;

/// The progress over rows; the total may be unknown.
#[derive(Debug)]
pub(crate) struct Rows {
    shown: Shown,
    total: Option<u64>,
}

#[derive(Debug)]
enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines { json: bool, last: Cell<(u64, Instant)> },
}

impl Rows {
    /// Starts showing progress, in the requested style if standard error supports it.
    pub(crate) fn new(style: ProgressStyle, out: &Out, total: Option<u64>) -> Self {
        let lines = |json| Shown::Lines { json, last: Cell::new((0, Instant::now())) };
        let shown = match style {
            _ if out.is_quiet() => Shown::Nothing,
            ProgressStyle::None => Shown::Nothing,
            ProgressStyle::Plain => lines(out.messages_are_json()),
            ProgressStyle::Json => lines(true),
            ProgressStyle::Auto if out.messages_are_json() || !out.terminal.stderr => Shown::Nothing,
            ProgressStyle::Auto if total.is_some_and(|total| total < MIN_SHOWN) => Shown::Nothing,
            ProgressStyle::Auto => Shown::Bar(bar(total)),
        };
        Self { shown, total }
    }

    /// Sets the number of rows done.
    pub(crate) fn set(&self, done: u64) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => bar.set_position(done),
            Shown::Lines { json, last } => {
                // Without a total, logs every thousand rows.
                let step = self.total.map_or(done / 1_000, |total| done * 10 / total.max(1));
                let (before, last_logged) = last.get();
                if step == before && last_logged.elapsed() < LOG_INTERVAL {
                    return;
                }
                last.set((step, Instant::now()));
                let line = match (json, self.total) {
                    (true, total) => json!({"progress": {"done": done, "total": total}}).to_string(),
                    (false, Some(total)) => format!("rows: {done}/{total}"),
                    (false, None) => format!("rows: {done}"),
                };
                write_stderr(&format!("{line}\n"));
            }
        }
    }
}

/// Erases the bar, also if the work is interrupted.
impl Drop for Rows {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = if total.is_some() { "{bar:24} {pos}/{len} rows  {eta}" } else { "{pos} rows" };
    if let Ok(style) = BarStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}
