//! The check of a domain's DNS records, on the service's clock.
//!
//! The sandbox looks nothing up. A check ends two seconds after it was begun, for names that begin with `slow.` after a minute, and finds
//! every record; but
//!
//! * for names that begin with `fail.` none;
//! * for names that begin with `partial.` those that sending needs. The others stay `pending`, the domain `partially_verified`, until
//!   a minute after the check was begun they are given up: `partially_failed`. A domain that has no others is verified.
//!
//! `POST …/verify` begins a check whatever the status is. While one runs another request joins it, so repeating one does no harm; after
//! a change that brought new records it begins anew. A domain that was verified may send while it is checked again.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::model::domain::dns::RecordStatus;
use crate::model::domain::{Domain, Status};

const USUAL: SignedDuration = SignedDuration::from_secs(2);
const SLOW: SignedDuration = SignedDuration::from_secs(60);

/// A check that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Check {
    pub(crate) number: u64,
    pub(crate) due_after: SignedDuration,
}

/// Begins a check, unless one is running that looks at every record.
pub(crate) fn begin(domain: &mut Domain) -> Option<Check> {
    let unseen = domain.records.iter().any(|record| record.status == RecordStatus::NotStarted);
    if domain.status == Status::Pending && !unseen {
        return None;
    }
    domain.check += 1;
    domain.status = Status::Pending;
    for record in &mut domain.records {
        record.status = RecordStatus::Pending;
    }
    let due_after = if domain.setup.name.starts_with("slow.") { SLOW } else { USUAL };
    Some(Check { number: domain.check, due_after })
}

/// Ends a check, or its first part; then there is another, so much later.
pub(crate) fn end(domain: &mut Domain, number: u64) -> Option<Check> {
    if number != domain.check {
        return None;
    }
    if domain.status == Status::PartiallyVerified {
        settle(domain, |_| RecordStatus::Failed);
        domain.status = Status::PartiallyFailed;
        return None;
    }
    let name = domain.setup.name.as_str();
    let (fails, partial) = (name.starts_with("fail."), name.starts_with("partial."));
    let mut open = false;
    settle(domain, |for_sending| match (fails, for_sending || !partial) {
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
    open.then_some(Check { number, due_after: SLOW - USUAL })
}

/// Gives every record that is being checked what the check has found.
fn settle(domain: &mut Domain, mut found: impl FnMut(bool) -> RecordStatus) {
    for record in &mut domain.records {
        if record.status == RecordStatus::Pending {
            record.status = found(record.is_for_sending());
        }
    }
}
