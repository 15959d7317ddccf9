//! Stored mails: in insertion order, with the number of unread ones, and by age.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use uuid::Uuid;

use crate::store::ledger::{Ledger, Persist};

/// A mail that a [`Mails`] stores.
pub trait StoredMail {
    fn id(&self) -> Uuid;

    /// The time of its capture or reception.
    fn stored_at(&self) -> Timestamp;

    /// Changed only through [`Mails::mark`], which counts unread mails.
    fn unread(&self) -> &AtomicBool;

    fn is_unread(&self) -> bool {
        self.unread().load(Ordering::Relaxed)
    }
}

/// Mails in insertion order. It dereferences to a [`Ledger`] for reading. Counting unread mails and finding the oldest one needs no scan.
#[derive(Debug)]
pub struct Mails<T> {
    ledger: Ledger<Arc<T>>,
    unread: usize,
    /// The positions by time, which isn't the insertion order after the clock was set back.
    by_age: BTreeSet<(Timestamp, u64)>,
}

impl<T: StoredMail> Mails<T> {
    pub(crate) fn new() -> Self {
        Self { ledger: Ledger::new(), unread: 0, by_age: BTreeSet::new() }
    }

    pub fn insert(&mut self, id: Uuid, mail: Arc<T>) {
        self.unread += usize::from(mail.is_unread());
        let at = mail.stored_at();
        let position = self.ledger.insert(id, mail);
        self.by_age.insert((at, position));
    }

    pub fn remove(&mut self, id: Uuid) -> Option<Arc<T>> {
        let position = self.ledger.position(id)?;
        let mail = self.ledger.remove(id)?;
        self.unread -= usize::from(mail.is_unread());
        self.by_age.remove(&(mail.stored_at(), position));
        Some(mail)
    }

    /// Marks a mail as read or unread. Returns whether that changed it.
    pub fn mark(&mut self, id: Uuid, unread: bool) -> bool {
        let changed =
            self.ledger.get(id).is_some_and(|mail| mail.unread().swap(unread, Ordering::Relaxed) != unread);
        if changed {
            self.unread = if unread { self.unread + 1 } else { self.unread - 1 };
            self.ledger.mark_changed(id);
        }
        changed
    }

    /// Records that something inside a mail has changed.
    pub fn mark_changed(&mut self, id: Uuid) {
        self.ledger.mark_changed(id);
    }

    /// The number of unread mails.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The time of the oldest mail.
    pub fn oldest_at(&self) -> Option<Timestamp> {
        self.by_age.first().map(|(at, _)| *at)
    }

    /// The IDs of the oldest mails that were stored at `until` or before, at most `max`.
    pub fn stored_until(&self, until: Timestamp, max: usize) -> Vec<Uuid> {
        let positions = self.by_age.range(..=(until, u64::MAX)).take(max).map(|(_, position)| *position);
        self.ledger.get_many(positions).map(|mail| mail.id()).collect()
    }
}

impl<T> Deref for Mails<T> {
    type Target = Ledger<Arc<T>>;

    fn deref(&self) -> &Self::Target {
        &self.ledger
    }
}

impl<T: StoredMail> Persist<T> for Mails<T> {
    fn ledger(&mut self) -> &mut Ledger<Arc<T>> {
        &mut self.ledger
    }

    fn restore(&mut self, position: u64, id: Uuid, mail: Arc<T>) {
        self.unread += usize::from(mail.is_unread());
        self.by_age.insert((mail.stored_at(), position));
        self.ledger.restore(position, id, mail);
    }
}
