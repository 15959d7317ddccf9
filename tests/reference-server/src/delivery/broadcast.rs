//! A broadcast goes out: one mail for each contact of its segment.
//!
//! Who is in the segment is looked up when it leaves, and each contact is judged when its turn comes: one that has unsubscribed, or doesn't
//! want the topic, gets nothing. A mail of a broadcast is an email like any other: it is listed with the sent ones, and has their fates.
//!
//! A large segment takes its time. So many mails leave at once and as many a step later, on the service's clock, so that nobody waits for
//! a hundred thousand of them; until the last has left the broadcast is `queued`, and can be stopped.

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

/// How many mails leave in one step.
const STEP: usize = 1_000;
/// How many of a step are made at a time.
const SLICE: usize = 25;
/// How much later the next step is.
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
    // The first step is the request's own work.
    let mut rest = depart(state, tenant, id, now);
    while let Some(departure) = rest {
        rest = go_on(state, departure, now);
    }
    Ok(())
}

/// The schedule of a broadcast is due, unless it was taken back or changed.
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

/// Lets the next mails leave, and answers what else leaves in the same step.
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
