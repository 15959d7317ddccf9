//! Delivery of accepted emails.
//!
//! An accepted email is sent immediately, when its schedule is due, or when its hosted attachments have been fetched. Sending means: the message
//! is rendered as it would be transmitted and captured in the inbox, and the simulated outcome of each recipient is scheduled in small steps of
//! the service's clock.

pub mod broadcast;
pub mod contacts;
pub mod imports;
pub mod inboxes;
pub mod recorded;
pub mod relay;
pub mod suppressions;
pub mod topics;
pub mod unsubscribe;
pub mod webhooks;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::lock::lock;
use crate::model::domain::Tls;
use crate::model::email::attachments::{self, Content};
use crate::model::email::draft::Draft;
use crate::model::email::recipients::Mailbox;
use crate::model::email::{Email, Event};
use crate::model::mail::tracking::Tracking;
use crate::model::mail::{Mail, simulation};
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::fetches::{FetchError, FetchJob, Fetched};
use crate::state::job::Task;
use crate::state::mails;
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::wire::Problem;

/// Rejects a sender whose domain isn't verified, if the service is strict.
pub fn check_sender(state: &State, tenant: &Tenant, from: &Mailbox) -> Result<(), Problem> {
    if !state.settings.strict_domains || tenant.can_send_from(from.domain()) {
        return Ok(());
    }
    Err(Problem::forbidden(format!(
        "The domain {} is not verified for sending: add and verify it, or enable its capability `sending`.",
        from.domain()
    )))
}

/// Rejects hosted attachments if fetching is off.
pub fn check_hosted(state: &State, draft: &Draft) -> Result<(), Problem> {
    let hosted = draft.attachments.iter().position(|one| one.content.url().is_some());
    match hosted {
        Some(index) if !state.settings.fetch_attachments => Err(Problem::validation(format!(
            "`attachments[{index}].path` must be absent, since fetching is disabled (`--no-fetch`); send `content`."
        ))),
        _ => Ok(()),
    }
}

/// Accepts an email and starts its delivery.
pub fn accept(moment: Moment<'_>, draft: Draft) -> Uuid {
    let id = draft.id.unwrap_or_else(|| moment.state.next_id());
    accept_as(moment, id, draft);
    id
}

/// Accepts an email whose content refers to its ID.
fn accept_as(moment: Moment<'_>, id: Uuid, draft: Draft) {
    let Moment { state, tenant, at: now } = moment;
    let due = draft.scheduled_at.filter(|due| *due > now);
    let email = Arc::new(Email::new(id, Box::new(draft), now));
    tenant.add_email(&email);
    state.tenants.count_mail(tenant, id, email.size());
    match due {
        Some(due) => {
            record_event(moment, &email, Event::Scheduled, None);
            schedule(moment, &email, due);
        }
        None => dispatch(moment, &email),
    }
}

/// Schedules the sending of an email. An earlier job for another time has no effect.
pub fn schedule(moment: Moment<'_>, email: &Email, due: Timestamp) {
    moment.schedule(due, Task::SendEmail { email: email.id });
}

/// Records an event of an email, and notifies webhooks and automations. `detail` is the content of the event type's own field.
pub fn record_event(moment: Moment<'_>, email: &Arc<Email>, event: Event, detail: Option<&Value>) {
    let Moment { state, tenant, at } = moment;
    recorded::event(moment, email, event, detail);
    state
        .event_bus
        .publish(&tenant.name, BusEventKind::EmailEvent { email: email.id, event: event.as_str() });
    if let Some(kind) = webhooks::payload::kind(event) {
        webhooks::notify(moment, kind, Some(email.id), || {
            webhooks::payload::email(email, event, detail, at, &state.links.prefix())
        });
        suppressions::suppress_recipients(moment, email, event, detail);
        // As a job, so that a chain of automations doesn't recurse.
        if !tenant.runs.is_empty() || !tenant.automations.is_empty() {
            let task = Task::NotifyAutomations { email: email.id, event, detail: detail.cloned() };
            moment.schedule(at, task);
        }
    }
}

/// Sends an email, or first fetches its hosted attachments.
pub fn dispatch(moment: Moment<'_>, email: &Arc<Email>) {
    let Moment { state, tenant, at } = moment;
    let Some(mut draft) = email.take_waiting(at) else { return };
    if check_sender(state, tenant, &draft.from).is_err() {
        // Its domain was deleted, or moved to another account, after the email was scheduled.
        fail_email(moment, email, "domain_not_verified");
        return;
    }
    if !topics::drop_opted_out(tenant, &mut draft) {
        // No recipient remains: the request was answered with an ID anyway (`docs/specification.md`, Other API errors).
        fail_email(moment, email, "recipients_opted_out");
        return;
    }
    if let Some(origin) = suppressions::drop_listed(tenant, &mut draft) {
        record_event(moment, email, Event::Suppressed, Some(&suppressions::detail(origin)));
        if draft.to.is_empty() {
            state.tenants.resize_mail(email.id, email.size());
            return;
        }
    }
    let hosted = draft.attachments.iter().any(|one| one.content.url().is_some());
    if hosted {
        record_event(moment, email, Event::Queued, None);
        let queued = if state.settings.fetch_attachments {
            state.fetches.push(FetchJob::new(tenant, email, draft))
        } else {
            // It was accepted by an earlier run with fetching enabled.
            Err("fetching_is_off")
        };
        if let Err(reason) = queued {
            fail_email(moment, email, reason);
        }
        return;
    }
    deliver(moment, email, draft);
}

