//! What the service remembers of contacts: found by id, by address, and in the order in which they came.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::lock::lock;
use crate::paging::{Page, Window};
use crate::problem::Problem;
use crate::state::ledger::Ledger;

/// One contact.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Contact {
    pub(crate) id: Uuid,
    /// `local@domain`, as it was given. Two contacts never share one, however it is capitalised.
    pub(crate) email: String,
    pub(crate) first_name: Option<String>,
    pub(crate) last_name: Option<String>,
    /// Gets no broadcast at all.
    pub(crate) unsubscribed: bool,
    pub(crate) properties: BTreeMap<String, PropertyValue>,
    pub(crate) segments: Vec<Uuid>,
    /// The segments that it has left: a walk over the members goes on from a member that leaves meanwhile.
    #[serde(default)]
    pub(crate) left_segments: BTreeSet<Uuid>,
    /// The topics that the contact has made a choice about.
    pub(crate) topics: BTreeMap<Uuid, Subscription>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl Contact {
    /// Makes it a member; adding a member again changes nothing.
    pub(crate) fn join(&mut self, segment: Uuid) {
        self.left_segments.remove(&segment);
        if !self.segments.contains(&segment) {
            self.segments.push(segment);
        }
    }

    /// Ends the membership. False if it is no member.
    pub(crate) fn leave(&mut self, segment: Uuid) -> bool {
        let before = self.segments.len();
        self.segments.retain(|one| *one != segment);
        let left = self.segments.len() < before;
        if left {
            self.left_segments.insert(segment);
        }
        left
    }

    /// Forgets a segment that is deleted.
    pub(crate) fn forget_segment(&mut self, segment: Uuid) {
        self.leave(segment);
        self.left_segments.remove(&segment);
    }

    /// Whether it is or was a member, so that lists of the membership have a place for it.
    pub(crate) fn has_joined(&self, segment: Uuid) -> bool {
        self.segments.contains(&segment) || self.left_segments.contains(&segment)
    }
}

/// What a property can hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PropertyValue {
    Text(String),
    Number(serde_json::Number),
}

impl PropertyValue {
    /// The name of its type on the wire.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Number(_) => "number",
        }
    }
}

impl std::fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Whether somebody wants the emails of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subscription {
    OptIn,
    OptOut,
}

impl Subscription {
    pub(crate) const WORDS: &'static [(&'static str, Self)] =
        &[("opt_in", Self::OptIn), ("opt_out", Self::OptOut)];
}

/// A tenant's contacts.
#[derive(Debug)]
pub(crate) struct Book {
    most: usize,
    pages: Mutex<Pages>,
}

#[derive(Debug)]
struct Pages {
    contacts: Ledger<Arc<Contact>>,
    by_address: HashMap<String, Uuid>,
}

impl Pages {
    fn by_address(&self, address: &str) -> Option<Uuid> {
        self.by_address.get(&address.to_ascii_lowercase()).copied()
    }
}

impl Book {
    pub(crate) fn new(most: usize) -> Self {
        let pages = Pages { contacts: Ledger::new(), by_address: HashMap::new() };
        Self { most, pages: Mutex::new(pages) }
    }

