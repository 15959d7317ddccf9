//! Simulated outcomes, by the local parts of the recipients.
//!
//! `delivered@`, `opened@`, `clicked@`, `bounced@`, `complained@`, `delayed@`, `suppressed@`, `failed@` and `no-tls@`, at any domain and
//! with any `+label`, have that outcome; all other recipients are delivered to.

use jiff::SignedDuration;

use crate::model::email::Event;
use crate::model::email::recipients::Mailbox;

/// The events of an email, relative to the time of sending.
#[derive(Debug, PartialEq, Eq)]
pub struct SimulatedOutcome {
    /// Whether any recipient remains to send to.
    pub is_sent: bool,
    /// In chronological order.
    pub events: Vec<(SignedDuration, Event)>,
}

const IMMEDIATELY: SignedDuration = SignedDuration::ZERO;
const FIRST_DELAY: SignedDuration = SignedDuration::from_secs(1);
const SECOND_DELAY: SignedDuration = SignedDuration::from_secs(2);
const THIRD_DELAY: SignedDuration = SignedDuration::from_secs(3);
const DELAYED_DELIVERY: SignedDuration = SignedDuration::from_secs(60);

/// The events of one recipient.
type Steps = &'static [(SignedDuration, Event)];

const DELIVERED: Steps = &[(FIRST_DELAY, Event::Delivered)];
const NO_TLS: &str = "no-tls";
/// The simulated outcomes by name. An event at time zero means that nothing is sent to the recipient.
const OUTCOMES: [(&str, Steps); 8] = [
    ("opened", &[(FIRST_DELAY, Event::Delivered), (SECOND_DELAY, Event::Opened)]),
    (
        "clicked",
        &[(FIRST_DELAY, Event::Delivered), (SECOND_DELAY, Event::Opened), (THIRD_DELAY, Event::Clicked)],
    ),
    ("bounced", &[(FIRST_DELAY, Event::Bounced)]),
    ("complained", &[(FIRST_DELAY, Event::Delivered), (SECOND_DELAY, Event::Complained)]),
    ("delayed", &[(FIRST_DELAY, Event::DeliveryDelayed), (DELAYED_DELIVERY, Event::Delivered)]),
    ("suppressed", &[(IMMEDIATELY, Event::Suppressed)]),
    ("failed", &[(IMMEDIATELY, Event::Failed)]),
    (NO_TLS, &[(IMMEDIATELY, Event::Failed)]),
];

/// The events of one recipient, depending on whether the sender's domain enforces TLS: otherwise, delivery to `no-tls@` falls back to an
/// unencrypted connection.
fn steps(mailbox: &Mailbox, enforced: bool) -> Steps {
    let local = mailbox.local_part();
    let name = local.split_once('+').map_or(local, |(name, _)| name);
    let outcome = OUTCOMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    outcome.filter(|(name, _)| enforced || *name != NO_TLS).map_or(DELIVERED, |(_, steps)| *steps)
}

pub fn is_rejected(mailbox: &Mailbox, enforced: bool) -> bool {
    steps(mailbox, enforced).iter().any(|(after, _)| after.is_zero())
}

/// Whether this event is part of the recipient's simulated outcome.
pub fn has_event(mailbox: &Mailbox, event: Event) -> bool {
    steps(mailbox, false).iter().any(|(_, caused)| *caused == event)
}

/// The simulated outcome of an email with these recipients.
pub fn outcome<'a>(recipients: impl Iterator<Item = &'a Mailbox>, enforced: bool) -> SimulatedOutcome {
    let mut events = Vec::with_capacity(2);
    let mut is_sent = false;
    for mailbox in recipients {
        let steps = steps(mailbox, enforced);
        is_sent |= !steps.iter().any(|(after, _)| after.is_zero());
        for step in steps {
            if !events.contains(step) {
                events.push(*step);
            }
        }
    }
    if is_sent {
        events.push((IMMEDIATELY, Event::Sent));
    }
    // Of simultaneous events, the more advanced one comes last, so an email with any remaining recipient becomes `sent`.
    events.sort_unstable();
    SimulatedOutcome { is_sent, events }
}
