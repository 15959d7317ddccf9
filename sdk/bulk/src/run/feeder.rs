//! The thread that renders batches ahead of their sending.

use std::{sync::Arc, thread};

use tokio::sync::mpsc;

use crate::{
    error::{BulkError, Result},
    plan::{Plan, Prepared},
};

/// The number of rendered batches that wait to be sent.
const AHEAD: usize = 4;

/// Renders batches on a thread of its own, in order.
#[derive(Debug)]
pub(super) struct Feeder {
    prepared: mpsc::Receiver<Result<Prepared>>,
}

impl Feeder {
    /// Starts to render these batches. The thread ends when this value is dropped.
    pub(super) fn start(
        plan: Arc<Plan>,
        batches: impl Iterator<Item = u32> + Send + 'static,
    ) -> Result<Self> {
        let (send, prepared) = mpsc::channel(AHEAD);
        let work = move || {
            let mut renderer = match plan.preparer() {
                Ok(renderer) => renderer,
                Err(error) => return drop(send.blocking_send(Err(error))),
            };
            for batch in batches {
                let prepared = renderer.prepare(batch);
                let failed = prepared.is_err();
                if send.blocking_send(prepared).is_err() || failed {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("bulk-render".to_owned())
            .spawn(work)
            .map_err(|error| BulkError::NotRunnable(format!("couldn't start a thread: {error}")))?;
        Ok(Self { prepared })
    }

    /// Returns the next rendered batch, or `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<Result<Prepared>> {
        self.prepared.recv().await
    }
}
