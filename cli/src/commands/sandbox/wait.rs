//! `sandbox wait`: until it answers.

use std::time::Duration;

use http::Method;
use posthaste::RetryPolicy;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::client;
use crate::context::Context;
use crate::diagnostics::Fail;

/// The longest wait where `--timeout` says nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// Wait until the sandbox is ready
///
/// At most as long as --timeout says, 30s by default; then the exit code is 8.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  posthaste sandbox serve & posthaste sandbox wait --timeout 10s")]
pub(crate) struct Args {}

/// Asks until there is an answer.
pub(super) async fn run(Args {}: &Args, context: &Context) -> Result<(), Fail> {
    let client = client(context)?;
    let limit = limit(context)?;
    let asking = async {
        loop {
            let asked = client
                .request(Method::GET, "/_/ready")
                .retry(RetryPolicy::never())
                .timeout(Duration::from_secs(1));
            match asked.await {
                Ok(_) => return Ok(()),
                Err(posthaste::Error::Unreachable(_) | posthaste::Error::OutcomeUnknown(_)) => {
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(Fail::Sdk(error)),
            }
        }
    };
    match timeout_at(deadline(limit), asking).await {
        Ok(answered) => answered?,
        Err(_) => {
            return Err(Fail::Pending {
                message: format!("there is no sandbox at {} after {}", client.base_url(), shown(limit)),
                hint: Some("posthaste sandbox serve".to_owned()),
            });
        }
    }
    context.out.result(&[], &json!({ "ready": true }))
}

/// How long to wait at most.
pub(super) fn limit(context: &Context) -> Result<Duration, Fail> {
    Ok(context.settings()?.timeout.as_ref().map_or(PATIENCE, |timeout| timeout.value))
}

/// The end of a wait; an endless one ends in a year.
pub(super) fn deadline(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_hours(365 * 24))
}

/// A length of time as a person would write it.
pub(super) fn shown(limit: Duration) -> String {
    if limit.subsec_millis() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}
