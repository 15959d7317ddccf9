//! A job's state, read without disturbing the process that runs it.

use crate::{
    counts::Counts,
    error::Result,
    folder, lock, parts,
    plan::Plan,
    state::{BatchState, BatchStates},
};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobState {
    /// Nothing was sent yet.
    Planned,
    /// A process is running it.
    Running,
    /// No process is running it; resuming continues. If it is distributed, workers may still be sending.
    Stopped,
    /// It was permanently canceled.
    Canceled,
    /// Every valid row has an outcome.
    Finished,
}

/// The state of a job and the counts of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The state.
    pub state: JobState,
    /// The valid rows by outcome, including earlier parts.
    pub counts: Counts,
    /// The remaining rows whose request is in flight, or was when the job stopped. They may have been sent; resuming determines that.
    pub in_flight: u64,
}

/// Returns whether a process may have sent requests of the job.
pub(super) fn is_started(plan: &Plan) -> Result<bool> {
    let mut states = BatchStates::new(plan.batches());
    folder::read_journal(plan.dir(), |record| states.apply(&record))?;
    Ok(states.job().is_some())
}

pub(super) fn read(plan: &Plan) -> Result<Status> {
    let dir = plan.dir();
    let mut running = lock::is_held(dir)?;
    for part in parts::unfinished_parts(plan)? {
        running |= lock::is_held(part.dir())?;
    }
    let mut states = BatchStates::new(plan.batches());
    folder::read_journal(dir, |record| states.apply(&record))?;
    let remaining = plan.count_emails(|batch| states.is_open(batch))?;
    let in_flight =
        plan.count_emails(|batch| matches!(states.state(batch), Some(BatchState::Maybe { .. })))?;
    let counts = Counts { remaining, ..states.settled_counts() };
    counts.check(plan.counts().valid)?;
    let counts = counts.combine(&parts::counts_before(plan)?);
    let is_complete = states.is_complete() && counts.remaining == 0;
    let started = states.job().is_some() || !plan.earlier_parts().is_empty();
    let state = match () {
        () if running => JobState::Running,
        () if is_complete => JobState::Finished,
        () if folder::is_canceled(dir) => JobState::Canceled,
        () if started => JobState::Stopped,
        () => JobState::Planned,
    };
    Ok(Status { state, counts, in_flight })
}
