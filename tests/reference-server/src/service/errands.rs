//! What the service wants done elsewhere, for whoever does it: files to be fetched, webhooks to be told.

use super::Service;
use crate::delivery::fetch::{Errand, FetchError, FetchQueue, Fetched};
use crate::delivery::webhooks::outbox::Outbox;
use crate::delivery::webhooks::post::{Couriers, Posted, WebhookPost};
use crate::delivery::{self, webhooks};

impl Service {
    /// Takes the next errand: files to be fetched before an email can leave. The mounts do this.
    pub fn next_errand(&self) -> Option<Errand> {
        self.fetches.pop()
    }

    /// Brings an errand's outcome: the files, or why they could not be fetched.
    pub fn finish_errand(&self, errand: Errand, outcome: Result<Vec<Fetched>, FetchError>) {
        let _inside = self.gate.enter();
        delivery::resume(self, errand, outcome);
        self.tell();
    }

    /// Takes the next attempt to tell a webhook something. The mounts do this.
    pub fn next_post(&self) -> Option<WebhookPost> {
        loop {
            let _inside = self.gate.enter();
            let job = self.outbox.next()?;
            let webhook = job.told.webhook;
            if let Some(post) = webhooks::prepare(self, job) {
                return Some(post);
            }
            self.outbox.done(webhook);
        }
    }

    /// Brings what came of an attempt. If it failed, the next one is noted.
    pub fn finish_post(&self, post: WebhookPost, posted: Posted) {
        let _inside = self.gate.enter();
        let webhook = webhooks::finish(self, post, posted);
        self.outbox.done(webhook);
        self.run_some_due();
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub(crate) fn couriers(&self) -> &Couriers {
        &self.couriers
    }

    pub(crate) fn fetches(&self) -> &FetchQueue {
        &self.fetches
    }
}
