//! From an accepted email to what became of it.
//!
//! Accepted, an email leaves at once, or when its schedule is due, or when its hosted attachments have been fetched.
//! Leaving means: the mail is rendered as it would travel and kept in the inbox, and what its recipients' servers would
//! say (see [`fate`]) is noted on the agenda, in small steps of the service's clock.

pub(crate) mod bodies;
pub(crate) mod broadcast;
pub(crate) mod captured;
pub(crate) mod fate;
pub(crate) mod fetch;
pub(crate) mod mime;
pub(crate) mod outside;
pub(crate) mod placeholders;
pub(crate) mod text;
pub(crate) mod topics;
pub(crate) mod tracking;
pub(crate) mod unsubscribe;
pub(crate) mod webhooks;

use std::sync::{Arc, Weak};

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use self::captured::Mail;
use self::fetch::{Errand, FetchError, Fetched};
use self::tracking::Tracking;
use self::webhooks::book::Told;
use crate::clock::plus;
use crate::lock::lock;
use crate::news::What;
use crate::problem::Problem;
use crate::resources::automations::engine;
use crate::resources::domains;
use crate::resources::domains::record::{Domain, Tls};
use crate::resources::domains::verification::{self, Check};
use crate::resources::emails::attachments::{self, Content};
use crate::resources::emails::draft::Draft;
use crate::resources::emails::recipients::Mailbox;
use crate::resources::emails::record::{Email, Event};
use crate::service::Service;
use crate::state::Tenant;
use crate::store::size::Size;

/// Work on the agenda.
pub(crate) enum Work {
    /// A scheduled email is due.
    Depart { tenant: Weak<Tenant>, email: Weak<Email> },
    /// Something happens to an email that has left.
    Note { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// The pause after a failed attempt to tell a webhook something is over.
    TellWebhook { tenant: Weak<Tenant>, told: Weak<Told>, number: usize },
    /// A time that a run of an automation waited for has come.
    WakeRun { tenant: Weak<Tenant>, run: Uuid, number: u64 },
    /// An event of an email triggers automations and resumes runs that wait for it.
    MoveAutomations { tenant: Weak<Tenant>, email: Weak<Email>, event: Event },
    /// The check of a domain's DNS records ends.
    CheckDomain { tenant: Weak<Tenant>, domain: Uuid, number: u64 },
    /// A scheduled broadcast is due.
    SendBroadcast { tenant: Weak<Tenant>, broadcast: Uuid },
    /// The next mails of a broadcast leave.
    GoOnWithBroadcast(broadcast::Departure),
}

impl Work {
    /// Whether it still has anything to do at this time. Emails are forgotten, rescheduled and canceled, runs end, and their work stays behind.
    pub(crate) fn is_needed(due: Timestamp, work: &Self) -> bool {
        match work {
            Self::Depart { email, .. } => {
                email.upgrade().is_some_and(|email| email.waits() && email.scheduled_at() == Some(due))
            }
            Self::Note { email, .. } | Self::MoveAutomations { email, .. } => email.strong_count() > 0,
            Self::TellWebhook { told, .. } => told.strong_count() > 0,
            Self::WakeRun { tenant, run, .. } => {
                tenant.upgrade().and_then(|tenant| tenant.runs.get(*run)).is_some_and(|run| run.is_running())
            }
            Self::CheckDomain { tenant, .. } | Self::SendBroadcast { tenant, .. } => {
                tenant.strong_count() > 0
            }
            Self::GoOnWithBroadcast(_) => true,
        }
    }
}

/// Refuses a sender whose domain is not verified, if the service is strict.
pub(crate) fn check_sender(service: &Service, tenant: &Tenant, from: &Mailbox) -> Result<(), Problem> {
    if !service.settings().strict_domains || tenant.may_send_from(from.domain()) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "validation_error",
        format!("The domain {} is not verified. Add and verify it before sending from it.", from.domain()),
    ))
}

/// Refuses files that are hosted elsewhere, if the service fetches none.
pub(crate) fn check_hosted(service: &Service, draft: &Draft) -> Result<(), Problem> {
    let hosted = draft.attachments.iter().position(|one| matches!(one.content, Content::Hosted(_)));
    match hosted {
        Some(index) if !service.settings().fetch_attachments => Err(Problem::validation(format!(
            "`attachments[{index}].path` must be absent, since fetching is switched off (`--no-fetch`); send `content`."
        ))),
        _ => Ok(()),
    }
}