/// Continues with an email after its hosted attachments were fetched, or fetching failed.
pub fn resume(state: &State, job: FetchJob, outcome: Result<Vec<Fetched>, FetchError>) {
    let Some((tenant, email, mut draft)) = job.open() else { return };
    let moment = Moment { state, tenant: &tenant, at: tenant.clock.now() };
    match outcome.and_then(|fetched| complete(&mut draft, fetched)) {
        Err(error) => fail_email(moment, &email, error.reason()),
        Ok(()) if attachments::check(&draft.attachments).is_err() => {
            fail_email(moment, &email, "attachment_too_complex");
        }
        Ok(()) => {
            state.tenants.resize_mail(email.id, email.size() + draft.size());
            deliver(moment, &email, draft);
        }
    }
}

/// Adds the fetched files, if they fit into the email's limit.
fn complete(draft: &mut Draft, fetched: Vec<Fetched>) -> Result<(), FetchError> {
    for one in fetched {
        if let Some(attachment) = draft.attachments.get_mut(one.index) {
            attachment.content = Content::Bytes(one.content);
        }
    }
    let size = attachments::encoded_size(&draft.attachments);
    if size > attachments::MAX_BASE64 { Err(FetchError::TooLarge) } else { Ok(()) }
}

/// Records an event on request. An open, click or complaint implies the delivery, which is recorded first if it is still pending.
pub fn record_requested(moment: Moment<'_>, email: &Arc<Email>, event: Event, detail: Option<&Value>) {
    let is_pending = matches!(email.last_event(), Event::Sent | Event::DeliveryDelayed);
    if is_pending && matches!(event, Event::Opened | Event::Clicked | Event::Complained) {
        record_event(moment, email, Event::Delivered, None);
    }
    record_event(moment, email, event, detail);
}

/// Records the next event of an email's simulated outcome, unless the delivery was already recorded on request, or a failure was.
pub fn continue_outcome(moment: Moment<'_>, email: &Arc<Email>, event: Event) {
    let last = email.last_event();
    let mailboxes = || email.recipients().filter_map(|text| Mailbox::parse(text).ok());
    let simulates = |event| mailboxes().any(|mailbox| simulation::has_event(&mailbox, event));
    let has_failed = matches!(last, Event::Bounced | Event::Failed | Event::Suppressed) && !simulates(last);
    // A delayed recipient is delivered to after the others.
    let is_repeated =
        event == Event::Delivered && email.has_event(Event::Delivered) && !simulates(Event::DeliveryDelayed);
    if !has_failed && !is_repeated {
        record_event(moment, email, event, None);
    }
}

/// Fails an email that can't be sent. Its request was answered earlier; the failure shows in the email's events.
pub fn fail_email(moment: Moment<'_>, email: &Arc<Email>, reason: &str) {
    email.set_failure(reason);
    record_event(moment, email, Event::Failed, Some(&json!({ "reason": reason })));
    moment.state.tenants.resize_mail(email.id, email.size());
}

fn deliver(moment: Moment<'_>, email: &Arc<Email>, draft: Box<Draft>) {
    let Moment { state, tenant, at } = moment;
    let domain = tenant.domain(draft.from.domain());
    let enforced = domain.as_ref().is_some_and(|domain| domain.setup.tls == Tls::Enforced);
    let outcome = simulation::outcome(draft.recipients(), enforced);
    for (after, event) in outcome.events {
        if after.is_zero() {
            if event == Event::Failed {
                email.set_failure(webhooks::payload::RECIPIENT_REFUSED);
            }
            record_event(moment, email, event, None);
        } else {
            let task = Task::RecordEvent { email: email.id, event };
            moment.schedule(saturating_add(at, after), task);
        }
    }
    if !outcome.is_sent {
        state.tenants.resize_mail(email.id, email.size());
        return;
    }
    let tracking = domain.and_then(|domain| Tracking::for_domain(&domain, state.links.prefix()));
    let id = state.next_id();
    let mail = Arc::new(Mail::new(id, email, draft, enforced, tracking, at));
    // Captured emails are kept as long as the email.
    let remembered = lock(&tenant.emails).contains(email.id);
    if remembered {
        email.set_captured(id);
        lock(&tenant.emails).mark_changed(email.id);
        lock(&tenant.captured).insert(id, Arc::clone(&mail));
        mails::schedule_expiry(state, tenant, at);
        // The draft, which is now the mail's, counted while it waited.
        state.tenants.grow_mail(email.id, size_of::<Mail>());
        state.event_bus.publish(&tenant.name, BusEventKind::Mail { id, email: email.id });
        state.arrivals.publish(&tenant.name);
    }
    state.queue_captured(mail);
}
