//! `GET /broadcasts/{id}/recipients`: the recipients of a broadcast by event.
//!
//! The specification doesn't define it; parameters and shapes are Resend's, where items have an opaque cursor as their
//! `id`. Recipients are listed newest first, each once, as long as the sandbox keeps their emails. A contact that was deleted, or whose
//! address has changed, is `null`.

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::context::Context;
use crate::lock::lock;
use crate::model::email::engagement::BounceType;
use crate::model::email::index::EmailIndex;
use crate::model::email::{Email, Event};
use crate::model::metric::Metric;
use crate::state::tenant::Tenant;
use crate::store::ledger::{Ledger, Ordered};
use crate::wire::{HandlerResult, IdForm, Mode, Problem, list, query};

/// The events that recipients can be selected by.
const TYPES: [Metric; 8] = [
    Metric::Sent,
    Metric::Delivered,
    Metric::Opened,
    Metric::Clicked,
    Metric::Bounced,
    Metric::Complained,
    Metric::Unsubscribed,
    Metric::Suppressed,
];

/// `GET /broadcasts/{id}/recipients`, mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let broadcast = context.find(&context.tenant.broadcasts)?.id;
    let filter = Filter::read(context)?;
    let window = context.window_of(Mode::A, IdForm::Opaque)?;
    let tenant = &context.tenant;
    let page = {
        let (emails, index) = (lock(&tenant.emails), lock(&tenant.email_index));
        let recipients = Recipients { emails: &emails, index: &index, broadcast, happened: filter.happened };
        window.check_cursor(|id| recipients.contains(id))?;
        if filter.is_plain() { Ok(window.show(&recipients)?) } else { Err(window.walk(&recipients)?) }
    };
    // A search runs without the locks.
    let page = page.unwrap_or_else(|walk| walk.page_where(|email| filter.matches(email)));
    Ok(list(&page.map(|email| filter.item(tenant, &email))))
}

/// Selects recipients.
struct Filter {
    happened: Metric,
    /// A part of the address, in lower case.
    address: Option<String>,
    bounce: Option<BounceType>,
}

impl Filter {
    fn read(context: &Context<'_>) -> Result<Self, Problem> {
        let Some(word) = context.query("type") else {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Problem::new(status, "missing_required_parameter", "`type` is required."));
        };
        let happened = query::parse_word("type", &word, &TYPES.map(|metric| (metric.as_str(), metric)))?;
        if context.query("bounce_type").is_some() && happened != Metric::Bounced {
            let found = happened.as_str();
            return Err(Problem::validation(format!(
                "`bounce_type` can only be used with the type `bounced`; found the type `{found}`."
            )));
        }
        let bounce = context.one_of("bounce_type", BounceType::WORDS)?;
        Ok(Self { happened, address: context.query("email").map(|part| part.to_lowercase()), bounce })
    }

    fn is_plain(&self) -> bool {
        self.address.is_none() && self.bounce.is_none()
    }

    fn matches(&self, email: &Email) -> bool {
        self.address.as_ref().is_none_or(|part| address(email).to_lowercase().contains(part))
            && self.bounce.is_none_or(|wanted| email.bounce() == Some(wanted))
    }

    fn item(&self, tenant: &Tenant, email: &Email) -> Recipient {
        let address = address(email);
        let event = match self.happened {
            Metric::Opened => Some(Event::Opened),
            Metric::Clicked => Some(Event::Clicked),
            _ => None,
        };
        let clicks = (self.happened == Metric::Clicked).then(|| {
            let mut links: Vec<_> = email.engagement().clicks;
            links.sort_by(|(url, clicks), (other, fewer)| fewer.cmp(clicks).then_with(|| url.cmp(other)));
            links.into_iter().map(|(url, clicks)| json!({ "url": url, "clicks": clicks })).collect()
        });
        Recipient {
            id: IdForm::Opaque.format(email.id),
            contact_id: tenant.contacts.find_by_key(address).map(|contact| contact.id),
            email: address.to_owned(),
            count: event.map(|event| email.event_count(event)),
            bounce_type: (self.happened == Metric::Bounced)
                .then(|| email.bounce().map(BounceType::as_str).into()),
            clicked_links: clicks,
        }
    }
}

/// The address of the contact: emails of broadcasts have one recipient.
fn address(email: &Email) -> &str {
    email.to.first().map_or("", |one| one)
}

/// The emails of a broadcast with an event.
struct Recipients<'a> {
    emails: &'a Ledger<Arc<Email>>,
    index: &'a EmailIndex,
    broadcast: Uuid,
    happened: Metric,
}

impl Recipients<'_> {
    /// Whether an email belongs to the broadcast, for cursors.
    fn contains(&self, id: Uuid) -> bool {
        self.emails.get(id).is_some_and(|email| email.origin.broadcast == Some(self.broadcast))
    }
}

impl Ordered for Recipients<'_> {
    type Item = Arc<Email>;

    fn position(&self, id: Uuid) -> Option<u64> {
        self.emails.position(id)
    }

    fn newest_first_of(&self, range: std::ops::Range<u64>) -> impl Iterator<Item = &Arc<Email>> {
        self.emails.get_many(self.index.recipients(self.broadcast, self.happened, range).rev())
    }

    fn oldest_first_of(&self, range: std::ops::Range<u64>) -> impl Iterator<Item = &Arc<Email>> {
        self.emails.get_many(self.index.recipients(self.broadcast, self.happened, range))
    }
}

#[derive(Serialize)]
struct Recipient {
    id: String,
    contact_id: Option<Uuid>,
    email: String,
    /// Only for opens and clicks.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    /// Only for bounces.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounce_type: Option<Value>,
    /// Only for clicks.
    #[serde(skip_serializing_if = "Option::is_none")]
    clicked_links: Option<Vec<Value>>,
}