/// Takes an email in and starts it on its way.
pub(crate) fn accept(service: &Service, tenant: &Arc<Tenant>, draft: Draft, now: Timestamp) -> Uuid {
    let id = service.next_id();
    let due = draft.scheduled_at.filter(|due| *due > now);
    let email = Arc::new(Email::new(id, Box::new(draft), now));
    lock(&tenant.emails).insert(id, Arc::clone(&email));
    service.state().hold_mail(tenant, id, email.size());
    match due {
        Some(due) => {
            happen(service, tenant, &email, now, Event::Scheduled, None);
            schedule(service, tenant, &email, due);
        }
        None => depart(service, tenant, &email, now),
    }
    id
}

/// Notes when an email is to leave. A departure that was noted before for another time does nothing.
pub(crate) fn schedule(service: &Service, tenant: &Arc<Tenant>, email: &Arc<Email>, due: Timestamp) {
    let work = Work::Depart { tenant: Arc::downgrade(tenant), email: Arc::downgrade(email) };
    service.agenda().note(due, work);
}

/// Does a piece of work that was due at `due`; answers what is left of it, if it is more than is done at a time.
pub(crate) fn run(service: &Service, due: Timestamp, work: Work) -> Option<Work> {
    match work {
        Work::SendBroadcast { tenant, broadcast } => {
            return broadcast::fall_due(service, &tenant, broadcast, due).map(Work::GoOnWithBroadcast);
        }
        Work::GoOnWithBroadcast(departure) => {
            return broadcast::go_on(service, departure, due).map(Work::GoOnWithBroadcast);
        }
        Work::Depart { tenant, email } => {
            if let (Some(tenant), Some(email)) = (tenant.upgrade(), email.upgrade()) {
                depart(service, &tenant, &email, due);
            }
        }
        Work::Note { tenant, email, event } => {
            if let (Some(tenant), Some(email)) = (tenant.upgrade(), email.upgrade()) {
                happen(service, &tenant, &email, due, event, None);
            }
        }
        Work::TellWebhook { tenant, told, number } => webhooks::fall_due(service, &tenant, &told, number),
        Work::WakeRun { tenant, run, number } => {
            if let Some(tenant) = tenant.upgrade() {
                engine::wake(service, &tenant, run, number, due);
            }
        }
        Work::MoveAutomations { tenant, email, event } => {
            if let (Some(tenant), Some(email)) = (tenant.upgrade(), email.upgrade())
                && let Some(kind) = webhooks::payload::kind(event)
            {
                let payload = webhooks::payload::email(&email, event, None, due, &service.links().own());
                engine::email_event(service, &tenant, &email, kind, &Arc::new(payload), due);
            }
        }
        Work::CheckDomain { tenant: owner, domain, number } => {
            let tenant = owner.upgrade()?;
            let end = |domain: &mut Domain| verification::end(domain, number);
            let next = domains::changed_status(service, &tenant, domain, due, end).flatten();
            if let Some(Check { number, due_after }) = next {
                let work = Work::CheckDomain { tenant: owner, domain, number };
                service.agenda().note(plus(due, due_after), work);
            }
        }
    }
    None
}

/// Something happens to an email: it is noted, and told to whoever wants to know. `detail` is what is known of it, in the field that events of this
/// type have for it.
pub(crate) fn happen(
    service: &Service,
    tenant: &Arc<Tenant>,
    email: &Arc<Email>,
    at: Timestamp,
    event: Event,
    detail: Option<&Value>,
) {
    email.note(at, event);
    lock(&tenant.emails).touch(email.id);
    service.state().grow_mail(email.id, size_of::<(Timestamp, Event)>());
    service.news().tell(&tenant.name, What::EmailEvent { email: email.id, event: event.as_str() });
    if let Some(kind) = webhooks::payload::kind(event) {
        webhooks::tell(service, tenant, at, kind, Some(email.id), || {
            webhooks::payload::email(email, event, detail, at, &service.links().own())
        });
        // Later, so that a chain of automations is no deeper on the stack than one.
        if !tenant.runs.is_empty() || !tenant.automations.is_empty() {
            let (tenant, email) = (Arc::downgrade(tenant), Arc::downgrade(email));
            service.agenda().note(at, Work::MoveAutomations { tenant, email, event });
        }
    }
}

