//! Determines whether the service's rejections concern one batch, such as an unknown sender, or everything that this worker sends.
//!
//! The service responds with 403 in both cases. A rejected batch returns to the end of the queue, and the batches behind it show which case it is: if
//! one of them is accepted, the rejection concerned only that batch.

use std::collections::{HashMap, HashSet};

/// This many consecutive rejected batches, or rejections of one batch, decide.
const MIN_REJECTED: usize = 3;

#[derive(Debug, Default)]
pub(super) struct RejectedBatches {
    /// The number of accepted batches.
    accepted: u64,
    /// For each rejected batch: the number of rejections, and the number of accepted batches at its first one.
    batches: HashMap<u32, (usize, u64)>,
    /// The batches rejected since the last accepted one.
    in_a_row: HashSet<u32>,
}

/// What a rejection concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectionScope {
    /// Not known yet.
    Unclear,
    /// Only the batch.
    Batch,
    /// Everything that this worker sends.
    Everything,
}

impl RejectedBatches {
    pub(super) fn record_accepted(&mut self) {
        self.accepted += 1;
        self.in_a_row.clear();
    }

    pub(super) fn record_rejected(&mut self, batch: u32) -> RejectionScope {
        let (times, before) = self.batches.entry(batch).or_insert((0, self.accepted));
        *times += 1;
        let (times, proven) = (*times, *before < self.accepted);
        self.in_a_row.insert(batch);
        if self.in_a_row.len() >= MIN_REJECTED {
            return RejectionScope::Everything;
        }
        if proven || times >= MIN_REJECTED {
            self.batches.remove(&batch);
            self.in_a_row.remove(&batch);
            return RejectionScope::Batch;
        }
        RejectionScope::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_batch_is_judged_by_the_batches_behind_it() {
        let mut refusals = RejectedBatches::default();
        refusals.record_accepted();
        assert_eq!(refusals.record_rejected(7), RejectionScope::Unclear);
        refusals.record_accepted();
        assert_eq!(refusals.record_rejected(7), RejectionScope::Batch);
        assert_eq!(refusals.record_rejected(8), RejectionScope::Unclear);
        assert_eq!(refusals.record_rejected(9), RejectionScope::Unclear);
        assert_eq!(refusals.record_rejected(10), RejectionScope::Everything);
    }

    #[test]
    fn the_only_batches_left_are_refused_at_the_third_time() {
        let mut refusals = RejectedBatches::default();
        let about: Vec<RejectionScope> =
            [1, 2, 1, 2, 1, 2].map(|batch| refusals.record_rejected(batch)).into();
        assert_eq!(about[..4], [RejectionScope::Unclear; 4]);
        assert_eq!(about[4..], [RejectionScope::Batch; 2]);
    }
}
