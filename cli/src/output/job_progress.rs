//! Progress of a bulk job on standard error: a bar on a terminal, a line every 10 seconds in a log.

use std::time::Duration;

use indicatif::{HumanCount, ProgressDrawTarget};
use serde_json::json;

use super::out::Out;
use super::progress::{LOG_INTERVAL, Shown, bar};
use super::terminal::escape_line;
use crate::settings::ProgressStyle;

/// Time between two objects.
const JSON_INTERVAL: Duration = Duration::from_secs(1);

/// The figures of a running job.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// `running`, `stopping`, `paused: …`.
    pub(crate) state: String,
    pub(crate) sent: u64,
    pub(crate) rejected: u64,
    pub(crate) unknown: u64,
    pub(crate) remaining: u64,
    pub(crate) requests_per_second: f64,
    /// The service's limit in requests per second, once it is known.
    pub(crate) learned_limit: Option<f64>,
    pub(crate) requests: u64,
    /// The number of responses with status 429.
    pub(crate) throttled: u64,
    /// The estimated time until the job is finished.
    pub(crate) eta: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct JobProgress {
    shown: Shown,
    total: u64,
}

impl JobProgress {
    /// Starts showing progress. A job takes a long time, so logs get lines too, unless progress is turned off.
    pub(crate) fn new(style: ProgressStyle, out: &Out, total: u64) -> Self {
        let bar = || bar("{bar:20} {msg}", Some(total), ProgressDrawTarget::stderr());
        Self { shown: Shown::new(style, out, true, bar), total }
    }

    /// Shows the figures.
    pub(crate) fn set(&self, figures: &Figures) {
        if let Some(bar) = self.shown.bar() {
            bar.set_position(self.total.saturating_sub(figures.remaining));
            bar.set_message(self.text(figures));
        }
        let interval = |json| if json { JSON_INTERVAL } else { LOG_INTERVAL };
        let line = |json| if json { self.object(figures).to_string() } else { self.text(figures) };
        self.shown.log(0, interval, line);
    }

    /// Prints something else while the bar is hidden.
    pub(crate) fn suspend(&self, print: impl FnOnce()) {
        match self.shown.bar() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn text(&self, figures: &Figures) -> String {
        let Figures {
            state,
            sent,
            rejected,
            unknown,
            requests_per_second,
            learned_limit,
            throttled,
            eta,
            ..
        } = figures;
        let mut parts = vec![format!("{}/{} sent", HumanCount(*sent), HumanCount(self.total))];
        for (n, what) in [(rejected, "rejected"), (unknown, "unknown")] {
            if *n > 0 {
                parts.push(format!("{} {what}", HumanCount(*n)));
            }
        }
        // A sandbox without a limit announces one that no client reaches.
        let limit = learned_limit.filter(|limit| *limit < 100_000.0);
        let limit = limit.map(|limit| format!(" (limit {limit:.1})")).unwrap_or_default();
        parts.push(format!("{requests_per_second:.1} requests/s{limit}"));
        if *throttled > 0 {
            parts.push(format!("{throttled} × 429"));
        }
        parts.extend(eta.map(|eta| format!("{} left", format_elapsed(eta))));
        if state != "running" {
            parts.push(escape_line(state).into_owned());
        }
        parts.join(", ")
    }

    fn object(&self, figures: &Figures) -> serde_json::Value {
        let Figures { state, sent, rejected, unknown, remaining, requests, throttled, .. } = figures;
        json!({ "progress": {
            "state": state,
            "total": self.total,
            "sent": sent,
            "rejected": rejected,
            "unknown": unknown,
            "remaining": remaining,
            "requests": requests,
            "throttled": throttled,
            "requests_per_second": figures.requests_per_second,
            "learned_limit": figures.learned_limit,
            "eta_seconds": figures.eta.map(|eta| eta.as_secs()),
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
        Figures {
            state: "running".to_owned(),
            sent: 12_300,
            rejected: 0,
            unknown: 100,
            remaining: 987_600,
            requests_per_second: 9.76,
            learned_limit: Some(10.0),
            requests: 125,
            throttled: 2,
            eta: Some(Duration::from_secs(3_723)),
        }
    }

    #[test]
    fn a_line_has_counts_rate_limit_and_remaining_time() {
        let progress = JobProgress { shown: Shown::Nothing, total: 1_000_000 };
        let line = "12,300/1,000,000 sent, 100 unknown, 9.8 requests/s (limit 10.0), 2 × 429, 1:02:03 left";
        assert_eq!(progress.text(&figures()), line);
        let paused = Figures { state: "paused: quota".to_owned(), eta: None, throttled: 0, ..figures() };
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
