//! Progress of a bulk job on standard error: a bar on a terminal, a line every 10 seconds in a log.

use std::time::Duration;

use idempost_bulk::Progress;
use indicatif::{HumanCount, ProgressDrawTarget};
use serde_json::json;

use crate::output::out::Out;
use crate::output::progress::{LOG_INTERVAL, Shown, bar};
use crate::output::terminal::escape_line;
use crate::settings::ProgressStyle;

/// Time between two objects.
const JSON_INTERVAL: Duration = Duration::from_secs(1);

/// The figures of a running job.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    /// `running`, `stopping`, `paused: …`.
    pub(super) state: String,
    pub(super) requests_per_second: f64,
    pub(super) now: Progress,
}

#[derive(Debug)]
pub(super) struct JobProgress {
    shown: Shown,
    total: u64,
}

impl JobProgress {
    /// Starts showing progress. A job takes a long time, so logs get lines too, unless progress is turned off.
    pub(super) fn new(style: ProgressStyle, out: &Out, total: u64) -> Self {
        let bar = || bar("{bar:20} {msg}", Some(total), ProgressDrawTarget::stderr());
        Self { shown: Shown::new(style, out, true, bar), total }
    }

    /// Shows the figures.
    pub(super) fn set(&self, figures: &Figures) {
        if let Some(bar) = self.shown.bar() {
            bar.set_position(self.total.saturating_sub(figures.now.counts.remaining));
            bar.set_message(self.text(figures));
        }
        let interval = |json| if json { JSON_INTERVAL } else { LOG_INTERVAL };
        let line = |json| if json { self.object(figures).to_string() } else { self.text(figures) };
        self.shown.log(0, interval, line);
    }

    /// Prints something else while the bar is hidden.
    pub(super) fn suspend(&self, print: impl FnOnce()) {
        match self.shown.bar() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn text(&self, figures: &Figures) -> String {
        let Figures { state, requests_per_second, now } = figures;
        let (counts, throttled) = (&now.counts, now.throttled);
        let mut parts = vec![format!("{}/{} sent", HumanCount(counts.sent), HumanCount(self.total))];
        for (n, what) in [(counts.rejected, "rejected"), (counts.unknown, "unknown")] {
            if n > 0 {
                parts.push(format!("{} {what}", HumanCount(n)));
            }
        }
        // A sandbox without a limit announces one that no client reaches.
        let limit = now.learned_limit.filter(|limit| *limit < 100_000.0);
        let limit = limit.map(|limit| format!(" (limit {limit:.1})")).unwrap_or_default();
        parts.push(format!("{requests_per_second:.1} requests/s{limit}"));
        if throttled > 0 {
            parts.push(format!("{throttled} × 429"));
        }
        parts.extend(now.remaining.map(|left| format!("{} left", format_elapsed(left))));
        if state != "running" {
            parts.push(escape_line(state).into_owned());
        }
        parts.join(", ")
    }

    fn object(&self, figures: &Figures) -> serde_json::Value {
        let Figures { state, requests_per_second, now } = figures;
        json!({ "progress": {
            "state": state,
            "total": self.total,
            "sent": now.counts.sent,
            "rejected": now.counts.rejected,
            "unknown": now.counts.unknown,
            "remaining": now.counts.remaining,
            "requests": now.requests,
            "throttled": now.throttled,
            "requests_per_second": requests_per_second,
            "learned_limit": now.learned_limit,
            "eta_seconds": now.remaining.map(|left| left.as_secs()),
        }})
    }
}

/// `16:40`, `1:02:03`.
fn format_elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut now = Progress::default();
        (now.counts.sent, now.counts.unknown, now.counts.remaining) = (12_300, 100, 987_600);
        (now.requests, now.throttled, now.learned_limit) = (125, 2, Some(10.0));
        now.remaining = Some(Duration::from_secs(3_723));
        Figures { state: "running".to_owned(), requests_per_second: 9.76, now }
    }

    #[test]
    fn a_line_has_counts_rate_limit_and_remaining_time() {
        let progress = JobProgress { shown: Shown::Nothing, total: 1_000_000 };
        let line = "12,300/1,000,000 sent, 100 unknown, 9.8 requests/s (limit 10.0), 2 × 429, 1:02:03 left";
        assert_eq!(progress.text(&figures()), line);
        let mut paused = Figures { state: "paused: quota".to_owned(), ..figures() };
        (paused.now.remaining, paused.now.throttled) = (None, 0);
        assert!(progress.text(&paused).ends_with("(limit 10.0), paused: quota"));
    }

    #[test]
    fn an_object_has_all_figures() {
        let progress = JobProgress { shown: Shown::Nothing, total: 1_000_000 };
        let object = progress.object(&figures());
        assert_eq!(
            (&object["progress"]["sent"], &object["progress"]["eta_seconds"]),
            (&json!(12_300), &json!(3_723))
        );
    }
}
