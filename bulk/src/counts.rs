//! The counts of a job.

/// The emails of a job by outcome. Each email is counted exactly once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Accepted by the service.
    pub sent: u64,
    /// Rejected by the service.
    pub rejected: u64,
    /// Possibly accepted; never sent again automatically. Includes the requests in flight when a job was canceled.
    pub unknown: u64,
    /// Not sent yet, or in flight. The remaining emails of a canceled job won't be sent.
    pub remaining: u64,
}

impl Counts {
    /// Adds other counts.
    pub(crate) fn combine(&self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            rejected: self.rejected + other.rejected,
            unknown: self.unknown + other.unknown,
            remaining: self.remaining + other.remaining,
        }
    }

    /// Subtracts other counts.
    pub(crate) fn without(&self, other: &Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(other.sent),
            rejected: self.rejected.saturating_sub(other.rejected),
            unknown: self.unknown.saturating_sub(other.unknown),
            remaining: self.remaining.saturating_sub(other.remaining),
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.sent + self.rejected + self.unknown + self.remaining
    }

    /// Checks that every valid row of the input is counted exactly once.
    ///
    /// # Errors
    ///
    /// The counts don't add up to `valid`.
    pub fn check(&self, valid: u64) -> Result<(), CountMismatch> {
        let others = [self.rejected, self.unknown, self.remaining];
        if others.into_iter().try_fold(self.sent, u64::checked_add) == Some(valid) {
            return Ok(());
        }
        Err(CountMismatch { valid, counts: *self })
    }
}

/// The job's counts don't add up to the valid rows of its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the counts don't add up: {} sent, {} rejected, {} unknown and {} remaining of {valid} emails",
    counts.sent, counts.rejected, counts.unknown, counts.remaining
)]
pub struct CountMismatch {
    /// The number of valid rows in the plan.
    pub valid: u64,
    /// The counts of the journal.
    pub counts: Counts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_must_add_up_to_the_valid_rows() {
        let counts = Counts { sent: 5, rejected: 2, unknown: 1, remaining: 4 };
        counts.check(12).unwrap();
        let error = counts.check(13).unwrap_err().to_string();
        assert_eq!(
            error,
            "the counts don't add up: 5 sent, 2 rejected, 1 unknown and 4 remaining of 13 emails"
        );
        Counts { sent: u64::MAX, rejected: 1, ..counts }.check(7).unwrap_err();
    }
}
