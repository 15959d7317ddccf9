//! The thread that renders a worker's batches.

use std::{sync::Arc, thread};

use tokio::sync::{mpsc, oneshot};

use crate::{
    budget::{ByteBudget, RENDERED},
    error::{BulkError, Result},
    locked::Locked,
    plan::{Plan, Rendered},
};

/// The number of batches waiting for the thread.
const QUEUE_CAPACITY: usize = 64;

type Request = (u32, oneshot::Sender<Result<Rendered>>);

/// Renders batches on a separate thread, in the order of requests.
#[derive(Debug)]
pub(super) struct Renderer {
    plan: Arc<Plan>,
    budget: Arc<ByteBudget>,
    requests: Locked<Option<mpsc::Sender<Request>>>,
}

/// Why a batch wasn't rendered.
#[derive(Debug)]
pub(super) enum RenderError {
    /// The job's files can't be read or don't match the plan.
    Failed(BulkError),
    /// The thread panicked. The next request starts a new one.
    Panicked,
}

impl Renderer {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        Self { plan, budget: ByteBudget::new(RENDERED), requests: Locked::default() }
    }

    pub(super) async fn render(&self, batch: u32) -> Result<Rendered, RenderError> {
        let (response, rendered) = oneshot::channel();
        let requests = self.thread().map_err(RenderError::Failed)?;
        if requests.send((batch, response)).await.is_err() {
            return Err(RenderError::Panicked);
        }
        match rendered.await {
            Ok(rendered) => rendered.map_err(RenderError::Failed),
            Err(_) => Err(RenderError::Panicked),
        }
    }

    /// Returns the sender for the thread's requests, starting the thread if it isn't running.
    fn thread(&self) -> Result<mpsc::Sender<Request>> {
        let mut current = self.requests.lock();
        if let Some(requests) = current.as_ref().filter(|requests| !requests.is_closed()) {
            return Ok(requests.clone());
        }
        let (requests, mut waiting) = mpsc::channel::<Request>(QUEUE_CAPACITY);
        let (mut preparer, budget) = (self.plan.preparer()?, Arc::clone(&self.budget));
        thread::Builder::new()
            .name("bulk-render".to_owned())
            .spawn(move || {
                while let Some((batch, response)) = waiting.blocking_recv() {
                    let rendered = preparer.prepare(batch).map(|prepared| Rendered::new(prepared, &budget));
                    // The delivery may have ended in the meantime.
                    let _ = response.send(rendered);
                }
            })
            .map_err(|error| BulkError::NotRunnable(format!("couldn't start a thread: {error}")))?;
        Ok(current.insert(requests).clone())
    }
}
