//! What the service wants done elsewhere: files to be fetched, webhooks to be told. The mounts do it, on their runtime.

use std::sync::Arc;

use super::{fetch, webhooks};
use crate::service::Service;

/// Begins everything that waits, each in a task of its own.
pub(crate) fn run_all(service: &Arc<Service>) {
    fetch::run_all(service);
    webhooks::post::run_all(service);
}
