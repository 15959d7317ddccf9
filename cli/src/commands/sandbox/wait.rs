//! `sandbox wait`: waits until the sandbox responds.

use std::time::Duration;

use http::Method;
use idempost::call::RetryPolicy;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::client;
use crate::context::Context;
use crate::diagnostics::Fail;

/// The limit without `--timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Wait until the sandbox is ready
///
/// Waits up to --timeout, 30s by default, and exits with 8 on timeout.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost sandbox serve & idempost sandbox wait --timeout 10s")]
pub(crate) struct Args {}

/// Polls until the sandbox responds.
pub(super) async fn run(Args {}: Args, context: &Context) -> Result<(), Fail> {
    let client = client(context)?;
    let limit = max_wait(context)?;
    let asking = async {
        loop {
            let asked = client
                .request(Method::GET, "/_/ready")
                .retry(RetryPolicy::never())
                .timeout(Duration::from_secs(1));
            match asked.await {
                Ok(_) => return Ok(()),
                Err(idempost::Error::Unreachable(_) | idempost::Error::OutcomeUnknown(_)) => {
                    sleep(POLL_INTERVAL).await;
                }
                Err(error) => return Err(Fail::Sdk(error)),
            }
        }
    };
    match timeout_at(deadline(limit), asking).await {
        Ok(answered) => answered?,
        Err(_) => {
            return Err(Fail::pending(format!(
                "no sandbox at {} after {}",
                client.base_url(),
                format_limit(limit)
            ))
            .hint("start one: idempost sandbox serve"));
        }
    }
    context.out.result(&[], &json!({ "ready": true }))
}

/// The maximum wait.
pub(super) fn max_wait(context: &Context) -> Result<Duration, Fail> {
    Ok(context.settings()?.timeout.as_ref().map_or(DEFAULT_TIMEOUT, |timeout| timeout.value))
}

/// The deadline; without a limit, in a year.
pub(super) fn deadline(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_hours(365 * 24))
}

/// Formats a human-readable duration.
pub(super) fn format_limit(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}
