//! Retries of long-running commands while the service is unreachable.

use std::time::Duration;

use crate::context::Context;
use crate::diagnostics::{Fail, Kind};
use crate::output::{report, sleep_while_read};

/// The first and the maximum delay while the service is unreachable.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// The state of an outage.
#[derive(Default)]
pub(crate) struct Outage {
    /// The last delay; `None` if the service responds.
    pause: Option<Duration>,
}

impl Outage {
    /// Ends an outage: the service has responded.
    pub(crate) fn is_over(&mut self, context: &Context) {
        if self.pause.take().is_some() {
            context.out.note("the service responds again");
        }
    }

    /// Waits after a transient failure; returns any other.
    pub(crate) async fn wait_out(&mut self, fail: Fail, context: &Context) -> Result<(), Fail> {
        let Some(error) = fail.sdk().filter(|_| matches!(fail.kind(), Kind::Unavailable | Kind::Limited))
        else {
            return Err(fail);
        };
        let pause = self.pause.map_or(BACKOFF.0, |last| (last * 2).min(BACKOFF.1));
        self.pause = Some(pause);
        let pause = pause.max(error.retry_after().unwrap_or_default());
        let message = report::sdk_message(error);
        context.out.warn(&format!("{message}; retrying in {} s", pause.as_secs()));
        sleep_while_read(pause).await
    }
}
