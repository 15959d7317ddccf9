//! The thread that renders batches before they are sent.

use std::{sync::Arc, thread};

use tokio::sync::mpsc;

use crate::{
    budget::{ByteBudget, RENDERED},
    error::{BulkError, Result},
    plan::{Plan, Rendered},
};

/// The number of rendered batches waiting to be sent.
const PREFETCH: usize = 4;

/// Renders batches in order, on a separate thread.
#[derive(Debug)]
pub(super) struct Feeder {
    requests: mpsc::Receiver<Result<Rendered>>,
}

impl Feeder {
    /// Starts rendering these batches and counting their emails to these domains. The thread ends once this value and the batches in flight are
    /// dropped.
    pub(super) fn start(
        plan: Arc<Plan>,
        domains: Vec<String>,
        batches: impl Iterator<Item = u32> + Send + 'static,
    ) -> Result<Self> {
        let (send, requests) = mpsc::channel(PREFETCH);
        let work = move || {
            let mut renderer = match plan.preparer() {
                Ok(renderer) => renderer.counting(domains),
                Err(error) => return drop(send.blocking_send(Err(error))),
            };
            let budget = ByteBudget::new(RENDERED);
            for batch in batches {
                let next = renderer.prepare(batch).map(|prepared| Rendered::new(prepared, &budget));
                let failed = next.is_err();
                if send.blocking_send(next).is_err() || failed {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("bulk-render".to_owned())
            .spawn(work)
            .map_err(|error| BulkError::NotRunnable(format!("couldn't start a thread: {error}")))?;
        Ok(Self { requests })
    }

    /// Returns the next rendered batch, or `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<Result<Rendered>> {
        self.requests.recv().await
    }
}
