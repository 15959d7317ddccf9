//! `domains verify`: starts a check of the DNS records and optionally waits for its outcome.

use std::time::Duration;

use idempost::{
    Client, DomainId,
    domains::{Domain, DomainStatus, RecordStatus},
};

use super::show_command;
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::wait::{self, End, Messages, TimeoutFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// The state to wait for.
const VERIFIED: &str = "verified";

/// Start verification of a domain's DNS records
///
/// The service checks in the background; --wait waits for the outcome. Can be repeated at any time, and must be repeated after a change
/// that adds records.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost domains verify d91cd9bd-1176-453e-8fc1-35364d380206 --wait\n  \
    idempost domains verify d91cd9bd-1176-453e-8fc1-35364d380206 --wait --wait-timeout 30m\n\n\
    Exit codes: 0 started, or with --wait verified; 3 verification failed; 8 timed out")]
pub(crate) struct Args {
    /// ID of the domain
    #[arg(value_name = "ID")]
    id: String,
    /// Wait until verification ends; exits with 3 if it fails
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = VERIFIED)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, wait, timeout, dry_run } = args;
    let mut flags = Flags::default();
    let wait = flags.take(wait::plan(wait.as_deref(), &timeout.wait_timeout, VERIFIED)).flatten();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = format!("verification may have started; check: {}", show_command(&id));
    let make = |client: &Client| client.domains().verify(id.as_str());
    let Some(response) = mutation::execute(dry_run, &unknown_outcome, context, make).await? else {
        return Ok(());
    };
    let id = response.value.id.clone();
    mutation::print(id.as_str(), &response, context)?;
    if let Some(timeout) = wait {
        return until_checked(timeout, id, context).await;
    }
    context.out.note(&format!("verification started · check: {}", show_command(id.as_str())));
    Ok(())
}

async fn until_checked(timeout: Duration, id: DomainId, context: &Context) -> Result<(), Fail> {
    let words = Messages {
        interrupted: "verification continues in the background".to_owned(),
        timed_out: "the domain isn't verified".to_owned(),
        continues: "verification continues in the background".to_owned(),
        failed: "verification failed".to_owned(),
        check: show_command(id.as_str()),
    };
    wait::until(context.client()?.domains().wait(id), timeout, &words, context, end).await.map(drop)
}

/// A failure names the records that weren't found.
fn end(domain: &Domain) -> End {
    let status = domain.status.as_ref().map_or("unknown", DomainStatus::as_str);
    if status == VERIFIED {
        return End::Good(status.to_owned());
    }
    let found = |status: &RecordStatus| matches!(status, RecordStatus::Verified);
    let missing: Vec<_> = domain
        .records
        .iter()
        .filter(|record| !record.status.as_ref().is_some_and(found))
        .map(|record| format!("{} {}", record.name, record.kind))
        .collect();
    End::Bad(if missing.is_empty() {
        status.to_owned()
    } else {
        format!("{status}; not found: {}", missing.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_names_the_missing_records() {
        let domain = |status: &str, record: &str| -> Domain {
            serde_json::from_value(json!({"id": "1", "name": "a.test", "created_at": "now", "status": status,
                "records": [{"record": "SPF", "name": "send.a.test", "type": "MX", "value": "v", "status": record}]}))
            .unwrap()
        };
        assert_eq!(end(&domain("verified", "verified")), End::Good("verified".to_owned()));
        assert_eq!(
            end(&domain("failed", "failed")),
            End::Bad("failed; not found: send.a.test MX".to_owned())
        );
        assert_eq!(end(&domain("temporary_failure", "verified")), End::Bad("temporary_failure".to_owned()));
    }
}
