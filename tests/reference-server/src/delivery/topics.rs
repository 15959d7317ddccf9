//! The recipients of an email with a topic (`docs/specification.md`, POST /emails, `topic_id`).
//!
//! Each address of to, cc and bcc is checked separately. Those that opted out are dropped, and the email fails only if none remains in
//! `to`. The specification doesn't define contacts without a choice, for which the topic's default applies as for unknown addresses, and
//! ignores `unsubscribed`, which concerns broadcasts.

use uuid::Uuid;

use crate::model::contact::{Contact, Subscription};
use crate::model::email::draft::Draft;
use crate::state::tenant::Tenant;

/// Whether this address receives emails of the topic. A deleted topic allows none.
pub fn is_subscribed(tenant: &Tenant, topic: Uuid, address: &str) -> bool {
    allows_contact(tenant, topic, tenant.contacts.find_by_key(address).as_deref())
}

/// Like [`is_subscribed`], for a known contact or an address without one.
pub fn allows_contact(tenant: &Tenant, topic: Uuid, contact: Option<&Contact>) -> bool {
    let Some(topic) = tenant.topics.get(topic) else { return false };
    let choice = contact.and_then(|contact| contact.topics.get(&topic.id).copied());
    choice.unwrap_or(topic.default_subscription) == Subscription::OptIn
}

/// Drops the recipients that opted out. Returns whether any remain in `to`.
pub fn drop_opted_out(tenant: &Tenant, draft: &mut Draft) -> bool {
    let Some(topic) = draft.topic else { return true };
    draft.retain_recipients(|one| is_subscribed(tenant, topic, &one.address));
    !draft.to.is_empty()
}
