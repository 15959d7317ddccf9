//! The inboxes of a tenant, with their labels, threads, emails and drafts.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::model::inboxes::draft::{self, InboxDraft};
use crate::model::inboxes::email::{self, InboxEmail};
use crate::model::inboxes::label::Label;
use crate::model::inboxes::thread::{self, Folder, Thread};
use crate::model::inboxes::{Counted, Inbox};
use crate::store::budget::Budget;
use crate::store::table::{Table, lower_case};

/// The tables of inboxes.
#[derive(Debug)]
pub struct InboxTables {
    pub inboxes: Table<Inbox>,
    pub labels: Table<Label>,
    /// In the order of their newest emails: a new email moves its thread to the end.
    pub threads: Table<Thread>,
    pub emails: Table<InboxEmail>,
    pub drafts: Table<InboxDraft>,
}

impl InboxTables {
    pub fn new(max_records: usize, budget: &Arc<Budget>) -> Self {
        Self {
            inboxes: Table::new(max_records, budget),
            labels: Table::new(max_records, budget),
            threads: Table::new(max_records, budget),
            emails: Table::new(max_records, budget),
            drafts: Table::new(max_records, budget),
        }
    }

    /// Finds the inbox that receives the mail for an address.
    pub fn receiver(&self, address: &str) -> Option<Arc<Inbox>> {
        self.inboxes.find_by_key(address).or_else(|| self.forwarded(address))
    }

    /// Finds the inbox whose mail another provider forwards to this address.
    pub fn forwarded(&self, address: &str) -> Option<Arc<Inbox>> {
        self.inboxes.oldest(&lower_case(address).into_owned())
    }

    /// Counts the unread threads and the drafts of an inbox.
    pub fn counted(&self, inbox: Arc<Inbox>) -> Counted {
        let listed = thread::Group::Listed { inbox: inbox.id, folder: Folder::Inbox, read: false };
        let unread = self.threads.lock().count_of(&listed);
        let drafts = self.drafts.lock().count_of(&draft::Group::Open(inbox.id));
        Counted { inbox, unread, drafts }
    }

    /// A thread in lists.
    pub fn item(&self, thread: &Thread) -> Value {
        let has_draft = self.drafts.oldest(&draft::Group::OpenReply(thread.id)).is_some();
        thread::list_item(thread, &self.labels_of(&thread.labels), has_draft)
    }

    /// A thread as a record and in events.
    pub fn detail(&self, thread: &Thread) -> Value {
        thread::detail(thread, &self.labels_of(&thread.labels))
    }

    /// The labels with these IDs, without deleted ones.
    pub fn labels_of(&self, ids: &BTreeSet<Uuid>) -> Vec<Arc<Label>> {
        let labels = self.labels.lock();
        ids.iter().filter_map(|id| labels.get(*id).cloned()).collect()
    }

    /// The emails of a thread, oldest first.
    pub fn emails_of(&self, thread: Uuid) -> Vec<Arc<InboxEmail>> {
        let mut emails = self.emails.members(&email::Group::Thread(thread));
        emails.reverse();
        emails
    }
}
