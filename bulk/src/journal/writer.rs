//! The thread that writes the journal, and the queue in front of it.

use std::{
    io, mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::{Record, Storage, frame};

/// Notes up to this total size, in bytes, wait for the next durable record.
const MAX_NOTES: usize = 64 * 1024;

type Outcome = Result<(), Arc<io::Error>>;

/// The records waiting for the writer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The frames of the next group.
    group: Vec<u8>,
    /// The appends to confirm when the group is durable.
    waiting: Vec<oneshot::Sender<Outcome>>,
    closed: bool,
    failure: Option<Arc<io::Error>>,
}

impl State {
    /// Returns whether the next group should be written now.
    fn is_due(&self) -> bool {
        !self.waiting.is_empty() || self.group.len() > MAX_NOTES || self.closed
    }
}

impl Queue {
    /// Adds records to the next group. The receiver resolves when the group is durable or couldn't be written.
    pub(super) fn push(&self, records: &[Record]) -> Result<oneshot::Receiver<Outcome>, Arc<io::Error>> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(Arc::clone(failure));
        }
        let before = state.group.len();
        for record in records {
            if let Err(error) = frame::push(&mut state.group, record) {
                state.group.truncate(before);
                return Err(Arc::new(io::Error::new(io::ErrorKind::InvalidInput, error)));
            }
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting.push(sender);
        self.changed.notify_one();
        Ok(receiver)
    }

    /// Adds a record to the next group without waking the writer.
    pub(super) fn note(&self, record: &Record) {
        let mut state = self.lock();
        if state.failure.is_none() {
            // A note always fits into a frame.
            let _ = frame::push(&mut state.group, record);
            if state.is_due() {
                self.changed.notify_one();
            }
        }
    }

    /// Makes the writer stop after the next group.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Waits for a group. Returns `None` when the journal is closed and everything has been written.
    fn next(&self) -> Option<(Vec<u8>, Vec<oneshot::Sender<Outcome>>)> {
        let mut state = self.lock();
        loop {
            if state.is_due() {
                let (group, waiting) = (mem::take(&mut state.group), mem::take(&mut state.waiting));
                return (!group.is_empty() || !waiting.is_empty()).then_some((group, waiting));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Fails all waiting and later appends.
    fn fail(&self, cause: io::Error) {
        let mut state = self.lock();
        let failure = Arc::clone(state.failure.get_or_insert_with(|| Arc::new(cause)));
        state.group = Vec::new();
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(Err(Arc::clone(&failure)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes groups until the journal is closed or a write fails.
pub(super) fn run(mut storage: impl Storage, queue: &Queue) {
    /// Ensures that no append waits forever, even after a panic.
    struct Stop<'a>(&'a Queue);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.fail(stopped_error());
        }
    }
    let _stop = Stop(queue);

    while let Some((group, waiting)) = queue.next() {
        let written =
            if group.is_empty() { Ok(()) } else { storage.append(&group).and_then(|()| storage.sync()) };
        let outcome = written.map_err(Arc::new);
        // Poison the queue first: a caller that sees the failure must not be able to append.
        if let Err(cause) = &outcome {
            queue.lock().failure = Some(Arc::clone(cause));
        }
        for waiting in waiting {
            let _ = waiting.send(outcome.clone());
        }
        if outcome.is_err() {
            return;
        }
    }
}

/// Returns the error of appends after the writer has ended.
pub(super) fn stopped_error() -> io::Error {
    io::Error::other("the journal is closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_wait_until_they_exceed_64_kib() {
        let mut state = State { group: vec![0; 64 * 1024], ..State::default() };
        assert!(!state.is_due());
        state.group.push(0);
        assert!(state.is_due());
    }
}
