//! Sends a broadcast: one email per contact of its segment.
//!
//! The members of the segment are determined when the broadcast starts, and each contact is checked when its email is sent: unsubscribed
//! contacts, and those that opted out of the topic, get none. The emails are listed like any other, with the same simulated outcomes.
//!
//! A large segment is sent in steps on the service's clock, so that no request waits for a hundred thousand emails. Until the last email is
//! sent, the broadcast is `queued` and can be canceled.

pub(crate) mod audience;
pub(crate) mod message;

use std::sync::{Arc, Weak};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use self::message::MessageBuilder;
use crate::clock::plus;
use crate::delivery::accept;
use crate::model::broadcast::Status;
use crate::model::email::personal::Common;
use crate::state::State;
use crate::state::job::{BroadcastJob, Job};
use crate::state::tenant::Tenant;
use crate::wire::problem::Problem;

/// The number of emails per step.
const STEP: usize = 1_000;
/// The number of emails that are created at a time within a step.
const SLICE: usize = 25;
/// The delay between two steps.
const PAUSE: SignedDuration = SignedDuration::from_millis(100);

/// Sends a draft, now or when it is due.
pub(crate) fn send(
    state: &State,
    tenant: &Arc<Tenant>,
    id: Uuid,
    due: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), Problem> {
    let due = due.filter(|due| *due > now);
    let sent = tenant.broadcasts.change(id, |broadcast| broadcast.send(due));
    sent.ok_or_else(|| Problem::not_found("Broadcast not found."))??;
    if let Some(due) = due {
        let work = Job::SendBroadcast { tenant: Arc::downgrade(tenant), broadcast: id };
        state.scheduler.schedule(due, work);
        return Ok(());
    }
    // The first step is part of the request.
    let mut rest = depart(state, tenant, id, now);
    while let Some(departure) = rest {
        rest = go_on(state, departure, now);
    }
    Ok(())
}

/// Sends a scheduled broadcast, unless it was canceled or rescheduled.
pub(crate) fn fall_due(
    state: &State,
    tenant: &Weak<Tenant>,
    id: Uuid,
    due: Timestamp,
) -> Option<BroadcastJob> {
    let tenant = tenant.upgrade()?;
    let is_due = tenant.broadcasts.change(id, |broadcast| broadcast.fall_due(due))?;
    is_due.then(|| depart(state, &tenant, id, due)).flatten()
}

fn depart(state: &State, tenant: &Arc<Tenant>, id: Uuid, at: Timestamp) -> Option<BroadcastJob> {
    let broadcast = tenant.broadcasts.get(id)?;
    let contacts = audience::members(tenant, broadcast.message.segment);
    go_on(state, BroadcastJob::new(tenant, id, contacts), at)
}

/// Sends the next emails, and returns the remainder of the same step.
pub(crate) fn go_on(state: &State, mut departure: BroadcastJob, at: Timestamp) -> Option<BroadcastJob> {
    let tenant = departure.tenant.upgrade()?;
    let broadcast = tenant.broadcasts.get(departure.broadcast)?;
    if broadcast.status != Status::Queued {
        return None;
    }
    let common = departure.common.get_or_insert_with(|| Arc::new(Common::of(broadcast)));
    let turn = departure.contacts.split_off(departure.contacts.len().saturating_sub(SLICE));
    leave(state, &tenant, common, &turn, at);
    if departure.contacts.is_empty() {
        tenant.broadcasts.change(departure.broadcast, |broadcast| broadcast.finish(at));
        return None;
    }
    departure.left += turn.len();
    if departure.left < STEP {
        return Some(departure);
    }
    departure.left = 0;
    state.scheduler.schedule(plus(at, PAUSE), Job::ContinueBroadcast(departure));
    None
}

fn leave(state: &State, tenant: &Arc<Tenant>, common: &Arc<Common>, turn: &[Uuid], at: Timestamp) {
    let letter = MessageBuilder::of(tenant, common);
    for contact in turn.iter().rev() {
        let Some(contact) = audience::addressee(tenant, *contact, common.topic()) else { continue };
        if let Some(draft) = letter.to(contact, state) {
            accept(state, tenant, draft, at);
        }
    }
}
