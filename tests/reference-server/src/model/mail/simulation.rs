//! What becomes of a mail, by the names of its recipients.
//!
//! `delivered@`, `opened@`, `clicked@`, `bounced@`, `complained@`, `delayed@`, `suppressed@`, `failed@` and `no-tls@`,
//! at any domain and with any `+label`, meet that fate; everybody else is delivered to.

use jiff::SignedDuration;

use crate::model::email::Event;
use crate::model::email::recipients::Mailbox;

/// What happens to an email, and when after it leaves.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SimulatedOutcome {
    /// Whether there is anybody left to send it to.
    pub(crate) leaves: bool,
    /// In order.
    pub(crate) events: Vec<(SignedDuration, Event)>,
}

const AT_ONCE: SignedDuration = SignedDuration::ZERO;
const SOON: SignedDuration = SignedDuration::from_secs(1);
const LATER: SignedDuration = SignedDuration::from_secs(2);
const LAST: SignedDuration = SignedDuration::from_secs(3);
const AFTER_DELAY: SignedDuration = SignedDuration::from_secs(60);

/// The steps of one recipient, also where the sender's domain enforces TLS. None at once: the mail leaves for it.
fn steps(mailbox: &Mailbox, enforced: bool) -> &'static [(SignedDuration, Event)] {
    let local = mailbox.local_part();
    let name = local.split_once('+').map_or(local, |(name, _)| name);
    match name.to_ascii_lowercase().as_str() {
        "opened" => &[(SOON, Event::Delivered), (LATER, Event::Opened)],
        "clicked" => &[(SOON, Event::Delivered), (LATER, Event::Opened), (LAST, Event::Clicked)],
        "bounced" => &[(SOON, Event::Bounced)],
        "complained" => &[(SOON, Event::Delivered), (LATER, Event::Complained)],
        "delayed" => &[(SOON, Event::DeliveryDelayed), (AFTER_DELAY, Event::Delivered)],
        "suppressed" => &[(AT_ONCE, Event::Suppressed)],
        "failed" => &[(AT_ONCE, Event::Failed)],
        "no-tls" if enforced => &[(AT_ONCE, Event::Failed)],
        // `no-tls@` too: a mail falls back to an unencrypted connection unless its domain forbids that.
        _ => &[(SOON, Event::Delivered)],
    }
}

pub(crate) fn is_refused(mailbox: &Mailbox, enforced: bool) -> bool {
    steps(mailbox, enforced).iter().any(|(after, _)| after.is_zero())
}

/// What happens to an email with these recipients.
pub(crate) fn course<'a>(recipients: impl Iterator<Item = &'a Mailbox>, enforced: bool) -> SimulatedOutcome {
    let mut events = Vec::with_capacity(2);
    let mut leaves = false;
    for mailbox in recipients {
        leaves |= !is_refused(mailbox, enforced);
        for step in steps(mailbox, enforced) {
            if !events.contains(step) {
                events.push(*step);
            }
        }
    }
    if leaves {
        events.push((AT_ONCE, Event::Sent));
    }
    // Of the same instant the one further along comes last; so an email that left for anybody is `sent`.
    events.sort_unstable();
    SimulatedOutcome { leaves, events }
}
