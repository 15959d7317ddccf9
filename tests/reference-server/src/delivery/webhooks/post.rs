//! Sends what the outbox holds. The mounts do this, and whoever drives a service without one may.

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;

use crate::state::outbox::PendingAttempt;

/// An attempt that is to be made: this body, with these headers, by POST to this address.
pub struct WebhookPost {
    /// Where to.
    pub url: String,
    /// All of them; the signature is among them.
    pub headers: HeaderMap,
    /// The bytes that are signed.
    pub body: Bytes,
    job: PendingAttempt,
    sent_at: Timestamp,
}

/// What came of an attempt.
#[derive(Clone, Debug, Default)]
pub struct Posted {
    /// The status of the answer, if there was one in time.
    pub status: Option<u16>,
    /// The beginning of the answer's body, or why there was no answer.
    pub response: String,
}

impl WebhookPost {
    pub(super) fn new(url: String, headers: HeaderMap, job: PendingAttempt, sent_at: Timestamp) -> Self {
        Self { url, headers, body: job.delivery.payload.clone(), job, sent_at }
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
