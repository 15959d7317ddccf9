//! Threads: the emails of one conversation.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::model::inboxes::email::{Direction, InboxEmail};
use crate::model::inboxes::label::{self, Label};
use crate::store::table;
use crate::wire::{to_iso, words};

/// The maximum number of emails in a thread; the next one starts another thread. It bounds the cost of every operation on a thread.
pub const MAX_EMAILS: usize = 100;
/// The maximum number of labels of a thread.
pub const MAX_LABELS: usize = 50;
/// The maximum number of participants in the index of subjects.
const MAX_PARTICIPANTS: usize = 50;
/// The number of characters of a subject that are compared.
const MAX_SUBJECT: usize = 200;
/// How long a thread stays in the trash.
const TRASH_DURATION: SignedDuration = SignedDuration::from_hours(30 * 24);

words! {
    /// A folder.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Folder {
        #[default]
        Inbox = "inbox",
        Archive = "archive",
        Spam = "spam",
        Sent = "sent",
        Trash = "trash",
    }
}

/// A thread. The addresses are from the newest email.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Thread {
    pub id: Uuid,
    pub inbox: Uuid,
    /// The subject of the first email.
    pub subject: Option<String>,
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    /// Including deleted ones, which aren't shown.
    pub labels: BTreeSet<Uuid>,
    pub emails: usize,
    pub has_attachment: bool,
    pub read: bool,
    pub folder: Folder,
    /// The time of the newest email.
    pub received_at: Timestamp,
    pub trashed_at: Option<Timestamp>,
    /// The subject for comparison.
    normalized: String,
    /// The addresses of the emails, in lower case.
    participants: BTreeSet<String>,
}

/// How threads are found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    Listed { inbox: Uuid, folder: Folder, read: bool },
    Labeled { label: Uuid, folder: Folder, read: bool },
    Subject { inbox: Uuid, subject: String, participant: String },
}

impl table::Record for Thread {
    const NOUN: &'static str = "a thread";
    const PLURAL: &'static str = "threads";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        let Self { inbox, folder, read, .. } = *self;
        let mut groups = vec![Group::Listed { inbox, folder, read }];
        groups.extend(self.labels.iter().map(|label| Group::Labeled { label: *label, folder, read }));
        if !self.normalized.is_empty() {
            let subject = |participant: &String| Group::Subject {
                inbox,
                subject: self.normalized.clone(),
                participant: participant.clone(),
            };
            groups.extend(self.participants.iter().map(subject));
        }
        groups
    }
}

impl Thread {
    /// A thread without emails.
    pub fn new(id: Uuid, email: &InboxEmail) -> Self {
        Self {
            id,
            inbox: email.inbox,
            subject: email.subject.clone(),
            read: true,
            folder: match email.direction {
                Direction::Inbound => Folder::Inbox,
                Direction::Outbound => Folder::Sent,
            },
            received_at: email.received_at,
            normalized: normalize_subject(email.subject.as_deref().unwrap_or_default()).1,
            ..Self::default()
        }
    }

    /// Adds an email. A received one marks the thread as unread, and returns it to the folder `inbox` unless it is spam.
    pub fn add(&mut self, email: &InboxEmail) {
        self.from.clone_from(&email.from);
        self.to.clone_from(&email.to);
        self.cc.clone_from(&email.cc);
        self.bcc.clone_from(&email.bcc);
        self.emails += 1;
        self.has_attachment |= !email.attachments.is_empty();
        self.received_at = email.received_at;
        for address in email.addresses() {
            if self.participants.len() < MAX_PARTICIPANTS {
                self.participants.insert(address);
            }
        }
        if email.direction == Direction::Inbound {
            self.read = false;
            if self.folder != Folder::Spam {
                self.move_to(Folder::Inbox, email.received_at);
            }
        }
    }

    pub fn move_to(&mut self, folder: Folder, at: Timestamp) {
        if folder != self.folder {
            self.folder = folder;
            self.trashed_at = (folder == Folder::Trash).then_some(at);
        }
    }

    /// When it is deleted, if it is in the trash.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.trashed_at.map(|at| saturating_add(at, TRASH_DURATION))
    }
}

/// A thread in lists, with its labels, and whether there is a draft of a reply.
pub fn list_item(thread: &Thread, labels: &[Arc<Label>], has_draft: bool) -> Value {
    json!({
        "id": thread.id,
        "subject": thread.subject,
        "from": thread.from,
        "to": thread.to,
        "cc": thread.cc,
        "bcc": thread.bcc,
        "labels": labels.iter().map(|label| label::OfThread(label)).collect::<Vec<_>>(),
        "email_count": thread.emails,
        "has_attachment": thread.has_attachment,
        "has_draft": has_draft,
        "read": thread.read,
        "received_at": to_iso(thread.received_at),
        "folder": thread.folder,
    })
}

/// A thread as a record and in events.
pub fn detail(thread: &Thread, labels: &[Arc<Label>]) -> Value {
    json!({
        "object": "inbox_thread",
        "id": thread.id,
        "subject": thread.subject,
        "folder": thread.folder,
        "labels": labels.iter().map(|label| label::OfThread(label)).collect::<Vec<_>>(),
        "read": thread.read,
    })
}

/// Whether a subject marks a reply or a forwarded mail, and the subject without those prefixes, for comparison.
pub fn normalize_subject(subject: &str) -> (bool, String) {
    const PREFIXES: [&str; 8] = ["re", "aw", "sv", "antw", "fw", "fwd", "wg", "tr"];
    let (mut rest, mut is_answer) = (subject.trim(), false);
    while let Some((prefix, after)) = rest.split_once(':') {
        let prefix = prefix.trim_end();
        if !PREFIXES.iter().any(|known| known.eq_ignore_ascii_case(prefix)) {
            break;
        }
        (rest, is_answer) = (after.trim_start(), true);
    }
    let words: Vec<_> = rest.split_whitespace().collect();
    (is_answer, words.join(" ").to_lowercase().chars().take(MAX_SUBJECT).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_answers_are_not_part_of_a_subject() {
        for (subject, expected) in [
            ("Invoice 7", (false, "invoice 7")),
            ("Re: Invoice  7 ", (true, "invoice 7")),
            ("RE: Fwd : AW: invoice 7", (true, "invoice 7")),
            ("Regarding: invoice 7", (false, "regarding: invoice 7")),
            ("Re:", (true, "")),
            ("", (false, "")),
        ] {
            assert_eq!(normalize_subject(subject), (expected.0, expected.1.to_owned()), "{subject}");
        }
    }
}
