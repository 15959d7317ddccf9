//! Stops a running job.

use tokio::sync::watch;

/// How a running job stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    /// It doesn't stop.
    No,
    /// Requests in flight finish, and no others are sent.
    Drain,
    /// Immediately. Requests in flight are sent again, under the same keys, when the job is resumed.
    Abort,
}

impl Stop {
    /// Raises the urgency, but never lowers it. Returns whether it changed.
    pub(crate) fn raise(&mut self, to: Self) -> bool {
        let raised = *self < to;
        *self = (*self).max(to);
        raised
    }
}

/// The receiving side, shared by the deliveries of a job.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    stop: watch::Receiver<Stop>,
}

impl Control {
    pub(crate) fn new(stop: watch::Receiver<Stop>) -> Self {
        Self { stop }
    }

    pub(crate) fn stop(&self) -> Stop {
        *self.stop.borrow()
    }

    /// Resolves when the job should stop with at least this urgency; never if its handle was dropped.
    pub(crate) async fn wait_for(&self, urgency: Stop) {
        let mut stop = self.stop.clone();
        if stop.wait_for(|stop| *stop >= urgency).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
