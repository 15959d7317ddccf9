//! The upload progress of a request body.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

/// Called with the number of body bytes sent, and the total: `(sent, total)`.
pub(crate) type UploadListener = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// The progress of one attempt's request, shared by the call and the transport.
#[derive(Default)]
pub(crate) struct Upload {
    stage: AtomicU8,
    listener: Option<UploadListener>,
}

/// The transport has reported nothing.
const UNREPORTED: u8 = 0;
const CONNECTING: u8 = 1;
const SENDING: u8 = 2;

impl Upload {
    pub(crate) fn new(listener: Option<UploadListener>) -> Arc<Self> {
        Arc::new(Self { stage: AtomicU8::new(UNREPORTED), listener })
    }

    pub(super) fn report_connecting(&self) {
        self.stage.store(CONNECTING, Ordering::Release);
    }

    /// Records that the request has a connection.
    pub(super) fn record_connected(&self) {
        self.stage.store(SENDING, Ordering::Release);
    }

    pub(super) fn report_sent(&self, sent: u64, total: u64) {
        self.record_connected();
        if let Some(listener) = &self.listener {
            listener(sent, total);
        }
    }

    /// Returns whether the transport has reported that it has no connection yet.
    pub(crate) fn is_connecting(&self) -> bool {
        self.stage.load(Ordering::Acquire) == CONNECTING
    }
}
