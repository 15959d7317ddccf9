//! Outgoing requests, run by the mounts: fetching attachments, posting webhook events, and sending mails to a real server.

pub mod fetch;
pub mod post;
pub mod relay;

use std::sync::Arc;

use crate::delivery::webhooks::post::{Posted, WebhookPost};
use crate::delivery::{self, webhooks};
use crate::service::Service;
use crate::state::fetches::{FetchError, FetchJob, Fetched};

impl Service {
    /// Takes the next email whose hosted attachments must be fetched before it is sent. The mounts call this.
    pub fn next_fetch(&self) -> Option<FetchJob> {
        self.state.fetches.pop()
    }

    /// Completes a fetch with its files, or with the reason for its failure.
    pub fn finish_fetch(&self, job: FetchJob, outcome: Result<Vec<Fetched>, FetchError>) {
        let _guard = self.state.snapshot_lock.enter();
        delivery::resume(&self.state, job, outcome);
        self.notify_listeners();
    }

    /// Takes the next webhook delivery attempt. The mounts call this.
    pub fn next_post(&self) -> Option<WebhookPost> {
        loop {
            let _guard = self.state.snapshot_lock.enter();
            let job = self.state.outbox.next()?;
            let slot = job.slot();
            if let Some(post) = webhooks::prepare(&self.state, job) {
                return Some(post);
            }
            self.state.outbox.finish_attempt(slot, None);
        }
    }

    /// Completes a delivery attempt. If it failed, the next attempt is scheduled.
    pub fn finish_post(&self, post: WebhookPost, posted: Posted) {
        let _guard = self.state.snapshot_lock.enter();
        let slot = post.slot();
        let timed_out = post.elapsed() >= self.state.settings.webhook_timeout;
        webhooks::finish(&self.state, post, posted, timed_out);
        self.run_some_due();
        // Last, so that a move of the clock also waits for a retry that is already due.
        self.state.outbox.finish_attempt(slot, Some(timed_out));
    }
}

/// Starts all pending requests, each in its own task.
pub fn run_all(service: &Arc<Service>) {
    fetch::run_all(service);
    post::run_all(service);
}
