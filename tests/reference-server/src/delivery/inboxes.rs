//! Changes to inboxes, their threads and drafts, with the resulting webhook events.
//!
//! A received mail joins the thread of an email that it refers to (`In-Reply-To`, `References`); otherwise, if its subject marks it as a reply (`Re:
//! …`), it joins the newest thread with this subject that its sender takes part in; otherwise it starts a thread. Emails sent from an inbox join the
//! thread that they reply to. Every thread is found by an index.
//!
//! Two events never occur, since no operation assigns threads: `inbox.thread.assigned` and `inbox.thread.unassigned`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::delivery::webhooks;
use crate::lock::lock;
use crate::model::inboxes::draft::{self, InboxDraft, Progress};
use crate::model::inboxes::email::{self, File, InboxEmail};
use crate::model::inboxes::label;
use crate::model::inboxes::thread::{Folder, Group, MAX_EMAILS, Thread, normalize_subject};
use crate::model::inboxes::{self, Inbox};
use crate::model::received::Received;
use crate::state::State;
use crate::state::inboxes::InboxTables;
use crate::state::job::Task;
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::wire::Problem;

/// The maximum number of Message-IDs used to look up a thread.
const MAX_LOOKUPS: usize = 20;

/// Changes the inboxes of a tenant and notifies its webhooks.
#[derive(Clone, Copy)]
pub struct InboxService<'a> {
    pub moment: Moment<'a>,
    /// The cause of the changes: `api` or `system`.
    pub source: &'static str,
}

/// Adds a received mail to the inboxes of its recipients.
pub fn receive(state: &State, tenant: &Arc<Tenant>, received: &Received) {
    if tenant.inboxes.inboxes.is_empty() {
        return;
    }
    let service =
        InboxService { moment: Moment { state, tenant, at: received.created_at }, source: "system" };
    let inboxes = received.recipients.iter().filter_map(|address| tenant.inboxes.receiver(address));
    let mut found = BTreeSet::new();
    for inbox in inboxes {
        if found.insert(inbox.id) {
            service.add_received(&inbox, received);
        }
    }
}

/// Deletes a thread that has expired in the trash.
pub fn delete_expired(tenant: &Tenant, id: Uuid, now: Timestamp) {
    let thread = tenant.inboxes.threads.get(id);
    if thread.is_some_and(|thread| thread.expires_at().is_some_and(|at| at <= now)) {
        delete_thread(tenant, id);
    }
}

/// Deletes a thread with its emails and drafts.
fn delete_thread(tenant: &Tenant, id: Uuid) {
    let tables = &tenant.inboxes;
    if tables.threads.remove(id).is_none() {
        return;
    }
    for email in tables.emails_of(id) {
        tables.emails.remove(email.id);
    }
    for draft in tables.drafts.members(&draft::Group::Thread(id)) {
        tables.drafts.remove(draft.id);
    }
}

