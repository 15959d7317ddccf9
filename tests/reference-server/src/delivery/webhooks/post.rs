//! The HTTP request of a delivery attempt. The mounts send it, or the caller of a service without a mount.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;

use crate::state::outbox::{PendingAttempt, Slot};

/// A delivery attempt to make: a POST request with this URL, these headers and this body.
pub struct WebhookPost {
    /// The endpoint's URL.
    pub url: String,
    /// All headers, including the signature.
    pub headers: HeaderMap,
    /// The signed bytes.
    pub body: Bytes,
    job: PendingAttempt,
    sent_at: Timestamp,
    started: Instant,
}

/// The outcome of a delivery attempt.
#[derive(Clone, Debug, Default)]
pub struct Posted {
    /// The status of the response, if one arrived in time.
    pub status: Option<u16>,
    /// The beginning of the response's body, or the reason for having none.
    pub response: String,
}

impl WebhookPost {
    pub(super) fn new(url: String, headers: HeaderMap, job: PendingAttempt, sent_at: Timestamp) -> Self {
        Self { url, headers, body: job.delivery.payload.clone(), job, sent_at, started: Instant::now() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn slot(&self) -> Slot {
        self.job.slot()
    }

    pub(super) fn into_job(self) -> (PendingAttempt, Timestamp) {
        (self.job, self.sent_at)
    }
}

impl std::fmt::Debug for WebhookPost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookPost")
            .field("url", &self.url)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
