//! `--wait` and `--wait-timeout`: asks after something that was started, until it has ended or the time is over.
//!
//! A bad end is exit code 3, no end in time is 8. A signal ends the waiting only; what goes on is said.

use std::time::Duration;

use posthaste::{Error, Problem, Wait};

use crate::context::Context;
use crate::diagnostics::{Fail, Found, Report};
use crate::input::draft::flag_origin;
use crate::settings::keys;

/// The flag beside `--wait`, which each command declares with the state that it waits for.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct TimeoutFlag {
    /// The longest to wait: 30s, 2m; then exit code 8
    #[arg(long, value_name = "TIME", default_value = "2m", hide_short_help = true)]
    pub(crate) wait_timeout: String,
}

/// Reads the flags; `state` is the one that can be waited for. Without `--wait` there is nothing to wait for.
pub(crate) fn plan(wait: Option<&str>, timeout: &str, state: &str) -> Result<Option<Duration>, Report> {
    let Some(wanted) = wait else { return Ok(None) };
    let wrong = |rule: String, flag: &str, value: &str| {
        let origin = Some(flag_origin(flag, 1, value));
        Report {
            found: vec![Found { problem: Problem::new("", "type", rule), origin, hint: None }],
            ..Report::default()
        }
    };
    if wanted != state {
        return Err(wrong(format!("what can be waited for is `{state}`"), "--wait", wanted));
    }
    keys::duration(timeout).map(Some).map_err(|rule| wrong(rule, "--wait-timeout", timeout))
}

/// What one command says of its wait.
#[derive(Debug)]
pub(crate) struct Words {
    /// What a signal leaves behind: `the email was accepted and goes its way`.
    pub(crate) left: String,
    /// When the time is over: `the email is not delivered`.
    pub(crate) open: String,
    /// What goes on then: `it goes its way`.
    pub(crate) goes_on: String,
    /// A bad end: `the email was accepted and then not delivered`.
    pub(crate) failed: String,
    /// The command that looks again.
    pub(crate) look: String,
}

/// How something ended, with its state in the service's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// As wanted.
    Good(String),
    /// Otherwise.
    Bad(String),
}

/// Waits, and gives the thing as it is after a good end.
pub(crate) async fn until<T: Send + 'static>(
    wait: Wait<T>,
    timeout: Duration,
    words: &Words,
    context: &Context,
    end: impl Fn(&T) -> End,
) -> Result<T, Fail> {
    context.in_flight.wait(&words.left);
    let begun = std::time::Instant::now();
    let ended = wait.max_wait(timeout).await;
    context.in_flight.finish();
    match ended {
        Ok(found) => match end(&found) {
            End::Good(state) => {
                context.out.note(&format!("{state} after {} s", begun.elapsed().as_secs()));
                Ok(found)
            }
            End::Bad(state) => Err(Fail::Rejected {
                message: format!("{}: {state}", words.failed),
                hint: Some(words.look.clone()),
            }),
        },
        Err(Error::WaitTimeout(pending)) => {
            let state = pending.state.as_ref();
            let state = state
                .map_or_else(|| "its state is not known yet".to_owned(), |state| format!("it is {state}"));
            Err(Fail::Pending {
                message: format!("{} after {} s: {state}", words.open, timeout.as_secs()),
                hint: Some(format!("{}; look again: {}", words.goes_on, words.look)),
            })
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_commands_own_state_and_a_time_above_zero_are_taken() {
        assert_eq!(plan(None, "never", "sent").unwrap(), None);
        assert_eq!(plan(Some("sent"), "90s", "sent").unwrap(), Some(Duration::from_secs(90)));
        let rule =
            |wait, timeout| plan(Some(wait), timeout, "sent").unwrap_err().found[0].problem.message.clone();
        assert_eq!(rule("opened", "2m"), "what can be waited for is `sent`");
        assert!(rule("sent", "0s").contains("above zero"));
    }
}