impl InboxService<'_> {
    fn tables(&self) -> &InboxTables {
        &self.moment.tenant.inboxes
    }

    /// Notifies webhooks of an event of an inbox.
    fn notify(&self, kind: &'static str, inbox: Uuid, data: impl FnOnce() -> Value) {
        webhooks::notify(self.moment, kind, None, || {
            let mut payload = json!({ "source": self.source, "inbox_id": inbox });
            if let (Value::Object(payload), Value::Object(data)) = (&mut payload, data()) {
                payload.extend(data);
            }
            payload
        });
    }

    pub fn create(self, inbox: Inbox) -> Result<(), Problem> {
        let id = inbox.id;
        self.tables().inboxes.add(id, inbox)?;
        self.notify_inbox("inbox.created", id);
        Ok(())
    }

    /// Changes the name or the sender's name.
    pub fn update(self, id: Uuid, change: impl FnOnce(&mut Inbox)) -> Result<(), Problem> {
        let at = self.moment.at;
        self.tables().inboxes.update(id, |inbox| {
            change(inbox);
            inbox.updated_at = at;
        })?;
        self.notify_inbox("inbox.updated", id);
        Ok(())
    }

    fn notify_inbox(self, kind: &'static str, id: Uuid) {
        if let Some(inbox) = self.tables().inboxes.get(id) {
            self.notify(kind, id, || json!({ "inbox": inboxes::Detail(&self.tables().counted(inbox)) }));
        }
    }

    /// Deletes an inbox with its threads, drafts and labels, one record at a time.
    pub fn delete(self, id: Uuid) {
        let tables = self.tables();
        if tables.inboxes.remove(id).is_none() {
            return;
        }
        for (_, folder) in Folder::WORDS {
            for read in [false, true] {
                for thread in tables.threads.members(&Group::Listed { inbox: id, folder: *folder, read }) {
                    delete_thread(self.moment.tenant, thread.id);
                }
            }
        }
        for draft in tables.drafts.members(&draft::Group::Inbox(id)) {
            tables.drafts.remove(draft.id);
        }
        for label in tables.labels.members(&id) {
            tables.labels.remove(label.id);
        }
        self.notify("inbox.deleted", id, || json!({}));
    }

    /// Adds a received mail. If the memory for records is used up, the mail is stored only as a received email.
    fn add_received(self, inbox: &Inbox, received: &Received) {
        let mut email = InboxEmail::inbound(self.moment.state.next_id(), inbox.id, received);
        let answered = self.find_thread(&email);
        email.thread = answered.unwrap_or_else(|| self.moment.state.next_id());
        if let Some(email) = self.add_email(email) {
            self.tables().inboxes.change(inbox.id, |inbox| inbox.last_received = Some(email.received_at));
            self.notify_email("inbox.email.received", &email);
        }
    }

    /// Adds a sent email to a thread, or to a new one.
    pub fn add_sent(self, inbox: Uuid, thread: Option<Uuid>, id: Uuid, files: Vec<File>) {
        let sent = lock(&self.moment.tenant.emails).get(id).cloned();
        let Some(sent) = sent else { return };
        let has_room = |id: &Uuid| {
            let thread = self.tables().threads.get(*id);
            thread.is_some_and(|thread| thread.emails < MAX_EMAILS)
        };
        let thread = thread.filter(has_room).unwrap_or_else(|| self.moment.state.next_id());
        if let Some(email) = self.add_email(InboxEmail::outbound(inbox, thread, &sent, files)) {
            self.notify_email("inbox.email.sent", &email);
        }
    }

    fn notify_email(self, kind: &'static str, email: &InboxEmail) {
        self.notify(kind, email.inbox, || {
            let mut data = self.thread_data(email.thread);
            data["email_id"] = email.id.to_string().into();
            data["email"] = json!(email::Summary(email));
            data
        });
    }

    /// Finds the thread that a received mail belongs to.
    fn find_thread(self, email: &InboxEmail) -> Option<Uuid> {
        let has_room = |thread: &Arc<Thread>| thread.emails < MAX_EMAILS;
        let inbox = email.inbox;
        let by_reference = email.references.iter().rev().take(MAX_LOOKUPS).find_map(|id| {
            let known = self.tables().emails.oldest(&email::Group::MessageId { inbox, id: id.clone() })?;
            self.tables().threads.get(known.thread).filter(has_room)
        });
        let by_subject = || {
            let (is_answer, subject) = normalize_subject(email.subject.as_deref()?);
            let participant = email::address(&email.from).filter(|_| is_answer && !subject.is_empty())?;
            let threads = self.tables().threads.lock();
            let newest =
                threads.members(&Group::Subject { inbox, subject, participant }).next_back().cloned();
            newest.filter(has_room)
        };
        by_reference.or_else(by_subject).map(|thread| thread.id)
    }

    /// Adds an email to its thread, which moves to the top of the list and is created if necessary.
    fn add_email(self, email: InboxEmail) -> Option<Arc<InboxEmail>> {
        let (tables, id) = (self.tables(), email.id);
        if tables.threads.room() == 0 || tables.emails.add(id, email).is_err() {
            return None;
        }
        let email = tables.emails.get(id)?;
        let mut threads = tables.threads.lock();
        let before = threads.remove(email.thread);
        let mut thread = before.as_deref().cloned().unwrap_or_else(|| Thread::new(email.thread, &email));
        thread.add(&email);
        let after = Arc::new(thread);
        threads.insert(email.thread, Arc::clone(&after));
        drop(threads);
        if let Some(before) = before {
            self.apply_thread_change(&before, &after);
        } else {
            self.notify_email("inbox.thread.created", &email);
        }
        Some(email)
    }

    /// Changes a thread. Returns the thread before and after the change.
    pub fn change_thread(
        self,
        id: Uuid,
        change: impl FnOnce(&mut Thread),
    ) -> Option<(Arc<Thread>, Arc<Thread>)> {
        let mut threads = self.tables().threads.lock();
        let before = threads.get(id).cloned()?;
        threads.change(id, change)?;
        let after = threads.get(id).cloned()?;
        drop(threads);
        self.apply_thread_change(&before, &after);
        Some((before, after))
    }

    /// Applies the effects of a thread's change: expiry in the trash, events.
    fn apply_thread_change(self, before: &Thread, after: &Arc<Thread>) {
        let (inbox, thread_id) = (after.inbox, after.id);
        if before.trashed_at != after.trashed_at
            && let Some(due) = after.expires_at()
        {
            let task = Task::DeleteThread { thread: thread_id };
            self.moment.schedule(due, task);
        }
        if before.folder != after.folder {
            self.notify("inbox.thread.folder.updated", inbox, || {
                let mut data = self.thread_data(thread_id);
                data["from"] = before.folder.as_str().into();
                data["to"] = after.folder.as_str().into();
                data
            });
        }
        let changed = before.labels.symmetric_difference(&after.labels).copied().collect();
        for label in self.tables().labels_of(&changed) {
            self.notify("inbox.thread.labels.updated", inbox, || {
                let mut data = self.thread_data(thread_id);
                let is_added = after.labels.contains(&label.id);
                let label = json!([label::OfThread(&label)]);
                let (added, removed) = if is_added { (label, json!([])) } else { (json!([]), label) };
                data["added"] = added;
                data["removed"] = removed;
                data
            });
        }
    }

    /// A thread in the data of an event.
    fn thread_data(self, id: Uuid) -> Value {
        let mut data = json!({ "thread_id": id });
        if let Some(thread) = self.tables().threads.get(id) {
            data["thread"] = self.tables().detail(&thread);
        }
        data
    }

    pub fn create_draft(self, draft: InboxDraft) -> Result<(), Problem> {
        let id = draft.id;
        self.tables().drafts.add(id, draft)?;
        if let Some(draft) = self.tables().drafts.get(id) {
            self.notify_draft("inbox.draft.created", &draft);
        }
        Ok(())
    }

    /// Changes a draft that wasn't sent.
    pub fn update_draft(
        self,
        id: Uuid,
        change: impl FnOnce(&mut InboxDraft) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let draft = self.tables().drafts.try_update(id, |draft| {
            draft.check_open()?;
            change(draft)?;
            draft.updated_at = self.moment.at;
            Ok(draft.clone())
        })?;
        self.notify_draft("inbox.draft.updated", &draft);
        Ok(())
    }

    fn notify_draft(self, kind: &'static str, draft: &InboxDraft) {
        self.notify(kind, draft.inbox, || {
            let email = match draft.progress {
                Progress::Sent(id) => self.tables().emails.get(id),
                _ => None,
            };
            let thread = email.as_ref().map(|email| email.thread);
            let thread = thread.or_else(|| draft.replies_to.map(|(thread, _)| thread));
            let mut data = thread.map_or_else(|| json!({}), |thread| self.thread_data(thread));
            if let Some(email) = email {
                data["email_id"] = email.id.to_string().into();
                data["email"] = json!(email::Summary(&email));
            }
            data["draft_id"] = draft.id.to_string().into();
            if self.tables().drafts.get(draft.id).is_some() {
                data["draft"] = json!(draft::Event(draft));
            }
            data
        });
    }

    /// Marks a draft as sent.
    pub fn finish_draft(self, id: Uuid, email: Uuid) {
        self.tables().drafts.change(id, |draft| {
            draft.progress = Progress::Sent(email);
            draft.updated_at = self.moment.at;
        });
        if let Some(draft) = self.tables().drafts.get(id) {
            self.notify_draft("inbox.draft.sent", &draft);
        }
    }

    pub fn delete_draft(self, id: Uuid) {
        let Some(draft) = self.tables().drafts.remove(id) else { return };
        self.notify_draft("inbox.draft.deleted", &draft);
    }
}
