//! `domains verify`: the wait for the outcome.

use std::time::Duration;

use idempost::domains::{Domain, DomainStatus, RecordStatus};

use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;

/// The state to wait for.
pub(super) const VERIFIED: &str = "verified";

/// Waits for the outcome, if there is a timeout; notes where to find it otherwise.
pub(super) async fn wait(id: &str, timeout: Option<Duration>, context: &Context) -> Result<(), Fail> {
    let check = format!("idempost domains get {id}");
    let Some(timeout) = timeout else {
        context.out.note(&format!("verification started · check: {check}"));
        return Ok(());
    };
    let words = Messages {
        timed_out: "the domain hasn't been verified".to_owned(),
        continues: "verification continues in the background".to_owned(),
        failed: "verification failed".to_owned(),
        check,
    };
    let wait = context.client()?.domains().wait(id);
    wait::poll_until_terminal(wait, timeout, &words, context, terminal_state).await.map(drop)
}

/// A failure names the records that weren't found.
fn terminal_state(domain: &Domain) -> End {
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
        assert_eq!(terminal_state(&domain("verified", "verified")), End::Good("verified".to_owned()));
        assert_eq!(
            terminal_state(&domain("failed", "failed")),
            End::Bad("failed; not found: send.a.test MX".to_owned())
        );
        assert_eq!(
            terminal_state(&domain("temporary_failure", "verified")),
            End::Bad("temporary_failure".to_owned())
        );
    }
}
