//! The handle of a task that reports events and can be stopped.

use std::future::Future;

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::control::{Control, Stop};
use crate::error::{BulkError, Result};

/// A running task. Dropping the handle doesn't stop it.
#[derive(Debug)]
pub(crate) struct Handle<E, R> {
    events: mpsc::Receiver<E>,
    stop: watch::Sender<Stop>,
    ended: JoinHandle<Result<R>>,
}

impl<E: Send + 'static, R: Send + 'static> Handle<E, R> {
    /// Spawns a task on the current tokio runtime, with room for this many unread events.
    pub(crate) fn spawn<W>(
        events: usize,
        work: impl FnOnce(watch::Sender<Stop>, Control, mpsc::Sender<E>) -> W,
    ) -> Self
    where
        W: Future<Output = Result<R>> + Send + 'static,
    {
        let (send, events) = mpsc::channel(events);
        let (stop, stopped) = watch::channel(Stop::No);
        let ended = tokio::spawn(work(stop.clone(), Control::new(stopped), send));
        Self { events, stop, ended }
    }

    /// Returns the next event, or `None` when the task has ended.
    pub(crate) async fn next(&mut self) -> Option<E> {
        self.events.recv().await
    }

    /// Stops the task with at least this urgency.
    pub(crate) fn stop(&self, urgency: Stop) {
        self.stop.send_if_modified(|stop| stop.raise(urgency));
    }

    /// Waits for the task, ignoring further events. Propagates a panic of the task.
    pub(crate) async fn finish(mut self) -> Result<R> {
        while self.next().await.is_some() {}
        match self.ended.await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(BulkError::NotRunnable("the runtime shut down".to_owned())),
        }
    }
}
