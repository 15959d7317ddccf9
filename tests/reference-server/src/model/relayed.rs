//! The attempts to send an email to a real server: forwarded or released.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::lock::Locked;
use crate::store::size;
use crate::wire::words;

/// The maximum number of attempts per email; beyond it the oldest are dropped.
const MAX_ATTEMPTS: usize = 50;
/// The maximum number of recorded recipients per attempt.
const MAX_RECIPIENTS: usize = 50;
/// The maximum length of a recorded recipient or reason, in characters.
const MAX_TEXT: usize = 500;

words! {
    /// The result of an attempt.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    pub enum RelayOutcome {
        Forwarded = "forwarded",
        NotForwarded = "not_forwarded",
        Released = "released",
        NotReleased = "not_released",
    }
}

/// One attempt.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Relayed {
    pub at: Timestamp,
    pub outcome: RelayOutcome,
    /// The recipients of this attempt.
    pub to: Arc<[String]>,
    /// The server's reply, or why the email stays in the sandbox.
    pub reason: Arc<str>,
}

/// All attempts of an email, oldest first.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RelayLog(Locked<Vec<Relayed>>);

impl Relayed {
    pub fn new(
        at: Timestamp,
        outcome: RelayOutcome,
        to: impl IntoIterator<Item = impl AsRef<str>>,
        reason: &str,
    ) -> Self {
        let short = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
        let mut to = to.into_iter();
        let mut recorded: Vec<_> = to.by_ref().take(MAX_RECIPIENTS).map(|one| short(one.as_ref())).collect();
        let more = to.count();
        if more > 0 {
            recorded.push(format!("and {more} more"));
        }
        Self { at, outcome, to: recorded.into(), reason: short(reason).into() }
    }
}

impl RelayLog {
    /// Adds an attempt. Returns the number of added bytes.
    pub fn add(&self, attempt: Relayed) -> usize {
        let mut log = self.0.lock();
        let before = size::heap(&*log);
        if log.len() >= MAX_ATTEMPTS {
            log.remove(0);
        }
        log.push(attempt);
        size::heap(&*log).saturating_sub(before)
    }

    pub fn all(&self) -> Vec<Relayed> {
        self.0.lock().clone()
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_recipients_and_texts_are_bounded() {
        let log = RelayLog::default();
        let filler = "x".repeat(10_000);
        let add = |reason: &str| {
            let to = (0..1_000).map(|number| format!("{number}{filler}"));
            log.add(Relayed::new(Timestamp::UNIX_EPOCH, RelayOutcome::Forwarded, to, reason))
        };
        let grown = add(&filler);
        assert!((25_000..40_000).contains(&grown), "{grown}");
        for number in 0..2 * MAX_ATTEMPTS {
            add(&number.to_string());
        }
        let all = log.all();
        assert_eq!((all.len(), &*all[0].reason), (MAX_ATTEMPTS, "50"));
        assert_eq!((all[0].to.len(), &*all[0].to[MAX_RECIPIENTS]), (MAX_RECIPIENTS + 1, "and 950 more"));
        assert!(size::heap(&log) < MAX_ATTEMPTS * 40_000);
    }
}
