//! The suppression list, filled by bounces and complaints; its addresses receive no emails.
//!
//! The specification doesn't define it; these are Resend's rules. A permanent bounce and a spam complaint add the address,
//! whichever request or broadcast the email came from. An email is checked when it is sent: addresses on the list are dropped, with the
//! event `email.suppressed`, and nothing is sent if none remains in `to`.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::delivery::webhooks::{notify, payload};
use crate::lock::lock;
use crate::model::email::draft::Draft;
use crate::model::email::recipients::Mailbox;
use crate::model::email::{Email, Event};
use crate::model::mail::simulation;
use crate::model::suppression::{Origin, Suppression};
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::wire::Problem;

impl Moment<'_> {
    /// Adds addresses, all of them or none. Returns the ID of each; an address on the list keeps its entry, with its origin.
    pub fn add_suppressions(
        self,
        addresses: Vec<String>,
        origin: Origin,
        source: Option<Uuid>,
    ) -> Result<Vec<Uuid>, Problem> {
        let entries = addresses.into_iter().map(|email| {
            let id = self.state.next_id();
            (id, Suppression { id, email, origin, source, created_at: self.at })
        });
        let added = self.tenant.suppressions.add_missing(entries.collect())?;
        for (id, _) in added.iter().filter(|(_, is_new)| *is_new) {
            self.notify_of_suppression("suppression.added", self.tenant.suppressions.get(*id));
        }
        Ok(added.into_iter().map(|(id, _)| id).collect())
    }

    /// Removes an entry.
    pub fn remove_suppression(self, id: Uuid) -> Option<Arc<Suppression>> {
        let removed = self.tenant.suppressions.remove(id)?;
        self.notify_of_suppression("suppression.removed", Some(Arc::clone(&removed)));
        Some(removed)
    }

    fn notify_of_suppression(self, kind: &'static str, entry: Option<Arc<Suppression>>) {
        if let Some(entry) = entry {
            notify(self, kind, None, || payload::suppression(&entry));
        }
    }
}

/// Adds the recipients of an email that bounced permanently or was reported as spam. `detail` is the content of the event's own field.
pub(super) fn suppress_recipients(moment: Moment<'_>, email: &Email, event: Event, detail: Option<&Value>) {
    let kind = detail.and_then(|detail| detail.get("type")).and_then(Value::as_str);
    let origin = match event {
        Event::Bounced if kind.is_none_or(|kind| kind == "Permanent") => Origin::Bounce,
        Event::Complained => Origin::Complaint,
        _ => return,
    };
    // A full list can't grow, but the event must not fail.
    let _ = moment.add_suppressions(affected_recipients(moment.tenant, email, event), origin, Some(email.id));
}

/// The recipients with this simulated outcome; for a triggered event, those in `to`. Those that the email wasn't sent to aren't affected.
fn affected_recipients(tenant: &Tenant, email: &Email, event: Event) -> Vec<String> {
    let mail = email.captured_id().and_then(|id| lock(&tenant.captured).get(id).cloned());
    let reached = mail.as_ref().map(|mail| mail.recipients().collect::<HashSet<_>>());
    let is_reached = |text: &&Arc<str>| reached.as_ref().is_none_or(|reached| reached.contains(&***text));
    let mailbox = |text: &Arc<str>| Mailbox::parse(text).ok();
    let simulated = email.recipients().filter(is_reached).filter_map(mailbox);
    let simulated: Vec<_> = simulated
        .filter(|mailbox| simulation::has_event(mailbox, event))
        .map(|mailbox| mailbox.address)
        .collect();
    if !simulated.is_empty() {
        return simulated;
    }
    email.to.iter().filter(is_reached).filter_map(mailbox).map(|mailbox| mailbox.address).collect()
}

/// Drops the recipients that are on the list. Returns the origin of the first one's entry.
pub(super) fn drop_listed(tenant: &Tenant, draft: &mut Draft) -> Option<Origin> {
    if tenant.suppressions.is_empty() {
        return None;
    }
    let mut found = None;
    draft.retain_recipients(|mailbox| {
        let entry = tenant.suppressions.find_by_key(&mailbox.address);
        found = found.or(entry.as_ref().map(|entry| entry.origin));
        entry.is_none()
    });
    found
}

/// The content of `email.suppressed` in addition to its default, a bounce's.
pub(super) fn detail(origin: Origin) -> Value {
    match origin {
        Origin::Bounce => json!({}),
        Origin::Complaint => json!({
            "message": "Resend has suppressed sending to this address because an earlier email to it was reported as spam.",
            "reason": "previous_complaint",
            "diagnosticCode": null,
        }),
        Origin::Manual => json!({
            "message": "Resend has suppressed sending to this address because it was added to the suppression list manually.",
            "reason": null,
            "diagnosticCode": null,
        }),
    }
}
