//! Advances runs: when events are sent, and when delays end.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::model::automation::definition::{Action, BranchKind, EventName};
use crate::model::automation::rule::Facts;
use crate::model::automation::run::{CONTACT_DELETED, Outcome, Run, Transition};
use crate::model::automation::{Automation, Group};
use crate::model::email::Email;
use crate::model::email::recipients::Mailbox;
use crate::model::usage::UsageKind;
use crate::resources::automations::{run, step};
use crate::state::job::Task;
use crate::state::moment::Moment;
use crate::state::quota;
use crate::state::tenant::Tenant;
use crate::store::size;
use crate::wire::Problem;

/// An event that concerns a contact.
pub struct Occurrence<'a> {
    pub name: EventName<'a>,
    /// Whether it triggers runs.
    pub triggers: bool,
    pub contact: Uuid,
    pub payload: Arc<Value>,
}

/// Resumes the runs that wait for an event, then starts those that it triggers. A run doesn't also consume its triggering event.
pub fn handle_event(moment: Moment<'_>, event: &Occurrence<'_>) -> Result<(), Problem> {
    let Moment { state, tenant, at: now } = moment;
    let contact = step::contact_facts(tenant, event.contact);
    let waits =
        |name: Cow<'_, str>| tenant.runs.members(&run::Group::WaitsFor(event.contact, name.into_owned()));
    // Collected first: a run that the event resumes may wait for its other name next.
    for run in event.name.names().flat_map(waits).collect::<Vec<_>>() {
        let fits = |run: &Run, action: &Action| match action {
            Action::WaitForEvent { filter: Some(rule), .. } => rule.matches(&Facts {
                event: &event.payload,
                contact: &contact,
                awaited: run.awaited_events(),
            }),
            _ => true,
        };
        let woken = tenant.runs.change(run.id, |run| run.woken_by_event(event.name, fits)).flatten();
        if let Some(index) = woken {
            let output = json!({ "event": event.name.as_str(), "payload": *event.payload });
            let outcome = match tenant.runs.check_growth(size::heap(&output)) {
                Ok(()) => Outcome::Done(BranchKind::EventReceived, Some(output)),
                Err(problem) => Outcome::Failed(problem.message),
            };
            advance(moment, run.id, index, outcome);
        }
    }
    if !event.triggers {
        return Ok(());
    }
    let automations = triggered(tenant, event.name);
    check_room(tenant, automations.len())?;
    for automation in &automations {
        let Some(trigger) = automation.definition.trigger(event.name) else { continue };
        let id = state.next_id();
        let mut run = Run::new(id, automation, event.contact, Arc::clone(&event.payload), now);
        run.begin(trigger, now);
        add(tenant, id, run)?;
        if !tenant.automations.get(automation.id).is_some_and(|automation| automation.enabled) {
            // It was stopped or deleted meanwhile, with the runs that existed then.
            tenant.runs.remove(id);
            continue;
        }
        quota::count(tenant, UsageKind::AutomationRun, now);
        let output = json!({ "event": event.name.as_str() });
        advance(moment, id, trigger, Outcome::Done(BranchKind::Default, Some(output)));
    }
    Ok(())
}

/// The enabled automations that an event triggers, oldest first, in the order of their creation.
pub fn triggered(tenant: &Tenant, event: EventName<'_>) -> Vec<Arc<Automation>> {
    let members = |name: Cow<'_, str>| tenant.automations.members(&Group::Trigger(name.into_owned()));
    let mut automations: Vec<_> = event.names().flat_map(members).collect();
    automations.reverse();
    automations.sort_by_key(|automation| automation.created_at);
    let mut seen = HashSet::new();
    automations.retain(|automation| seen.insert(automation.id));
    automations
}

/// Handles an event of an email for the contacts among its recipients. If an automation sent the email, the event resumes waiting runs but starts none:
/// an automation triggered by its own email would never end.
pub fn email_event(moment: Moment<'_>, email: &Email, kind: &str, payload: &Arc<Value>) {
    let mut notified = HashSet::new();
    for address in &email.to {
        let contact =
            Mailbox::parse(address).ok().and_then(|one| moment.tenant.contacts.find_by_key(&one.address));
        let Some(contact) = contact.filter(|contact| notified.insert(contact.id)) else { continue };
        let event = Occurrence {
            name: EventName::Service(kind),
            triggers: !email.origin.automation,
            contact: contact.id,
            payload: Arc::clone(payload),
        };
        // At the limit, no run starts; there is no request whose response could report an error.
        let _ = handle_event(moment, &event);
    }
}

