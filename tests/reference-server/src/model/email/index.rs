//! The emails of a tenant by the times of their events, and of a broadcast by event.
//!
//! The index is derived from the emails: it is rebuilt when they are restored, and evicted emails are removed from it.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};

use jiff::Timestamp;
use uuid::Uuid;

use crate::model::email::Email;
use crate::model::metric::Metric;

/// The index. Its lock is only taken under the emails' lock.
#[derive(Debug, Default)]
pub struct EmailIndex {
    by_time: BTreeSet<(Timestamp, Uuid)>,
    /// By broadcast, event and the email's position.
    recipients: BTreeSet<(Uuid, Metric, u64)>,
}

impl EmailIndex {
    /// Builds the index of these emails, each with its position, in less time and memory than adding them one by one.
    pub fn from_emails<'a>(emails: impl Iterator<Item = (u64, &'a Email)>) -> Self {
        let (mut by_time, mut recipients) = (Vec::new(), Vec::new());
        for (position, email) in emails {
            for (at, metric) in email.facts() {
                by_time.push((at, email.id));
                recipients.extend(recipient(email, position, metric));
            }
        }
        Self { by_time: by_time.into_iter().collect(), recipients: recipients.into_iter().collect() }
    }

    /// Adds a fact of an email.
    pub fn add(&mut self, email: &Email, position: u64, at: Timestamp, metric: Metric) {
        let entry = (at, email.id);
        // An email is often received and sent at the same time.
        if self.by_time.last() != Some(&entry) {
            self.by_time.insert(entry);
        }
        self.recipients.extend(recipient(email, position, metric));
    }

    /// Adds all events of an email.
    pub fn add_all(&mut self, email: &Email, position: u64) {
        for (at, metric) in email.facts() {
            self.add(email, position, at, metric);
        }
    }

    /// Removes an email.
    pub fn remove(&mut self, email: &Email, position: u64) {
        for (at, metric) in email.facts() {
            self.by_time.remove(&(at, email.id));
            if let Some(broadcast) = email.origin.broadcast {
                self.recipients.remove(&(broadcast, metric, position));
            }
        }
    }

    /// The next entries in a range of time that includes its end.
    pub fn next(
        &self,
        after: Bound<(Timestamp, Uuid)>,
        end: Timestamp,
    ) -> impl Iterator<Item = &(Timestamp, Uuid)> {
        self.by_time.range((after, Bound::Included((end, Uuid::max()))))
    }

    /// The positions of a broadcast's emails with this event, oldest first.
    pub fn recipients(
        &self,
        broadcast: Uuid,
        metric: Metric,
        range: Range<u64>,
    ) -> impl DoubleEndedIterator<Item = u64> {
        let range = (broadcast, metric, range.start)..(broadcast, metric, range.end);
        self.recipients.range(range).map(|(.., position)| *position)
    }
}

/// The entry of an event of a broadcast's email.
fn recipient(email: &Email, position: u64, metric: Metric) -> Option<(Uuid, Metric, u64)> {
    let broadcast = email.origin.broadcast.filter(|_| metric.is_of_event())?;
    Some((broadcast, metric, position))
}