    /// Writes into the contact with this address; there is a blank one first if the address is not known. Answers its id.
    pub(crate) fn put(
        &self,
        address: &str,
        blank: impl FnOnce() -> Contact,
        write: impl FnOnce(&mut Contact),
    ) -> Result<Uuid, Problem> {
        let mut pages = lock(&self.pages);
        if let Some(id) = pages.by_address(address) {
            if let Some(known) = pages.contacts.get_mut(id) {
                write(Arc::make_mut(known));
            }
            return Ok(id);
        }
        if pages.contacts.len() >= self.most {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "validation_error",
                format!("This sandbox keeps at most {} contacts; delete some first.", self.most),
            ));
        }
        let mut contact = blank();
        write(&mut contact);
        let id = contact.id;
        pages.by_address.insert(address.to_ascii_lowercase(), id);
        pages.contacts.insert(id, Arc::new(contact));
        Ok(id)
    }

    /// The contacts themselves, for whoever keeps them.
    pub(crate) fn with_ledger<R>(&self, look: impl FnOnce(&mut Ledger<Arc<Contact>>) -> R) -> R {
        let mut pages = lock(&self.pages);
        let looked = look(&mut pages.contacts);
        // Some may have been put back.
        if pages.by_address.len() != pages.contacts.len() {
            let Pages { contacts, by_address } = &mut *pages;
            by_address.extend(contacts.oldest_first().map(|one| (one.email.to_ascii_lowercase(), one.id)));
        }
        looked
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<Arc<Contact>> {
        lock(&self.pages).contacts.get(id).cloned()
    }

    pub(crate) fn by_address(&self, address: &str) -> Option<Arc<Contact>> {
        let pages = lock(&self.pages);
        pages.contacts.get(pages.by_address(address)?).cloned()
    }

    /// By id, or by address: what stands in a path can be either.
    pub(crate) fn find(&self, id_or_address: &str) -> Option<Arc<Contact>> {
        match Uuid::try_parse(id_or_address) {
            Ok(id) => self.get(id),
            Err(_) => self.by_address(id_or_address),
        }
    }

    /// Changes a contact, unless it would take the address of another. None if there is no such contact.
    pub(crate) fn change<R>(
        &self,
        id: Uuid,
        change: impl FnOnce(&mut Contact) -> R,
    ) -> Option<Result<R, Problem>> {
        let mut pages = lock(&self.pages);
        let mut changed = Contact::clone(pages.contacts.get(id)?);
        let before = changed.email.to_ascii_lowercase();
        let made = change(&mut changed);
        let after = changed.email.to_ascii_lowercase();
        if before != after {
            if pages.by_address.contains_key(&after) {
                return Some(Err(Problem::new(
                    StatusCode::CONFLICT,
                    "validation_error",
                    format!("`email` must not be the address of another contact; found {:?}.", changed.email),
                )));
            }
            pages.by_address.remove(&before);
            pages.by_address.insert(after, id);
        }
        if let Some(record) = pages.contacts.get_mut(id) {
            *record = Arc::new(changed);
        }
        Some(Ok(made))
    }

    pub(crate) fn remove(&self, id: Uuid) -> Option<Arc<Contact>> {
        let mut pages = lock(&self.pages);
        let contact = pages.contacts.remove(id)?;
        pages.by_address.remove(&contact.email.to_ascii_lowercase());
        Some(contact)
    }

    /// Changes every contact for which something is to be changed.
    pub(crate) fn change_all(&self, concerned: impl Fn(&Contact) -> bool, change: impl Fn(&mut Contact)) {
        let mut pages = lock(&self.pages);
        let ids: Vec<_> =
            pages.contacts.newest_first().filter(|one| concerned(one)).map(|one| one.id).collect();
        for id in ids {
            if let Some(contact) = pages.contacts.get_mut(id) {
                change(Arc::make_mut(contact));
            }
        }
    }

    /// The members of a segment, newest first.
    pub(crate) fn members(&self, segment: Uuid) -> Vec<Arc<Contact>> {
        let pages = lock(&self.pages);
        pages.contacts.newest_first().filter(|one| one.segments.contains(&segment)).cloned().collect()
    }

    /// A page of the contacts, or of the members of a segment.
    pub(crate) fn page(&self, window: &Window, segment: Option<Uuid>) -> Result<Page<Arc<Contact>>, Problem> {
        let pages = lock(&self.pages);
        if let Some(segment) = segment {
            window.within(|id| pages.contacts.get(id).is_some_and(|one| one.has_joined(segment)))?;
        }
        window.look(&pages.contacts, |one| segment.is_none_or(|segment| one.segments.contains(&segment)))
    }
}