/// Rejects an event that would start more runs than the limit allows; ended ones make room.
pub fn check_room(tenant: &Tenant, starting: usize) -> Result<(), Problem> {
    let room = tenant.runs.room();
    if room < starting && room + tenant.runs.lock().count_of(&run::Group::Ended) < starting {
        return Err(tenant.runs.too_many());
    }
    Ok(())
}

/// Adds a run. At the limit, the oldest ended one is evicted: runs can't be deleted individually.
fn add(tenant: &Tenant, id: Uuid, run: Run) -> Result<(), Problem> {
    if tenant.runs.room() == 0
        && let Some(ended) = tenant.runs.oldest(&run::Group::Ended)
    {
        tenant.runs.remove(ended.id);
    }
    tenant.runs.add(id, run)
}

/// Resumes a run whose delay has ended.
pub fn resume(moment: Moment<'_>, run: Uuid, number: u64) {
    let woken = moment.tenant.runs.change(run, |run| {
        let index = run.woken_by_time(number)?;
        let timeout = matches!(run.definition.steps.get(index)?.action, Action::WaitForEvent { .. });
        Some((index, if timeout { BranchKind::Timeout } else { BranchKind::Default }))
    });
    if let Some((index, branch)) = woken.flatten() {
        advance(moment, run, index, Outcome::Done(branch, None));
    }
}

/// Settles a step and executes the following ones until the run waits or has ended. Connections form no cycle, so this terminates.
fn advance(moment: Moment<'_>, id: Uuid, mut index: usize, mut outcome: Outcome) {
    let Moment { tenant, at, .. } = moment;
    loop {
        let moved = tenant.runs.change(id, |run| match run.record_outcome(index, outcome, at) {
            Transition::To(next) if run.begin(next, at) => (Transition::To(next), Some(run.clone())),
            moved => (moved, None),
        });
        match moved {
            Some((Transition::To(next), Some(run))) => {
                index = next;
                outcome = execute(moment, &run, next);
            }
            Some((Transition::Pause { until, number }, _)) => {
                // A contact that was deleted before the run waited: its deletion didn't end this wait.
                if tenant.runs.get(id).is_some_and(|run| tenant.contacts.get(run.contact).is_none()) {
                    tenant.runs.change(id, |run| run.fail_wait(CONTACT_DELETED, at));
                }
                if let Some(until) = until {
                    moment.schedule(until, Task::ResumeRun { run: id, number });
                }
                return;
            }
            _ => return,
        }
    }
}

/// Executes a step. The table of runs isn't locked during this.
fn execute(moment: Moment<'_>, run: &Run, index: usize) -> Outcome {
    let Moment { tenant, at, .. } = moment;
    let Some(step) = run.definition.steps.get(index) else {
        return Outcome::Failed("The step does not exist.".into());
    };
    let contact = step::contact_facts(tenant, run.contact);
    let facts = Facts { event: &run.event, contact: &contact, awaited: run.awaited_events() };
    let done = match &step.action {
        // No connection leads to a trigger.
        Action::Trigger { .. } => Ok(None),
        Action::Delay(duration) => return Outcome::Waits(Some(saturating_add(at, *duration))),
        Action::WaitForEvent { timeout, .. } => {
            return Outcome::Waits(timeout.map(|timeout| saturating_add(at, timeout)));
        }
        Action::Condition(rule) => {
            let met = rule.matches(&facts);
            let branch = if met { BranchKind::ConditionMet } else { BranchKind::ConditionNotMet };
            return Outcome::Done(branch, Some(json!({ "condition_met": met })));
        }
        Action::SendEmail(email) => step::send_email(moment, run.contact, email, &facts),
        Action::ContactUpdate(parts) => step::update_contact(moment, run.contact, parts, &facts),
        Action::ContactDelete => step::delete_contact(moment, run.contact),
        Action::AddToSegment(segment) => step::add_to_segment(moment, run.contact, *segment),
    };
    match done {
        Ok(output) => Outcome::Done(BranchKind::Default, output),
        Err(message) => Outcome::Failed(message),
    }
}
