//! Live events: `GET /_/stream`, server-sent events for the page.
//!
//! The stream starts with `hello`, upon which the page loads the current state; all later changes are in the stream. Nothing is missed in between,
//! and a page that reconnects or was too slow receives another `hello` and reloads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, header};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::inbox::mail::ReceivedItem;
use crate::inbox::messages::MessageItem;
use crate::inbox::unsent::{self, UnsentItem};
use crate::inbox::{count, next_events};
use idempost_reference_server::access::account;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::Email;
use idempost_reference_server::reply::{Aborted, Parts, Reply};
use idempost_reference_server::state::State;
use idempost_reference_server::state::event_bus::{BusEvent, BusEventKind};
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::mails::{Mails, StoredMail};
use idempost_reference_server::wire::problem::response_with;
use idempost_reference_server::wire::timestamp::to_database_format;

/// The minimum delay between two messages: if thousands of emails per second are captured, they are reported in batches.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The interval of keep-alive messages, which detect closed connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The maximum number of emails per message; beyond it the page reloads.
const MAX_MAILS: usize = 60;

/// Returns the stream with its initial message. On mounts that can't stream, the response ends there, and the page reconnects.
pub(super) fn stream(state: &State, tenant: &str) -> Reply {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        // Reverse proxies must neither compress the stream, which makes some of them buffer it, nor buffer it anyway, as nginx does by default.
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let response = response_with(initial_state(state, tenant).0, headers);
    let tenant = tenant.to_owned();
    Reply::stream(response, |state, stopped| follow(tenant, state, stopped))
}

