//! Adds events to an email's history and to the index that metrics are computed from.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::delivery::webhooks::payload;
use crate::model::email::engagement::{BounceType, EventDetail};
use crate::model::email::{Email, Event};
use crate::model::metric::Metric;
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;

/// Adds an event. `known` is the content of the event type's own field.
pub(super) fn event(moment: Moment<'_>, email: &Arc<Email>, event: Event, known: Option<&Value>) {
    let Moment { state, tenant, at } = moment;
    let text = |field| known.and_then(|known| known.get(field)).and_then(Value::as_str);
    let detail = match event {
        Event::Bounced => bounce_type(text("type")).map(EventDetail::Bounce),
        Event::Clicked if email.origin.broadcast.is_some() => Some(EventDetail::Click(match text("link") {
            Some(link) => link.to_owned(),
            None => payload::clicked_link(email, &state.links.prefix()),
        })),
        _ => None,
    };
    let grown = email.add_event(at, event, detail);
    tenant.index_email(email, at, grown.and_then(|_| event.metric()));
    if let Some(bytes @ 1..) = grown {
        state.tenants.grow_mail(email.id, bytes);
    }
}

/// Records that the recipient used the unsubscribe link. Repeating it has no further effect.
pub(super) fn record_unsubscription(tenant: &Tenant, email: &Email, at: Timestamp) {
    if email.unsubscribe(at) {
        tenant.index_email(email, at, Some(Metric::Unsubscribed));
    }
}

/// The type of a bounce that isn't permanent.
fn bounce_type(text: Option<&str>) -> Option<BounceType> {
    let (_, found) = BounceType::WORDS
        .iter()
        .find(|(word, _)| text.is_some_and(|text| text.eq_ignore_ascii_case(word)))?;
    Some(*found)
}
