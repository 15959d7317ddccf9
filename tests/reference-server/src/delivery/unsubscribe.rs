//! The link with which a contact unsubscribes.
//!
//! It names the tenant, the contact and the topic, and is signed, so that nobody can write one for somebody else. It does not hold the
//! tenant's key: whoever gets the mail must not get that.

use std::sync::Arc;

use uuid::Uuid;

use crate::delivery::contacts::ContactService;
use crate::model::contact::Subscription;
use crate::state::State;
use crate::state::tenant::Tenant;

/// The value of the header `List-Unsubscribe-Post`, and the body that mail programs post (RFC 8058).
pub(crate) const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
/// Where the links lead.
pub(crate) const PATH: &str = "/_/unsubscribe/";
const PURPOSE: &str = "unsubscribe";
const TENANT: &str = "tenant of an unsubscribe link";

/// Who unsubscribes, and from what.
pub(crate) struct UnsubscribeRequest {
    tenant: Arc<Tenant>,
    contact: Uuid,
    /// None: from everything.
    topic: Option<Uuid>,
}

/// The link for one contact: out of the topic, or without one out of all broadcasts.
pub(crate) fn link(state: &State, tenant: &Tenant, contact: Uuid, topic: Option<Uuid>) -> String {
    let mut bytes = Vec::with_capacity(48);
    bytes.extend(tag(state, tenant));
    bytes.extend(contact.into_bytes());
    bytes.extend(topic.unwrap_or_default().into_bytes());
    let links = &state.links;
    format!("{}{PATH}{}", links.address(), links.seal(PURPOSE, &bytes))
}

/// What a link leads to. None if the service has not written it, or has forgotten the tenant since.
pub(crate) fn open(state: &State, word: &str) -> Option<UnsubscribeRequest> {
    let bytes = state.links.open(PURPOSE, word)?;
    let (tenant, rest) = bytes.split_at_checked(16)?;
    let (contact, topic) = rest.split_at_checked(16)?;
    let tenant = state.tenants.find_by(|one| tag(state, one) == tenant)?;
    let contact = Uuid::from_slice(contact).ok()?;
    let topic = Uuid::from_slice(topic).ok().filter(|topic| !topic.is_nil());
    Some(UnsubscribeRequest { tenant, contact, topic })
}

/// Stands for a tenant without telling its key.
fn tag(state: &State, tenant: &Tenant) -> Vec<u8> {
    state.links.sign(TENANT, tenant.name.as_bytes())[..16].to_vec()
}

impl UnsubscribeRequest {
    /// The contact's address; none if the contact is gone.
    pub(crate) fn address(&self) -> Option<String> {
        Some(self.tenant.contacts.get(self.contact)?.email.clone())
    }

    /// The topic's name, if it is one topic that the contact leaves.
    pub(crate) fn topic(&self) -> Option<String> {
        Some(self.tenant.topics.get(self.topic?)?.name.clone())
    }

    /// Unsubscribes. Doing it twice is doing it once.
    pub(crate) fn end(&self, state: &State) {
        let teller = ContactService { state, tenant: &self.tenant, at: state.clock.now() };
        teller.change(self.contact, |contact| match self.topic {
            Some(topic) => drop(contact.topics.insert(topic, Subscription::OptOut)),
            None => contact.unsubscribed = true,
        });
    }
}
