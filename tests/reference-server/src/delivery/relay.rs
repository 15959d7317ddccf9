//! Records which recipients an email was relayed to, and which were skipped.

use uuid::Uuid;

use crate::lock::lock;
use crate::model::relayed::{RelayOutcome, Relayed};
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::relay::{NotAdmitted, Outgoing, RelayError};

/// Records the result of an attempt, for all of its recipients.
pub fn record_result(
    state: &State,
    email: Uuid,
    (accepted, rejected): (RelayOutcome, RelayOutcome),
    outgoing: &Outgoing,
    result: &Result<String, RelayError>,
) {
    let (outcome, reason) = match result {
        Ok(reply) => (accepted, reply.clone()),
        Err(error) => (rejected, error.to_string()),
    };
    record(state, email, Relayed::new(state.now_for_mail(email), outcome, outgoing.recipients(), &reason));
}

/// Records the skipped recipients of a mail, by reason.
pub fn record_not_admitted(state: &State, email: Uuid, outcome: RelayOutcome, not_admitted: &[NotAdmitted]) {
    let mut rest: Vec<_> = not_admitted.iter().collect();
    while let Some(reason) = rest.first().map(|one| one.reason) {
        let (these, others): (Vec<_>, _) = rest.into_iter().partition(|one| one.reason == reason);
        let to = these.iter().map(|one| &one.recipient);
        record(state, email, Relayed::new(state.now_for_mail(email), outcome, to, reason));
        rest = others;
    }
}

/// Adds an attempt to the timeline of an email, sent or received. An evicted email has no timeline.
fn record(state: &State, email: Uuid, attempt: Relayed) {
    let Some(tenant) = state.tenants.owner(email) else { return };
    let sent = lock(&tenant.emails).get(email).cloned();
    let received = lock(&tenant.received).get(email).cloned();
    let grown = match (&sent, &received) {
        (Some(sent), _) => sent.relayed.add(attempt),
        (None, Some(received)) => received.relayed.add(attempt),
        (None, None) => return,
    };
    lock(&tenant.emails).mark_changed(email);
    lock(&tenant.received).mark_changed(email);
    state.tenants.grow_mail(email, grown);
    state.event_bus.publish(&tenant.name, BusEventKind::EmailEvent { email, event: "relayed" });
}
