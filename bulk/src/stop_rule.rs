//! Rules that pause a job automatically.

use std::{fmt, str::FromStr};

use idempost::problem::Problem;

/// Shares are computed over at least this many emails, so that a job's first bounce doesn't pause it.
const MIN_EMAILS: u64 = 1_000;

/// A limit on the share of emails with a bad outcome, such as `bounced>2%`. Exceeding it pauses the job.
///
/// The share is computed over the emails whose outcome is known: at least 1,000, or all rows of a smaller job. All runs of the job count.
///
/// - `rejected`: the service rejected the email.
/// - `bounced`, `complained`: the recipient's server rejected the email, or the recipient marked it as spam. The job reads these outcomes from the
///   service's metrics, for a sample of up to 5,000 of its emails. They become available minutes after sending, so a fast job may finish before that.
///
/// ```
/// let rule: idempost_bulk::StopRule = "complained>0.1%".parse()?;
/// # Ok::<_, idempost::problem::Problem>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    outcome: BadOutcome,
    percent: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BadOutcome {
    Bounced,
    Complained,
    Rejected,
}

/// The number of emails with each outcome that rules can limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BadOutcomes {
    pub(crate) rejected: u64,
    /// The emails that the service accepted or rejected.
    pub(crate) settled: u64,
    pub(crate) feedback: Feedback,
}

/// The number of emails with each delivery outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Feedback {
    /// The emails that were delivered or bounced.
    pub(crate) known: u64,
    pub(crate) bounced: u64,
    pub(crate) complained: u64,
}

impl Feedback {
    pub(crate) fn combine(self, other: Self) -> Self {
        Self {
            known: self.known + other.known,
            bounced: self.bounced + other.bounced,
            complained: self.complained + other.complained,
        }
    }
}

impl StopRule {
    /// Returns whether the rule depends on outcomes that the service learns only after accepting an email.
    pub(crate) fn needs_feedback(self) -> bool {
        self.outcome != BadOutcome::Rejected
    }

    /// Returns why a job with this many rows has to pause, if it does.
    pub(crate) fn reason(self, outcomes: &BadOutcomes, rows: u64) -> Option<String> {
        let BadOutcomes { rejected, settled, feedback } = *outcomes;
        let (bad, of, what) = match self.outcome {
            BadOutcome::Rejected => (rejected, settled, "emails"),
            BadOutcome::Bounced => (feedback.bounced, feedback.known, "sampled emails"),
            BadOutcome::Complained => (feedback.complained, feedback.known, "sampled emails"),
        };
        let least = of.max(MIN_EMAILS.min(rows));
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more precision")]
        let exceeded = bad as f64 * 100.0 > self.percent * least as f64;
        exceeded.then(|| format!("{bad} of {of} {what} {}, more than {}%", self.outcome, self.percent))
    }
}

impl FromStr for StopRule {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let parse = || {
            let (outcome, share) = text.split_once('>')?;
            let outcome = match outcome.trim() {
                "bounced" => BadOutcome::Bounced,
                "complained" => BadOutcome::Complained,
                "rejected" => BadOutcome::Rejected,
                _ => return None,
            };
            let percent: f64 = share.trim().strip_suffix('%')?.trim().parse().ok()?;
            (0.0..100.0).contains(&percent).then_some(Self { outcome, percent })
        };
        let rule = "a rule must be bounced, complained or rejected with a percentage below 100, such as \
             'bounced>2%' (quoted for the shell)";
        parse().ok_or_else(|| Problem::new("", "type", rule).with_value(text))
    }
}

impl fmt::Display for BadOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bounced => "bounced",
            Self::Complained => "were marked as spam",
            Self::Rejected => "were rejected",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(rule: &str, outcomes: BadOutcomes, rows: u64) -> Option<String> {
        rule.parse::<StopRule>().unwrap().reason(&outcomes, rows)
    }

    #[test]
    fn a_job_pauses_above_the_share_and_not_at_the_first_bounce() {
        let bounced = |bounced, known| BadOutcomes {
            feedback: Feedback { known, bounced, complained: 1 },
            ..BadOutcomes::default()
        };
        assert_eq!(reason("bounced>2%", bounced(1, 1), 5_000), None);
        assert_eq!(reason("bounced>2%", bounced(20, 20), 5_000), None);
        assert_eq!(
            reason("bounced>2%", bounced(21, 21), 5_000).as_deref(),
            Some("21 of 21 sampled emails bounced, more than 2%")
        );
        assert_eq!(reason("bounced > 2 %", bounced(40, 2_000), 5_000), None);
        assert!(reason("bounced>2%", bounced(41, 2_000), 5_000).is_some());
        // All rows of a small job count.
        assert_eq!(reason("bounced>2%", bounced(1, 2), 50), None);
        assert!(reason("bounced>2%", bounced(2, 2), 50).is_some());
        assert!(reason("complained>0%", bounced(0, 1), 50).unwrap().contains("were marked as spam"));
        assert_eq!(reason("complained>0.1%", bounced(0, 1), 5_000), None);
        let rejected = BadOutcomes { rejected: 11, settled: 900, ..BadOutcomes::default() };
        assert_eq!(
            reason("rejected>1%", rejected, 5_000).as_deref(),
            Some("11 of 900 emails were rejected, more than 1%")
        );
    }

    #[test]
    fn what_is_no_rule_is_rejected() {
        for text in [
            "",
            "bounced",
            "bounced>2",
            "bounced<2%",
            "opened>2%",
            "bounced>100%",
            "bounced>-1%",
            "bounced>NaN%",
        ] {
            assert!(text.parse::<StopRule>().is_err(), "{text}");
        }
    }
}
