//! The unsubscribe link of a contact.
//!
//! It contains the tenant, the contact and the topic, and is signed, so that it can't be forged. It doesn't contain the tenant's API key,
//! which recipients must not see.

use std::sync::Arc;

use uuid::Uuid;

use crate::delivery::contacts::ContactService;
use crate::delivery::recorded;
use crate::lock::lock;
use crate::model::contact::Subscription;
use crate::state::State;
use crate::state::links::TagPurpose;
use crate::state::tenant::Tenant;

/// The value of the header `List-Unsubscribe-Post`, and the body that mail clients post (RFC 8058).
pub(crate) const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
/// The path of the links.
pub(crate) const PATH: &str = "/_/unsubscribe/";
const PURPOSE: &str = "unsubscribe";

/// An unsubscribe request, decoded from a link.
pub(crate) struct UnsubscribeRequest {
    tenant: Arc<Tenant>,
    contact: Uuid,
    /// `None`: all broadcasts.
    topic: Option<Uuid>,
    /// The email with the link; links of earlier versions don't have it.
    email: Option<Uuid>,
}

/// Creates the link of an email to one contact: for the topic, or without one for all broadcasts.
pub(crate) fn link(
    state: &State,
    tenant: &Tenant,
    email: Uuid,
    contact: Uuid,
    topic: Option<Uuid>,
) -> String {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(state.links.tag(TagPurpose::UnsubscribeLink, &tenant.name));
    bytes.extend(contact.into_bytes());
    bytes.extend(topic.unwrap_or_default().into_bytes());
    bytes.extend(email.into_bytes());
    let links = &state.links;
    format!("{}{PATH}{}", links.address(), links.seal(PURPOSE, &bytes))
}

/// Decodes a link. Returns `None` if its signature is invalid or the tenant no longer exists.
pub(crate) fn open(state: &State, token: &str) -> Option<UnsubscribeRequest> {
    let bytes = state.links.open(PURPOSE, token)?;
    let (tenant, rest) = bytes.split_at_checked(16)?;
    let (contact, rest) = rest.split_at_checked(16)?;
    let (topic, email) = rest.split_at_checked(16)?;
    let tenant = state.tenants.by_tag(TagPurpose::UnsubscribeLink, tenant.try_into().ok()?)?;
    let contact = Uuid::from_slice(contact).ok()?;
    let topic = Uuid::from_slice(topic).ok().filter(|topic| !topic.is_nil());
    Some(UnsubscribeRequest { tenant, contact, topic, email: Uuid::from_slice(email).ok() })
}

impl UnsubscribeRequest {
    /// The contact's address; `None` if the contact was deleted.
    pub(crate) fn address(&self) -> Option<String> {
        Some(self.tenant.contacts.get(self.contact)?.email.clone())
    }

    /// The topic's name, if the link concerns one topic.
    pub(crate) fn topic(&self) -> Option<String> {
        Some(self.tenant.topics.get(self.topic?)?.name.clone())
    }

    /// Unsubscribes. Repeating it has no further effect.
    pub(crate) fn apply(&self, state: &State) {
        let at = state.clock.now();
        let contacts = ContactService { state, tenant: &self.tenant, at };
        let changed = contacts.change(self.contact, |contact| match self.topic {
            Some(topic) => contact.topics.insert(topic, Subscription::OptOut) != Some(Subscription::OptOut),
            None => !std::mem::replace(&mut contact.unsubscribed, true),
        });
        let email = self.email.and_then(|id| lock(&self.tenant.emails).get(id).cloned());
        if let (Some(Ok(true)), Some(email)) = (changed, email) {
            recorded::unsubscription(&self.tenant, &email, at);
        }
    }
}
