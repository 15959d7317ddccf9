//! The recipients of a broadcast, by segment, topic and contact properties.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::delivery::topics::allows_contact;
use crate::model::contact::{Contact, Group};
use crate::state::tenant::Tenant;

/// The current contacts of a segment, newest first.
pub(super) fn members(tenant: &Tenant, segment: Uuid) -> Vec<Uuid> {
    tenant.contacts.members(&Group::Member(segment)).iter().map(|contact| contact.id).collect()
}

/// The contact, if it may receive the email: it exists, is subscribed, and the topic allows it.
pub(super) fn eligible_contact(tenant: &Tenant, contact: Uuid, topic: Option<Uuid>) -> Option<Arc<Contact>> {
    let contact = tenant.contacts.get(contact).filter(|contact| !contact.unsubscribed)?;
    topic.is_none_or(|topic| allows_contact(tenant, topic, Some(&contact))).then_some(contact)
}

/// The fallback value of a contact property.
pub fn fallback(tenant: &Tenant, key: &str) -> Option<String> {
    tenant.contact_properties.find_by_key(key)?.fallback_value.as_ref().map(ToString::to_string)
}

/// The fallback values of all contact properties.
pub fn fallbacks(tenant: &Tenant) -> HashMap<String, String> {
    let properties = tenant.contact_properties.all();
    let fallbacks =
        properties.iter().filter_map(|one| Some((one.key.clone(), one.fallback_value.as_ref()?.to_string())));
    fallbacks.collect()
}
