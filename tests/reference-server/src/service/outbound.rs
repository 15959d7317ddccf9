//! What leaves, through the mounts: attachments to fetch, webhook events to post, remote images and links to request, and mails to a real server.

pub(crate) mod fetch;
pub(crate) mod images;
pub(crate) mod links;
pub(crate) mod post;
mod relay;
mod remote;

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use crate::delivery::webhooks::post::{Posted, WebhookPost};
use crate::delivery::{self, webhooks};
use crate::inbox::check::LinkJob;
use crate::service::Service;
use crate::state::fetches::{FetchError, FetchJob, Fetched};
use crate::state::images::ImageJob;

impl Service {
    /// Takes the next email whose hosted attachments must be fetched before it is sent. The mounts call this.
    pub fn next_fetch(&self) -> Option<FetchJob> {
        self.state.fetches.pop()
    }

    /// Completes a fetch with its files, or with the reason of its failure.
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
            let webhook = job.delivery.webhook;
            if let Some(post) = webhooks::prepare(&self.state, job) {
                return Some(post);
            }
            self.state.outbox.done(webhook);
        }
    }

    /// Completes a delivery attempt. If it failed, the next attempt is scheduled.
    pub fn finish_post(&self, post: WebhookPost, posted: Posted) {
        let _guard = self.state.snapshot_lock.enter();
        let webhook = webhooks::finish(&self.state, post, posted);
        self.state.outbox.done(webhook);
        self.run_some_due();
    }
}

/// Starts all pending requests, each in a task of its own.
pub(crate) fn run_all(service: &Arc<Service>) {
    fetch::run_all(service);
    post::run_all(service);
}

/// Requests the images or links that a response needs, and returns the one to send instead; `None` if it needs none.
pub(crate) async fn requested(
    service: &Arc<Service>,
    response: &mut Response<Bytes>,
) -> Option<Response<Bytes>> {
    if let Some(job) = response.extensions_mut().remove::<ImageJob>() {
        return Some(images::load(service, job).await);
    }
    let job = response.extensions_mut().remove::<LinkJob>()?;
    Some(links::check(service, job).await)
}

/// An error with its causes, without the address, which the caller has already.
fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reasons = Vec::new();
    let mut cause = error.source().or(Some(error));
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    reasons.join(": ")
}
