//! `sandbox clock`: shows and controls the clock of an account, or of all.

use clap::Subcommand;
use http::Method;
use serde_json::{Value, json};

use super::{client, control_client, unreachable_failure};
use crate::context::Context;
use crate::diagnostics::{Fail, Origin};
use crate::output::table::text_at;

/// Show or control the account's clock
///
/// When the command returns, everything that became due (scheduled emails, retries, expirations) has happened in order. If a webhook endpoint
/// doesn't respond in time, the event's next retry is counted from then. Each account has its own clock; --all-accounts controls all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost sandbox clock\n  \
    idempost sandbox clock freeze\n  \
    idempost sandbox clock advance 1h 30m\n  \
    idempost sandbox clock set 2026-03-02T12:00:00Z\n  \
    idempost sandbox clock scale 60\n  \
    idempost sandbox clock set now\n  \
    idempost sandbox clock advance 1h --all-accounts")]
pub(crate) struct Args {
    /// Control the clocks of all accounts. With --auth, the sandbox requires the password
    #[arg(long, global = true)]
    all_accounts: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Stop the clock; it can still be advanced
    #[command(after_help = "Examples:\n  idempost sandbox clock freeze")]
    Freeze,
    /// Let the clock run again from its current time
    #[command(after_help = "Examples:\n  idempost sandbox clock run")]
    Run,
    /// Advance the clock
    #[command(
        after_help = "Examples:\n  idempost sandbox clock advance 1h 30m\n  idempost sandbox clock advance '2 days'"
    )]
    Advance {
        /// Duration: 90s, 1h 30m, 2 days, 1 month
        #[arg(value_name = "DURATION", required = true)]
        by: Vec<String>,
    },
    /// Set the clock, forward or back
    #[command(
        after_help = "Examples:\n  idempost sandbox clock set 2026-03-02T12:00:00Z\n  idempost sandbox clock set now"
    )]
    Set {
        /// Time or date in UTC, or `now` for this machine's time
        #[arg(value_name = "TIME")]
        to: String,
    },
    /// Run the clock N times as fast as real time
    #[command(after_help = "Examples:\n  idempost sandbox clock scale 60")]
    Scale {
        /// Factor from 0.001 to 100000; 1 is real time
        #[arg(value_name = "N", allow_negative_numbers = true)]
        scale: String,
    },
}

/// Sends the command and prints the clock's state.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let all = args.all_accounts;
    let wanted = match &args.command {
        None => None,
        Some(Command::Freeze) => Some(json!({ "freeze": true, "all_accounts": all })),
        Some(Command::Run) => Some(json!({ "run": true, "all_accounts": all })),
        Some(Command::Advance { by }) => Some(json!({ "advance": by.join(" "), "all_accounts": all })),
        Some(Command::Set { to }) => Some(json!({ "set": to, "all_accounts": all })),
        Some(Command::Scale { scale }) => Some(json!({ "scale": parse_number(scale)?, "all_accounts": all })),
    };
    let client = if all { control_client(context)? } else { client(context)? };
    let call = match wanted {
        None => client.request(Method::GET, format!("/_/clock?all_accounts={all}")),
        Some(wanted) => client.request(Method::POST, "/_/clock").json(&wanted),
    };
    let clock = call.await.map_err(unreachable_failure)?;
    context.out.note(&describe_state(&clock));
    context.out.result(&[text_at(&clock, "/now")], &clock)
}

fn parse_number(text: &str) -> Result<f64, Fail> {
    if let Some(number) = text.parse().ok().filter(|number| (0.001..=100_000.0).contains(number)) {
        return Ok(number);
    }
    Err(Fail::usage("range", "the factor must be from 0.001 to 100000", Some(Origin::flag("N", text))))
}

fn describe_state(clock: &Value) -> String {
    let scale = clock["scale"].as_f64().unwrap_or(1.0);
    let pace =
        if (scale - 1.0).abs() < f64::EPSILON { String::new() } else { format!(", {scale} times as fast") };
    let runs = match clock["frozen"].as_bool() {
        Some(true) => "stopped",
        _ => "running",
    };
    // Differences below a second come from the request itself.
    let ahead = clock["ahead_seconds"].as_f64().unwrap_or_default();
    let away = match ahead {
        ahead if ahead.abs() < 1.0 => String::new(),
        ahead if ahead > 0.0 => format!(", {} ahead", format_duration(ahead)),
        ahead => format!(", {} behind", format_duration(-ahead)),
    };
    format!("{runs}{pace}{away}")
}

/// Formats a duration: `1h 30m 5s`.
fn format_duration(seconds: f64) -> String {
    let rounded = jiff::SignedDuration::try_from_secs_f64(seconds.round()).unwrap_or_default();
    format!("{rounded:#}")
}
