//! Cancellation of work whose client has disconnected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wire::problem::Problem;

/// Whether a request's client has disconnected. A mount adds it to the request's extensions; long-running work polls it.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Returns the request's cancellation, or one that is never canceled if its mount doesn't detect closed connections.
    pub fn from_request<B>(request: &http::Request<B>) -> Self {
        request.extensions().get().cloned().unwrap_or_default()
    }

    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails if the client has disconnected, to stop work on its response.
    pub fn check(&self) -> Result<(), Problem> {
        if self.is_canceled() { Err(Problem::application("The client disconnected.")) } else { Ok(()) }
    }

    /// Cancels when dropped, like the future of a response whose connection closes.
    pub fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// See [`Cancellation::on_drop`].
pub struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
