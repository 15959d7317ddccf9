//! Progress on standard error: a bar on a terminal, occasional lines in a log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};
use serde_json::json;

use super::json;
use super::out::{Out, write_stderr};
use super::terminal::escape_line;
use crate::settings::ProgressStyle;

/// Smaller uploads finish too soon for a progress bar.
const MIN_UPLOAD: u64 = 512 * 1024;
/// The minimum number of rows for a bar.
const MIN_ROWS: u64 = 50;
/// Maximum time between two log lines.
pub(crate) const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A progress display: a bar that is erased at the end, even after an interruption, or lines.
#[derive(Debug)]
pub(crate) enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines(Log),
}

/// Lines in a log, with the step and the time of the last one.
#[derive(Debug)]
pub(crate) struct Log {
    json: bool,
    last: Mutex<(u64, Instant)>,
}

impl Shown {
    /// Selects the style if standard error supports it. `Auto` writes lines to a log only if `logged` is set.
    pub(crate) fn new(
        style: ProgressStyle,
        out: &Out,
        logged: bool,
        bar: impl FnOnce() -> ProgressBar,
    ) -> Self {
        let json = out.messages_are_json;
        let lines = |json| Self::Lines(Log { json, last: Mutex::new((0, Instant::now())) });
        match style {
            _ if out.quiet => Self::Nothing,
            ProgressStyle::Json => lines(true),
            ProgressStyle::Plain => lines(json),
            ProgressStyle::Auto if !json && out.terminal.stderr => Self::Bar(bar()),
            ProgressStyle::Auto if logged => lines(json),
            ProgressStyle::None | ProgressStyle::Auto => Self::Nothing,
        }
    }

    /// The bar, if there is one.
    pub(crate) fn bar(&self) -> Option<&ProgressBar> {
        if let Self::Bar(bar) = self { Some(bar) } else { None }
    }

    /// Writes a line, as JSON or text, if the step has changed or the interval has passed.
    pub(crate) fn log(
        &self,
        step: u64,
        interval: impl FnOnce(bool) -> Duration,
        line: impl FnOnce(bool) -> String,
    ) {
        let Self::Lines(Log { json, last }) = self else { return };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if is_due(&mut last, step, interval(*json), Instant::now()) {
            write_stderr(&(json::escape(&line(*json)) + "\n"));
        }
    }

    /// Erases the bar.
    fn finish(&self) {
        if let Some(bar) = self.bar() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Whether a line is due, which then counts as written.
fn is_due(last: &mut (u64, Instant), step: u64, interval: Duration, now: Instant) -> bool {
    let is_due = step != last.0 || now.duration_since(last.1) >= interval;
    if is_due {
        *last = (step, now);
    }
    is_due
}

/// A bar with this template.
pub(crate) fn bar(template: &str, total: Option<u64>, target: ProgressDrawTarget) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, target);
    if let Ok(style) = BarStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

#[derive(Debug)]
pub(crate) struct Upload(Shown);

impl Upload {
    /// Starts showing an upload.
    pub(crate) fn new(style: ProgressStyle, out: &Out, what: &str) -> Self {
        Self(Shown::new(style, out, false, || {
            let template = "{msg} {bar:24} {percent:>3}%  {bytes}/{total_bytes}";
            let bar = bar(template, None, ProgressDrawTarget::hidden());
            bar.set_message(escape_line(what).into_owned());
            bar
        }))
    }

    /// Sets the number of bytes sent; a retry starts at 0 again.
    pub(crate) fn set(&self, sent: u64, total: u64) {
        if let Some(bar) = self.0.bar().filter(|_| total >= MIN_UPLOAD) {
            if bar.length().is_none() {
                bar.set_length(total);
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.set_position(sent);
        }
        // Avoids a division by zero for an empty body.
        let Some(tenth) = sent.saturating_mul(10).checked_div(total) else { return };
        self.0.log(tenth, |_| LOG_INTERVAL, |json| upload_line(sent, total, json));
    }

    /// The upload is complete.
    pub(crate) fn finish(&self) {
        self.0.finish();
    }
}

fn upload_line(sent: u64, total: u64, json: bool) -> String {
    if json {
        return json!({"progress": {"sent": sent, "total": total}}).to_string();
    }
    format!("upload: {}/{}, {}%", HumanBytes(sent), HumanBytes(total), sent.saturating_mul(100) / total)
}

/// The progress over rows; the total may be unknown.
#[derive(Debug)]
pub(crate) struct Rows {
    shown: Shown,
    total: Option<u64>,
}

impl Rows {
    /// Starts showing progress.
    pub(crate) fn new(style: ProgressStyle, out: &Out, total: Option<u64>) -> Self {
        let template = if total.is_some() { "{bar:24} {pos}/{len} rows  {eta}" } else { "{pos} rows" };
        let is_short = total.is_some_and(|total| total < MIN_ROWS);
        let target = || if is_short { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Self { shown: Shown::new(style, out, false, || bar(template, total, target())), total }
    }

    /// Sets the number of rows done.
    pub(crate) fn set(&self, done: u64) {
        if let Some(bar) = self.shown.bar() {
            bar.set_position(done);
        }
        // Without a total, logs every thousand rows.
        let step = self.total.map_or(done / 1_000, |total| done * 10 / total.max(1));
        self.shown.log(
            step,
            |_| LOG_INTERVAL,
            |json| match (json, self.total) {
                (true, total) => json!({"progress": {"done": done, "total": total}}).to_string(),
                (false, Some(total)) => format!("rows: {done}/{total}"),
                (false, None) => format!("rows: {done}"),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_per_step_and_per_ten_seconds() {
        let start = Instant::now();
        let mut last = (0, start);
        let mut due =
            |step, seconds| is_due(&mut last, step, LOG_INTERVAL, start + Duration::from_secs(seconds));
        assert!(!due(0, 0));
        assert!(due(1, 0));
        assert!(!due(1, 9));
        assert!(due(1, 11), "ten seconds after the last one");
        assert!(due(0, 12), "a retry is logged");
    }

    #[test]
    fn an_upload_is_logged_as_text_or_an_object() {
        assert_eq!(upload_line(10, 100, false), "upload: 10 B/100 B, 10%");
        assert_eq!(upload_line(50, 100, true), r#"{"progress":{"sent":50,"total":100}}"#);
    }
}
