//! What the service wants done elsewhere: files to be fetched, webhooks to be told. The mounts do it, on their runtime.

pub(crate) mod fetch;
pub(crate) mod post;

use std::sync::Arc;

use crate::service::Service;

/// Begins everything that waits, each in a task of its own.
pub(crate) fn run_all(service: &Arc<Service>) {
    fetch::run_all(service);
    post::run_all(service);
}
