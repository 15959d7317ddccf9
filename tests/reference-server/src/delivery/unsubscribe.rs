//! Unsubscribe links. The link in an email to one contact unsubscribes that contact; the link in a templated email leads to a page that asks which of
//! its addresses to unsubscribe.
//!
//! A link contains the tenant, the contact, the topic and the email, and is signed, so that it can't be forged. It doesn't contain the
//! tenant's API key, which recipients must not see.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use crate::delivery::recorded;
use crate::lock::lock;
use crate::model::contact::{Contact, Subscription};
use crate::model::email::Email;
use crate::model::email::recipients::Mailbox;
use crate::state::State;
use crate::state::links::TagPurpose;
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::wire::Problem;

/// The value of the header `List-Unsubscribe-Post`, and the body that mail clients post (RFC 8058).
pub const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
/// The path of the links.
pub const PATH: &str = "/_/unsubscribe/";
const PURPOSE: &str = "unsubscribe";

/// An unsubscribe request, decoded from a link.
pub struct UnsubscribeRequest {
    tenant: Arc<Tenant>,
    /// `None`: one of the email's addresses, also if the contact was deleted.
    contact: Option<Uuid>,
    /// `None`: all broadcasts.
    topic: Option<Uuid>,
    /// The email with the link.
    email: Uuid,
}

/// Creates the link for an email to one contact: for the topic, or for all broadcasts if there is none.
pub fn link(state: &State, tenant: &Tenant, email: Uuid, contact: Uuid, topic: Option<Uuid>) -> String {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(state.links.tag(TagPurpose::UnsubscribeLink, &tenant.name));
    bytes.extend(contact.into_bytes());
    bytes.extend(topic.unwrap_or_default().into_bytes());
    bytes.extend(email.into_bytes());
    let links = &state.links;
    format!("{}{PATH}{}", links.address(), links.seal(PURPOSE, &bytes))
}

/// Creates the link for an email to any addresses.
pub fn email_link(state: &State, tenant: &Tenant, email: Uuid, topic: Option<Uuid>) -> String {
    link(state, tenant, email, Uuid::nil(), topic)
}

/// Decodes a link. Returns `None` if its signature is invalid or the tenant no longer exists.
pub fn open(state: &State, token: &str) -> Option<UnsubscribeRequest> {
    let bytes = state.links.open(PURPOSE, token)?;
    let (tenant, rest) = bytes.split_at_checked(16)?;
    let (contact, rest) = rest.split_at_checked(16)?;
    let (topic, email) = rest.split_at_checked(16)?;
    let tenant = state.tenants.find_by_tag(TagPurpose::UnsubscribeLink, tenant.try_into().ok()?)?;
    let contact = Uuid::from_slice(contact).ok().filter(|contact| tenant.contacts.get(*contact).is_some());
    let topic = Uuid::from_slice(topic).ok().filter(|topic| !topic.is_nil());
    Some(UnsubscribeRequest { tenant, contact, topic, email: Uuid::from_slice(email).ok()? })
}

impl UnsubscribeRequest {
    /// The addresses that may be unsubscribed; none if the email was evicted. Bcc addresses are excluded, since the page would show them to other
    /// recipients.
    pub fn addresses(&self) -> Vec<String> {
        match (self.contact, self.email()) {
            (Some(id), _) => {
                self.tenant.contacts.get(id).map(|contact| contact.email.clone()).into_iter().collect()
            }
            (None, Some(email)) => distinct_addresses(email.to.iter().chain(email.cc.iter().flatten())),
            (None, None) => Vec::new(),
        }
    }

    /// Whether the email has further addresses to unsubscribe.
    pub fn has_hidden(&self) -> bool {
        self.contact.is_none() && self.email().is_some_and(|email| email.bcc.is_some())
    }

    /// Finds the address in the email, even a hidden one.
    pub fn find(&self, address: &str) -> Option<String> {
        let email = self.email().filter(|_| self.contact.is_none());
        let hidden =
            email.iter().flat_map(|email| distinct_addresses(email.bcc.iter().flatten())).collect::<Vec<_>>();
        let mut all = self.addresses().into_iter().chain(hidden);
        all.find(|known| known.eq_ignore_ascii_case(address.trim()))
    }

    /// The topic's name, if the link concerns one topic.
    pub fn topic(&self) -> Option<String> {
        Some(self.tenant.topics.get(self.topic?)?.name.clone())
    }

    /// Unsubscribes an address, creating a contact if necessary. Repeating it has no further effect, and no one gets emails of a deleted topic.
    pub fn apply(&self, state: &State, address: &str) -> Result<(), Problem> {
        if self.topic.is_some() && self.topic().is_none() {
            return Ok(());
        }
        let at = self.tenant.clock.now();
        let moment = Moment { state, tenant: &self.tenant, at };
        let unsubscribe = |contact: &mut Contact| match self.topic {
            Some(topic) => contact.topics.insert(topic, Subscription::OptOut) != Some(Subscription::OptOut),
            None => !std::mem::replace(&mut contact.unsubscribed, true),
        };
        let changed = if let Some(id) = self.contact {
            self.tenant.contacts.get(id).is_some() && moment.change_contact(id, unsubscribe)?
        } else {
            let mut changed = false;
            moment.upsert_contact(address, |contact| changed = unsubscribe(contact))?;
            changed
        };
        if let (true, Some(email)) = (changed, self.email()) {
            recorded::record_unsubscription(&self.tenant, &email, at);
        }
        Ok(())
    }

    fn email(&self) -> Option<Arc<Email>> {
        lock(&self.tenant.emails).get(self.email).cloned()
    }
}

/// The bare addresses of these recipients, each once.
fn distinct_addresses<'a>(recipients: impl Iterator<Item = &'a Arc<str>>) -> Vec<String> {
    let mut known = HashSet::new();
    let addresses = recipients.filter_map(|text| Mailbox::parse(text).ok()).map(|one| one.address);
    addresses.filter(|address| known.insert(address.to_ascii_lowercase())).collect()
}
