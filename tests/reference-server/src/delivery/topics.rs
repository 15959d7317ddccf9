//! Who gets an email that was sent under a topic (`SPEC.md`, POST /emails, `topic_id`).
//!
//! Each address of to, cc and bcc is judged alone; refused ones are dropped, and the email is `failed` only if none remains in `to`.
//! The specification is silent on a contact that has made no choice, for whom the topic's default holds as for everybody else, and on one that is
//! `unsubscribed`, which is about broadcasts.

use uuid::Uuid;

use crate::model::contact::{Contact, Subscription};
use crate::model::email::draft::Draft;
use crate::state::tenant::Tenant;

/// Whether this address gets what is sent under the topic. A topic that is gone is wanted by nobody.
pub(crate) fn allows(tenant: &Tenant, topic: Uuid, address: &str) -> bool {
    allows_contact(tenant, topic, tenant.contacts.by_key(address).as_deref())
}

/// The same for a contact that is known, or for somebody who is none.
pub(crate) fn allows_contact(tenant: &Tenant, topic: Uuid, contact: Option<&Contact>) -> bool {
    let Some(topic) = tenant.topics.get(topic) else { return false };
    let choice = contact.and_then(|contact| contact.topics.get(&topic.id).copied());
    choice.unwrap_or(topic.default_subscription) == Subscription::OptIn
}

/// Drops who doesn't get it; whether anybody is left in `to`.
pub(crate) fn judge(tenant: &Tenant, draft: &mut Draft) -> bool {
    let Some(topic) = draft.topic else { return true };
    draft.to.retain(|one| allows(tenant, topic, &one.address));
    for copies in [&mut draft.cc, &mut draft.bcc] {
        if let Some(list) = copies {
            list.retain(|one| allows(tenant, topic, &one.address));
        }
        if copies.as_ref().is_some_and(Vec::is_empty) {
            *copies = None;
        }
    }
    !draft.to.is_empty()
}