/// Streams the events of an account until the client disconnects or the mount stops.
fn follow(tenant: String, state: Arc<State>, mut stopped: watch::Receiver<bool>) -> Parts {
    let (sender, receiver) = mpsc::channel(4);
    // Subscribe before the first message is written, so that no event is lost in between.
    let events = state.event_bus.subscribe();
    tokio::spawn(async move {
        tokio::select! {
            () = send(&state, &tenant, events, &sender) => {}
            () = sender.closed() => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    });
    receiver
}

async fn send(
    state: &State,
    tenant: &str,
    mut events: Receiver<BusEvent>,
    sender: &mpsc::Sender<Result<Bytes, Aborted>>,
) {
    let (mut next, mut unsent) = initial_state(state, tenant);
    loop {
        if sender.send(Ok(next)).await.is_err() {
            return;
        }
        sleep(MIN_INTERVAL).await;
        next = loop {
            match timeout(KEEP_ALIVE, next_events(&mut events, usize::MAX)).await {
                Err(_) => break Bytes::from_static(b":\n\n"),
                Ok(None) => return,
                Ok(Some((events, missed))) => {
                    let mut collected = Collected { reload: missed, ..Collected::default() };
                    for event in events {
                        collected.add(event, tenant);
                    }
                    if let Some(message) = collected.message(state, tenant, &mut unsent) {
                        break message;
                    }
                }
            }
        };
    }
}

/// Some of a tenant's events.
#[derive(Default, PartialEq)]
struct Collected {
    mails: Vec<Uuid>,
    received: Vec<Uuid>,
    deleted: Vec<Uuid>,
    marked: HashSet<Uuid>,
    emails: HashSet<Uuid>,
    deliveries: Vec<(Uuid, Uuid)>,
    requests: bool,
    clock: bool,
    /// Whether there are too many events to report individually.
    reload: bool,
}

impl Collected {
    fn add(&mut self, events: BusEvent, tenant: &str) {
        if events.tenant.is_some_and(|concerned| *concerned != *tenant) {
            return;
        }
        match events.kind {
            BusEventKind::Mail { id, email } => {
                self.mails.push(id);
                self.emails.insert(email);
            }
            BusEventKind::Received { id } => self.received.push(id),
            BusEventKind::Deleted { id } => self.deleted.push(id),
            BusEventKind::Marked { id } => drop(self.marked.insert(id)),
            BusEventKind::EmailEvent { email, .. } => drop(self.emails.insert(email)),
            BusEventKind::WebhookEvent { webhook, event } => self.deliveries.push((webhook, event)),
            BusEventKind::Request => self.requests = true,
            BusEventKind::Clock => self.clock = true,
            BusEventKind::Forgotten => self.reload = true,
        }
    }

    /// Returns the message to the page. `unsent` contains the unsent emails of the previous message, and is updated.
    fn message(self, state: &State, name: &str, unsent: &mut HashSet<Uuid>) -> Option<Bytes> {
        if self.reload
            || self.mails.len() + self.received.len() > MAX_MAILS
            || self.deleted.len() + self.marked.len() > 4 * MAX_MAILS
            || self.emails.len() > 4 * MAX_MAILS
        {
            let (hello, all) = initial_state(state, name);
            *unsent = all;
            return Some(hello);
        }
        if self == Self::default() {
            return None;
        }
        let tenant = state.tenants.find(name);
        let tenant = tenant.as_deref();
        let mails = tenant.map(|tenant| existing(&tenant.captured, &self.mails)).unwrap_or_default();
        let received = tenant.map(|tenant| existing(&tenant.received, &self.received)).unwrap_or_default();
        let marked = self.marked.iter().filter_map(|id| {
            let (sent, received) =
                (lock(&tenant?.captured).get(*id).cloned(), lock(&tenant?.received).get(*id).cloned());
            let unread = sent.map(|mail| mail.is_unread()).or_else(|| Some(received?.is_unread()))?;
            Some(json!({"id": id.to_string(), "unread": unread}))
        });
        let changed = self
            .deliveries
            .iter()
            .filter_map(|(webhook, event)| tenant?.deliveries.get(*webhook, *event)?.email);
        let changed: HashSet<_> = self.emails.iter().copied().chain(changed).take(4 * MAX_MAILS).collect();
        let changed = {
            let known = tenant.map(|tenant| lock(&tenant.emails));
            let known = known.as_deref();
            let mut changed: Vec<_> =
                changed.into_iter().map(|id| (id, known.and_then(|known| known.get(id).cloned()))).collect();
            changed.sort_by_key(|(id, _)| known.and_then(|known| known.position(*id)));
            changed
        };
        let emails = changed.iter().map(|(id, email)| {
            json!({"id": id.to_string(), "last_event": email.as_ref().map(|email| email.last_event().as_str())})
        });
        let waits = |email: &Option<Arc<Email>>| {
            email.as_deref().is_some_and(|email| unsent::State::from_email(email).is_some())
        };
        for (id, email) in &changed {
            if waits(email) {
                unsent.insert(*id)
            } else {
                unsent.remove(id)
            };
        }
        let waiting = changed.iter().filter_map(|(_, email)| email.as_deref().filter(|_| waits(email)));
        let mails = mails.iter().filter_map(|mail| Some(MessageItem::new(tenant?, mail)));
        let message = json!({
            "now": now(state, tenant),
            // Oldest first, in the order of capture.
            "mails": mails.collect::<Vec<_>>(),
            "received": received.iter().map(|mail| ReceivedItem(mail)).collect::<Vec<_>>(),
            "deleted": self.deleted,
            // The mails that were marked as read or unread.
            "marked": marked.collect::<Vec<_>>(),
            "counts": counts(tenant),
            // The emails with new events or delivery attempts.
            "emails": emails.collect::<Vec<_>>(),
            // The unsent emails, in the order of acceptance, and the number of all.
            "unsent": waiting.map(UnsentItem).collect::<Vec<_>>(),
            "unsent_count": unsent.len(),
            "requests": self.requests,
            "clock": self.clock,
        });
        Some(event("news", &message))
    }
}

/// Returns the mails that still exist.
fn existing<T: StoredMail>(mails: &Mutex<Mails<T>>, ids: &[Uuid]) -> Vec<Arc<T>> {
    let mails = lock(mails);
    ids.iter().filter_map(|id| mails.get(*id).cloned()).collect()
}

/// Returns the numbers of mails.
fn counts(tenant: Option<&Tenant>) -> Value {
    let (sent, unread_sent) = tenant.map(|tenant| count(&tenant.captured)).unwrap_or_default();
    let (received, unread_received) = tenant.map(|tenant| count(&tenant.received)).unwrap_or_default();
    json!({
        "sent": sent, "received": received, "unread": { "sent": unread_sent, "received": unread_received },
    })
}

/// Returns the initial message with the current state, and the unsent emails.
fn initial_state(state: &State, name: &str) -> (Bytes, HashSet<Uuid>) {
    let tenant = state.tenants.find(name);
    let unsent: HashSet<_> = tenant.as_deref().map(unsent::ids).into_iter().flatten().collect();
    let mut hello = counts(tenant.as_deref());
    hello["account"] = account::key_label(state, name).into();
    hello["now"] = now(state, tenant.as_deref()).into();
    hello["unsent"] = unsent.len().into();
    // The comment is for proxies and clients that wait for the first bytes.
    let mut bytes = b": events of the inbox\n\nretry: 1000\n".to_vec();
    bytes.extend_from_slice(&event("hello", &hello));
    (bytes.into(), unsent)
}

/// Returns the current time of an account.
fn now(state: &State, tenant: Option<&Tenant>) -> String {
    to_database_format(tenant.map_or_else(|| state.clock.now(), |tenant| tenant.clock.now()))
}

fn event(name: &str, data: &Value) -> Bytes {
    // JSON has no line breaks.
    format!("event: {name}\ndata: {data}\n\n").into()
}
