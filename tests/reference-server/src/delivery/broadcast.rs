//! Sends a broadcast: one email per contact of its segment.
//!
//! The members of the segment are determined when the broadcast starts, and each contact is checked when its email is sent: unsubscribed
//! contacts, and those that opted out of the topic, get none. The emails are listed like any other, with the same simulated outcomes.
//!
//! A large segment is sent in steps on the service's clock, so that no request waits for all emails. Until the last email is sent, the broadcast
//! is `queued` and can be canceled; deleting its topic or a required domain cancels it.

pub mod audience;
pub mod message;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use self::message::MessageBuilder;
use crate::clock::saturating_add;
use crate::delivery::{accept_as, check_sender};
use crate::model::broadcast::{Broadcast, Message, Status};
use crate::model::email::personalized::SharedContent;
use crate::state::job::{BroadcastTask, Task};
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::wire::Problem;

/// The number of emails per step.
const STEP_SIZE: usize = 1_000;
/// The number of emails created together within a step.
const BATCH_SIZE: usize = 25;
/// The delay between two steps.
const STEP_DELAY: SignedDuration = SignedDuration::from_millis(100);

/// Sends a draft, now or when it is due.
pub fn send(moment: Moment<'_>, id: Uuid, due: Option<Timestamp>) -> Result<(), Problem> {
    let Moment { tenant, at: now, .. } = moment;
    let due = due.filter(|due| *due > now);
    let sent = tenant.broadcasts.change(id, |broadcast| broadcast.send(due));
    sent.ok_or_else(|| Problem::not_found("Broadcast not found."))??;
    if let Some(due) = due {
        moment.schedule(due, Task::SendBroadcast { broadcast: id });
        return Ok(());
    }
    // The first step runs within the request.
    let mut remaining = start(moment, id);
    while let Some(task) = remaining {
        remaining = send_next(moment, task);
    }
    Ok(())
}

/// Rejects a message whose segment or topic was deleted: its emails would go to no one.
pub fn check_audience(tenant: &Tenant, message: &Message) -> Result<(), Problem> {
    let deleted = |noun, id| {
        Err(Problem::validation(format!("`{noun}_id` must be the id of a {noun}; {id} was deleted.")))
    };
    match message.topic {
        _ if tenant.segments.get(message.segment).is_none() => deleted("segment", message.segment),
        Some(topic) if tenant.topics.get(topic).is_none() => deleted("topic", topic),
        _ => Ok(()),
    }
}

/// Sends a scheduled broadcast, unless it was canceled or rescheduled, or its segment, its topic or a required domain was deleted.
pub fn send_scheduled(moment: Moment<'_>, id: Uuid) -> Option<BroadcastTask> {
    let Moment { state, tenant, at: due } = moment;
    let message = &tenant.broadcasts.get(id)?.message;
    let can_send =
        check_audience(tenant, message).and_then(|()| check_sender(state, tenant, &message.from)).is_ok();
    let is_due = tenant.broadcasts.change(id, |broadcast| broadcast.start_sending(due, can_send))?;
    is_due.then(|| start(moment, id)).flatten()
}

fn start(moment: Moment<'_>, id: Uuid) -> Option<BroadcastTask> {
    let broadcast = moment.tenant.broadcasts.get(id)?;
    let contacts = audience::members(moment.tenant, broadcast.message.segment);
    let task = BroadcastTask { broadcast: id, contacts, sent: 0, shared: None };
    send_next(moment, task)
}

/// Sends the next emails, and returns the remainder of the same step.
pub fn send_next(moment: Moment<'_>, mut task: BroadcastTask) -> Option<BroadcastTask> {
    let Moment { state, tenant, at } = moment;
    let broadcast = tenant.broadcasts.get(task.broadcast)?;
    if broadcast.status != Status::Queued {
        return None;
    }
    // Otherwise it would count as sent, although its remaining emails go to no one.
    let has_topic = broadcast.message.topic.is_none_or(|topic| tenant.topics.get(topic).is_some());
    if !has_topic || check_sender(state, tenant, &broadcast.message.from).is_err() {
        let _ = tenant.broadcasts.change(broadcast.id, Broadcast::cancel);
        return None;
    }
    let shared = task.shared.get_or_insert_with(|| Arc::new(SharedContent::new(broadcast)));
    let batch = task.contacts.split_off(task.contacts.len().saturating_sub(BATCH_SIZE));
    send_batch(moment, shared, &batch);
    if task.contacts.is_empty() {
        tenant.broadcasts.change(task.broadcast, |broadcast| broadcast.finish(at));
        return None;
    }
    task.sent += batch.len();
    if task.sent < STEP_SIZE {
        return Some(task);
    }
    task.sent = 0;
    moment.schedule(saturating_add(at, STEP_DELAY), Task::ContinueBroadcast(task));
    None
}

fn send_batch(moment: Moment<'_>, shared: &Arc<SharedContent>, batch: &[Uuid]) {
    let Moment { state, tenant, .. } = moment;
    let builder = MessageBuilder::new(tenant, shared);
    for contact in batch.iter().rev() {
        let Some(contact) = audience::eligible_contact(tenant, *contact, shared.topic()) else { continue };
        if let Some((id, draft)) = builder.build_for(contact, state) {
            accept_as(moment, id, draft);
        }
    }
}
