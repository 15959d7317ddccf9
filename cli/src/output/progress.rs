//! Upload progress on standard error: a bar on a terminal, occasional lines in a log.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle as BarStyle};
use serde_json::json;

use super::out::{Out, write_stderr};
use crate::settings::ProgressStyle;

/// Smaller uploads finish before anyone could read their progress.
const MIN_SHOWN: u64 = 512 * 1024;
/// Maximum time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The progress of one upload.
#[derive(Debug)]
pub(crate) struct Upload(Shown);

#[derive(Debug)]
enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines { json: bool, last: Mutex<(u64, Instant)> },
}

impl Upload {
    /// Starts showing an upload, in the requested style if standard error supports it.
    pub(crate) fn new(style: ProgressStyle, out: &Out, what: &str) -> Self {
        let lines = |json| Shown::Lines { json, last: Mutex::new((0, Instant::now())) };
        Self(match style {
            _ if out.is_quiet() => Shown::Nothing,
            ProgressStyle::None => Shown::Nothing,
            ProgressStyle::Plain => lines(out.messages_are_json()),
            ProgressStyle::Json => lines(true),
            ProgressStyle::Auto if out.messages_are_json() || !out.terminal.stderr => Shown::Nothing,
            ProgressStyle::Auto => Shown::Bar(bar(what)),
        })
    }

    /// Sets the number of bytes sent; a retry starts at 0 again.
    pub(crate) fn set(&self, sent: u64, total: u64) {
        match &self.0 {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                if total < MIN_SHOWN {
                    return;
                }
                if bar.length().is_none() {
                    bar.set_length(total);
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position(sent);
            }
            Shown::Lines { json, last } => {
                let Ok(mut last) = last.lock() else { return };
                if let Some(line) = next_line(&mut last, sent, total, Instant::now(), *json) {
                    write_stderr(&format!("{line}\n"));
                }
            }
        }
    }

    /// The upload is complete; a bar is erased.
    pub(crate) fn finish(&self) {
        if let Shown::Bar(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Also erases the bar if the upload is interrupted, so that the next message starts on its own line.
impl Drop for Upload {
    fn drop(&mut self) {
        self.finish();
    }
}

fn bar(what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let style = BarStyle::with_template("{msg} {bar:24} {percent:>3}%  {bytes}/{total_bytes}");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_message(super::terminal::safe(what).into_owned());
    bar
}

/// A line for every 10 % or 10 s, whichever comes first; the same for retries.
fn next_line(last: &mut (u64, Instant), sent: u64, total: u64, now: Instant, json: bool) -> Option<String> {
    let tenth = sent.saturating_mul(10).checked_div(total)?;
    if tenth == last.0 && now.duration_since(last.1) < LOG_INTERVAL {
        return None;
    }
    *last = (tenth, now);
    let percent = sent.saturating_mul(100) / total;
    Some(if json {
        json!({"progress": {"sent": sent, "total": total}}).to_string()
    } else {
        format!("upload: {}/{}, {percent}%", HumanBytes(sent), HumanBytes(total))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_per_ten_percent_and_per_ten_seconds() {
        let start = Instant::now();
        let mut last = (0, start);
        let mut lines =
            |sent, seconds| next_line(&mut last, sent, 100, start + Duration::from_secs(seconds), false);
        assert_eq!(lines(5, 0), None);
        assert_eq!(lines(10, 0).unwrap(), "upload: 10 B/100 B, 10%");
        assert_eq!(lines(12, 1), None);
        assert!(lines(13, 11).is_some(), "ten seconds after the last one");
        assert!(lines(0, 12).is_some(), "a retry is logged");
        assert_eq!(next_line(&mut (0, start), 0, 0, start, false), None, "an empty body has no tenths");
    }

    #[test]
    fn json_progress_is_objects() {
        let line = next_line(&mut (0, Instant::now()), 50, 100, Instant::now(), true).unwrap();
        assert_eq!(line, r#"{"progress":{"sent":50,"total":100}}"#);
    }
}
