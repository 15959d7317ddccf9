//! Captured and received mails as the inbox page handles them: marked as read or unread, deleted, and expired.
//!
//! Deleting a captured mail keeps its email, which clients can still request; deleting a received mail deletes the received email itself.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use uuid::Uuid;

use crate::lock::lock;
use crate::model::mail::Mail;
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::job::{Job, Work};
use crate::state::tenant::Tenant;
use crate::store::mails::{Mails, StoredMail};
use crate::wire::Problem;

/// The number of mails changed under one lock, or deleted in one step of a job.
const STEP: usize = 128;
/// The number of changed mails that are reported one by one; after more, pages reload.
const MAX_REPORTED: usize = 60;

/// A folder of mails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// Captured mails.
    Sent,
    Received,
}

/// Deletes mails, skipping those that don't exist. Returns the number of deleted ones.
pub fn delete(state: &State, tenant: &Tenant, folder: Folder, ids: &[Uuid]) -> usize {
    let deleted: Vec<Uuid> = match folder {
        Folder::Sent => {
            let mails = remove(&tenant.captured, ids);
            for mail in &mails {
                let email = lock(&tenant.emails).get(mail.email_id).cloned();
                if let Some(email) = email {
                    state.tenants.resize_mail(email.id, email.size());
                }
            }
            mails.iter().map(|mail| mail.id).collect()
        }
        Folder::Received => {
            let mails = remove(&tenant.received, ids);
            let ids: Vec<_> = mails.iter().map(|mail| mail.id).collect();
            state.tenants.forget_mails(&ids);
            ids
        }
    };
    report(state, tenant, &deleted, |id| BusEventKind::Deleted { id });
    deleted.len()
}

/// Removes mails from a folder. They are dropped outside of its lock.
fn remove<T: StoredMail>(mails: &Mutex<Mails<T>>, ids: &[Uuid]) -> Vec<Arc<T>> {
    let mut removed = Vec::new();
    for ids in ids.chunks(STEP) {
        let mut mails = lock(mails);
        removed.extend(ids.iter().filter_map(|id| mails.remove(*id)));
    }
    removed
}

/// Marks mails as read or unread, skipping those that don't exist. Returns the number of changed ones.
pub fn mark(state: &State, tenant: &Tenant, folder: Folder, ids: &[Uuid], unread: bool) -> usize {
    let changed = match folder {
        Folder::Sent => mark_all(&tenant.captured, ids, unread),
        Folder::Received => mark_all(&tenant.received, ids, unread),
    };
    report(state, tenant, &changed, |id| BusEventKind::Marked { id });
    changed.len()
}

fn mark_all<T: StoredMail>(mails: &Mutex<Mails<T>>, ids: &[Uuid], unread: bool) -> Vec<Uuid> {
    let mut changed = Vec::new();
    for ids in ids.chunks(STEP) {
        let mut mails = lock(mails);
        changed.extend(ids.iter().copied().filter(|id| mails.mark(*id, unread)));
    }
    changed
}

fn report(state: &State, tenant: &Tenant, changed: &[Uuid], kind: impl Fn(Uuid) -> BusEventKind) {
    if changed.len() > MAX_REPORTED {
        state.event_bus.publish(&tenant.name, BusEventKind::Forgotten);
        return;
    }
    for id in changed {
        state.event_bus.publish(&tenant.name, kind(*id));
    }
}

/// Schedules the deletion of the tenant's oldest mail, if mails have a maximum age. At most one job per tenant is needed: one that is due too late is
/// replaced.
pub fn schedule_expiry(state: &State, tenant: &Arc<Tenant>, oldest: Timestamp) {
    let Some(age) = state.settings.max_age() else { return };
    // A mail that would be deleted after the last timestamp stays.
    let Ok(due) = oldest.checked_add(age) else { return };
    let is_next = {
        let mut expiry = lock(&tenant.expiry);
        let is_next = expiry.is_none_or(|planned| due < planned);
        if is_next {
            *expiry = Some(due);
        }
        is_next
    };
    // Without the lock: the scheduler checks whether waiting jobs are needed.
    if is_next {
        state.scheduler.schedule(due, Job::new(tenant, Work::DeleteExpired));
    }
}

/// Deletes mails that have reached the maximum age at `due`, at most a step's worth; returns whether there are more. After the last one,
/// schedules the next deletion.
pub fn delete_expired(state: &State, tenant: &Arc<Tenant>, due: Timestamp) -> bool {
    let Some(age) = state.settings.max_age() else { return false };
    if *lock(&tenant.expiry) != Some(due) {
        return false;
    }
    let Ok(until) = due.checked_sub(age) else { return false };
    let sent = lock(&tenant.captured).stored_until(until, STEP);
    let received = lock(&tenant.received).stored_until(until, STEP);
    let is_more = sent.len() == STEP || received.len() == STEP;
    delete(state, tenant, Folder::Sent, &sent);
    delete(state, tenant, Folder::Received, &received);
    if is_more {
        return true;
    }
    *lock(&tenant.expiry) = None;
    schedule_oldest(state, tenant);
    false
}

/// Schedules the deletion of the oldest mail, if there is one.
pub fn schedule_oldest(state: &State, tenant: &Arc<Tenant>) {
    let oldest = [lock(&tenant.captured).oldest_at(), lock(&tenant.received).oldest_at()];
    if let Some(oldest) = oldest.into_iter().flatten().min() {
        schedule_expiry(state, tenant, oldest);
    }
}

/// Finds an email by its ID or by its sent email's ID.
pub fn find(tenant: &Tenant, id: &str) -> Result<Arc<Mail>, Problem> {
    let found = Uuid::try_parse(id).ok().and_then(|id| find_by_id(tenant, id));
    found.ok_or_else(|| Problem::not_found("Message not found."))
}

/// The same for a UUID.
pub fn find_by_id(tenant: &Tenant, id: Uuid) -> Option<Arc<Mail>> {
    let of_email = || lock(&tenant.emails).get(id).and_then(|email| email.captured_id());
    let captured = |id| lock(&tenant.captured).get(id).cloned();
    captured(id).or_else(|| captured(of_email()?))
}
