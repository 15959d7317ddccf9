//! What the service wants done elsewhere, for whoever does it: files to be fetched, webhooks to be told.

pub(crate) mod fetch;
pub(crate) mod post;

use std::sync::Arc;

use crate::delivery::webhooks::post::{Posted, WebhookPost};
use crate::delivery::{self, webhooks};
use crate::service::Service;
use crate::state::fetches::{FetchError, FetchJob, Fetched};

impl Service {
    /// Takes the next errand: files to be fetched before an email can leave. The mounts do this.
    pub fn next_fetch(&self) -> Option<FetchJob> {
        self.state.fetches.pop()
    }

    /// Brings an errand's outcome: the files, or why they could not be fetched.
    pub fn finish_fetch(&self, job: FetchJob, outcome: Result<Vec<Fetched>, FetchError>) {
        let _guard = self.state.snapshot_lock.enter();
        delivery::resume(&self.state, job, outcome);
        self.tell();
    }

    /// Takes the next attempt to tell a webhook something. The mounts do this.
    pub fn next_post(&self) -> Option<WebhookPost> {
        loop {
            let _guard = self.state.snapshot_lock.enter();
            let job = self.state.outbox.next()?;
            let webhook = job.delivery.webhook;
            if let Some(post) = webhooks::prepare(&self.state, job) {
                return Some(post);
            }
            self.state.outbox.done(webhook);
        }
    }

    /// Brings what came of an attempt. If it failed, the next one is noted.
    pub fn finish_post(&self, post: WebhookPost, posted: Posted) {
        let _guard = self.state.snapshot_lock.enter();
        let webhook = webhooks::finish(&self.state, post, posted);
        self.state.outbox.done(webhook);
        self.run_some_due();
    }
}

/// Begins everything that waits, each in a task of its own.
pub(crate) fn run_all(service: &Arc<Service>) {
    fetch::run_all(service);
    post::run_all(service);
}
