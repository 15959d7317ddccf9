//! `--wait` and `--wait-timeout`: polls a resource until it reaches a terminal state or the timeout expires.
//!
//! Exit code 3 for a failure, 8 for a timeout. A signal ends only the wait; the message names what continues.

use std::time::Duration;

use idempost::{Error, Wait};

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::settings::keys;

/// The flag for the time limit; each command declares `--wait` with its own state.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct TimeoutFlag {
    /// Maximum time to wait, such as 30s or 2m; exits with 8 on timeout
    #[arg(long, value_name = "DURATION", default_value = "2m", hide_short_help = true)]
    pub(crate) wait_timeout: String,
}

/// Reads the flags; `state` is the only valid one. Returns `None` without `--wait`.
pub(crate) fn plan(wait: Option<&str>, timeout: &str, state: &str, flags: &mut Flags) -> Option<Duration> {
    let wanted = wait?;
    if wanted != state {
        flags.reject("type", format!("--wait must be `{state}`"), "--wait", wanted);
        return None;
    }
    keys::parse_duration(timeout).map_err(|rule| flags.reject("type", rule, "--wait-timeout", timeout)).ok()
}

/// The messages of a command's wait.
#[derive(Debug)]
pub(crate) struct Messages {
    /// The work that continues after a signal or a timeout: `the email was accepted; delivery continues in the background`.
    pub(crate) continues: String,
    /// After a timeout: `the email hasn't been delivered`.
    pub(crate) timed_out: String,
    /// A failure: `the email was accepted, but delivery failed`.
    pub(crate) failed: String,
    /// The command that shows the current state.
    pub(crate) check: String,
}

/// A terminal state, as named by the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The state waited for.
    Good(String),
    /// A failure.
    Bad(String),
}

impl End {
    /// A state of which only `good` isn't a failure.
    pub(crate) fn of(state: Option<&str>, good: &str) -> Self {
        let state = state.unwrap_or("unknown").to_owned();
        if state == good { Self::Good(state) } else { Self::Bad(state) }
    }
}

/// Polls until a terminal state; returns the resource if it succeeded.
pub(crate) async fn poll_until_terminal<T: Send + 'static>(
    wait: Wait<T>,
    timeout: Duration,
    messages: &Messages,
    context: &Context,
    end: impl Fn(&T) -> End,
) -> Result<T, Fail> {
    let unreported = context.in_flight.wait(&messages.continues);
    let started = std::time::Instant::now();
    let ended = wait.max_wait(timeout).await;
    context.in_flight.resume(unreported);
    match ended {
        Ok(found) => match end(&found) {
            End::Good(state) => {
                context.out.note(&format!("{state} after {} s", started.elapsed().as_secs()));
                Ok(found)
            }
            End::Bad(state) => {
                Err(Fail::rejected(format!("{}: {state}", messages.failed)).hint(messages.check.clone()))
            }
        },
        Err(Error::WaitTimeout(pending)) => {
            let state = pending.state.as_ref();
            let state =
                state.map_or_else(|| "its state is unknown".to_owned(), |state| format!("it is {state}"));
            Err(Fail::pending(format!("{} after {} s: {state}", messages.timed_out, timeout.as_secs()))
                .hint(format!("{}; check: {}", messages.continues, messages.check)))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_commands_state_and_a_positive_timeout_are_accepted() {
        let mut flags = Flags::default();
        assert_eq!(plan(None, "never", "sent", &mut flags), None);
        assert_eq!(plan(Some("sent"), "90s", "sent", &mut flags), Some(Duration::from_secs(90)));
        assert!(flags.into_report().is_empty());
        let rule = |wait, timeout| {
            let mut flags = Flags::default();
            assert_eq!(plan(Some(wait), timeout, "sent", &mut flags), None);
            flags.into_report().found.remove(0).problem.message
        };
        assert_eq!(rule("opened", "2m"), "--wait must be `sent`");
        assert!(rule("sent", "0s").contains("above zero"));
    }
}