/// Lets an email leave, or sends for what it still lacks.
fn depart(service: &Service, tenant: &Arc<Tenant>, email: &Arc<Email>, at: Timestamp) {
    let Some(mut draft) = email.take_waiting(at) else { return };
    if !topics::judge(tenant, &mut draft) {
        // Nobody to send to is left: the request was answered with an id all the same (`SPEC.md`, Other API errors).
        fail(service, tenant, email, at, "recipients_opted_out");
        return;
    }
    let hosted = draft.attachments.iter().any(|one| matches!(one.content, Content::Hosted(_)));
    if hosted {
        happen(service, tenant, email, at, Event::Queued, None);
        let queued = if service.settings().fetch_attachments {
            service.fetches().push(Errand::new(tenant, email, draft))
        } else {
            // It was accepted by an earlier run, which did.
            Err("fetching_is_off")
        };
        if let Err(reason) = queued {
            fail(service, tenant, email, at, reason);
        }
        return;
    }
    leave(service, tenant, email, draft, at);
}

/// Takes up an email whose hosted attachments have been fetched, or could not be.
pub(crate) fn resume(service: &Service, errand: Errand, outcome: Result<Vec<Fetched>, FetchError>) {
    let now = service.clock().now();
    let Some((tenant, email, mut draft)) = errand.open() else { return };
    match outcome.and_then(|fetched| complete(&mut draft, fetched)) {
        Err(error) => fail(service, &tenant, &email, now, error.reason()),
        Ok(()) if attachments::check(&draft.attachments).is_err() => {
            fail(service, &tenant, &email, now, "attachment_too_complex");
        }
        Ok(()) => leave(service, &tenant, &email, draft, now),
    }
}

/// Puts the files in their places, if the email may have so much.
fn complete(draft: &mut Draft, fetched: Vec<Fetched>) -> Result<(), FetchError> {
    for one in fetched {
        if let Some(attachment) = draft.attachments.get_mut(one.index) {
            attachment.content = Content::Bytes(one.content);
        }
    }
    let size = attachments::encoded_size(&draft.attachments);
    if size > attachments::MOST { Err(FetchError::TooLarge) } else { Ok(()) }
}

/// Lets an email fail that can't leave. Its request was answered long ago; the failure shows in the email's events.
pub(crate) fn fail(service: &Service, tenant: &Arc<Tenant>, email: &Arc<Email>, at: Timestamp, reason: &str) {
    happen(service, tenant, email, at, Event::Failed, Some(&json!({ "reason": reason })));
    service.state().resize_mail(email.id, email.size());
}

fn leave(service: &Service, tenant: &Arc<Tenant>, email: &Arc<Email>, draft: Box<Draft>, at: Timestamp) {
    let domain = tenant.domain(draft.from.domain());
    let enforced = domain.as_ref().is_some_and(|domain| domain.setup.tls == Tls::Enforced);
    let course = fate::course(draft.recipients(), enforced);
    for (after, event) in course.events {
        if after.is_zero() {
            happen(service, tenant, email, at, event, None);
        } else {
            let (tenant, email) = (Arc::downgrade(tenant), Arc::downgrade(email));
            service.agenda().note(plus(at, after), Work::Note { tenant, email, event });
        }
    }
    if !course.leaves {
        service.state().resize_mail(email.id, email.size());
        return;
    }
    let tracking = domain.and_then(|domain| Tracking::of(&domain, service.links().own()));
    let id = service.next_id();
    let mail = Arc::new(Mail::new(id, email, draft, enforced, tracking, at));
    // Kept only as long as its email is remembered.
    let remembered = lock(&tenant.emails).contains(email.id);
    if remembered {
        email.set_captured(id);
        lock(&tenant.emails).touch(email.id);
        lock(&tenant.captured).insert(id, Arc::clone(&mail));
        service.state().resize_mail(email.id, email.size() + mail.held());
        service.news().tell(&tenant.name, What::Mail { id, email: email.id });
    }
    service.note_captured(mail);
}
