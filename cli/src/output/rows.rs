//! How many rows are done, on standard error: a bar for eyes, a line now and then for a log.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};
use serde_json::json;

use super::out::{Out, write_stderr};
use crate::settings::ProgressStyle;

/// A log gets a line at the latest after so long.
const PAUSE: Duration = Duration::from_secs(10);
/// What is over sooner needs no bar.
const WORTH_SHOWING: u64 = 50;

/// Shows one walk over rows; how many there are may be unknown.
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
    /// Begins to show a walk, in the way that was wished and that fits standard error.
    pub(crate) fn new(style: ProgressStyle, out: &Out, total: Option<u64>) -> Self {
        let lines = |json| Shown::Lines { json, last: Cell::new((0, Instant::now())) };
        let shown = match style {
            _ if out.is_quiet() => Shown::Nothing,
            ProgressStyle::None => Shown::Nothing,
            ProgressStyle::Plain => lines(out.says_json()),
            ProgressStyle::Json => lines(true),
            ProgressStyle::Auto if out.says_json() || !out.terminal.stderr => Shown::Nothing,
            ProgressStyle::Auto if total.is_some_and(|total| total < WORTH_SHOWING) => Shown::Nothing,
            ProgressStyle::Auto => Shown::Bar(bar(total)),
        };
        Self { shown, total }
    }

    /// So many are done.
    pub(crate) fn set(&self, done: u64) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => bar.set_position(done),
            Shown::Lines { json, last } => {
                // Without a total every thousand counts as a step.
                let step = self.total.map_or(done / 1_000, |total| done * 10 / total.max(1));
                let (before, told) = last.get();
                if step == before && told.elapsed() < PAUSE {
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

/// A bar leaves no trace, also when the walk is broken off.
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
