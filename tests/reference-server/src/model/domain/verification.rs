//! Simulated checks of a domain's DNS records, on the service's clock.
//!
//! The sandbox makes no DNS lookups. A check ends after two seconds, or after a minute for names that begin with `slow.`, and finds every
//! record, except
//!
//! - for names that begin with `fail.`, and in a strict sandbox for domains that another account has verified: none;
//! - for names that begin with `partial.`: only those required for sending. The others stay `pending`, and the domain `partially_verified`,
//!   until a minute after the start, when the check fails: `partially_failed`. A domain without other records is verified.
//!
//! `POST …/verify` starts a check regardless of the status. A request during a check joins it, so repeating a request is harmless; after a change
//! that added records, a new check starts. A verified domain may send while it is checked again.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::model::domain::dns::RecordStatus;
use crate::model::domain::{Domain, Status};

const NORMAL: SignedDuration = SignedDuration::from_secs(2);
const SLOW: SignedDuration = SignedDuration::from_secs(60);

/// A check in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Check {
    pub number: u64,
    pub due_after: SignedDuration,
}

/// Starts a check, unless one is running that covers every record.
pub fn begin_check(domain: &mut Domain) -> Option<Check> {
    let unseen = domain.records.iter().any(|record| record.status == RecordStatus::NotStarted);
    if domain.status == Status::Pending && !unseen {
        return None;
    }
    domain.could_receive = domain.can_receive();
    domain.check += 1;
    domain.status = Status::Pending;
    for record in &mut domain.records {
        record.status = RecordStatus::Pending;
    }
    Some(Check { number: domain.check, due_after: check_duration(&domain.setup.name) })
}

/// The duration of a check of a domain with this name.
pub fn check_duration(name: &str) -> SignedDuration {
    if name.starts_with("slow.") { SLOW } else { NORMAL }
}

/// Ends a check or its first part; returns the next part, with its delay. `taken`: the domain belongs to another account.
pub fn end_check(domain: &mut Domain, number: u64, taken: bool) -> Option<Check> {
    if number != domain.check {
        return None;
    }
    if domain.status == Status::PartiallyVerified {
        set_statuses(domain, |_| RecordStatus::Failed);
        domain.status = Status::PartiallyFailed;
        return None;
    }
    let name = domain.setup.name.as_str();
    let (fails, partial) = (taken || name.starts_with("fail."), name.starts_with("partial."));
    let mut open = false;
    set_statuses(domain, |for_sending| match (fails, for_sending || !partial) {
        (true, _) => RecordStatus::Failed,
        (false, true) => RecordStatus::Verified,
        (false, false) => {
            open = true;
            RecordStatus::Pending
        }
    });
    domain.proven = !fails;
    domain.status = match (fails, open) {
        (true, _) => Status::Failed,
        (false, false) => Status::Verified,
        (false, true) => Status::PartiallyVerified,
    };
    open.then_some(Check { number, due_after: SLOW - NORMAL })
}

/// Sets the status of every checked record.
fn set_statuses(domain: &mut Domain, mut found: impl FnMut(bool) -> RecordStatus) {
    for record in &mut domain.records {
        if record.status == RecordStatus::Pending {
            record.status = found(record.is_for_sending());
        }
    }
}
