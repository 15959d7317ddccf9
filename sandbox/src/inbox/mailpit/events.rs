//! The events of `GET /api/events`, a websocket (RFC 6455): `new` with a message, `update`, `delete`, `truncate` when all messages were deleted,
//! `prune` when a client must reload, and `stats` with the message counts after each of them.
//!
//! A client that reads too slowly misses events and receives `prune`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use uuid::Uuid;

use super::messages::VERSION;
use super::summary::{counts, find_by_id, summary};
use super::websocket;
use crate::inbox::next_events;
use idempost_reference_server::reply::Reply;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::event_bus::{BusEvent, BusEventKind};
use idempost_reference_server::wire::problem::Problem;

/// The maximum number of queued messages for a slow client.
const QUEUE: usize = 64;
/// The minimum delay between two `stats` events.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum number of new messages sent individually; beyond it, clients reload.
const MAX_NEW: usize = 256;

pub(super) fn handshake(call: &AccountCall<'_>) -> Result<Reply, Problem> {
    let headers = call.request.headers();
    let has = |name, wanted: &str| {
        let values = headers.get_all(name).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(wanted))
    };
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let key = key.filter(|_| has(header::UPGRADE, "websocket") && has(header::CONNECTION, "upgrade"));
    let Some(key) = key.filter(|_| has(header::SEC_WEBSOCKET_VERSION, "13")) else {
        return Err(Problem::bad_request("This route is a websocket (RFC 6455, version 13)."));
    };
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let accepted = HeaderValue::try_from(derive_accept_key(key.as_bytes()));
    let accepted = accepted.map_err(|error| Problem::application(error.to_string()))?;
    for (name, value) in [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static("websocket")),
        (header::SEC_WEBSOCKET_ACCEPT, accepted),
    ] {
        response.headers_mut().insert(name, value);
    }
    let tenant = call.tenant.name.clone();
    Ok(Reply::upgrade(response, |state, upgrade, stopped| {
        websocket::serve(upgrade, follow(tenant, state), stopped)
    }))
}

/// Sends the events of an account as JSON texts until the receiver is dropped.
fn follow(tenant: String, state: Arc<State>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let mut events = state.event_bus.subscribe();
    tokio::spawn(async move {
        loop {
            let batch = tokio::select! {
                () = sender.closed() => return,
                batch = next_events(&mut events, MAX_NEW) => batch,
            };
            let Some((batch, missed)) = batch else { return };
            for message in messages(&state, &tenant, &batch, missed) {
                if sender.send(message.to_string()).await.is_err() {
                    return;
                }
            }
            sleep(MIN_INTERVAL).await;
        }
    });
    receiver
}

/// Returns the messages for these events, and the counts afterwards.
fn messages(state: &State, tenant: &str, events: &[BusEvent], missed: bool) -> Vec<Value> {
    let own = events.iter().filter(|event| event.tenant.as_ref().is_none_or(|name| **name == *tenant));
    // It doesn't exist before its first change, and after a reset.
    let tenant = state.tenants.find(tenant);
    let (total, unread) = tenant.as_deref().map(counts).unwrap_or_default();
    let mail = |id: Uuid| find_by_id(tenant.as_deref()?, &id.to_string()).as_ref().map(summary);
    let reload = if total == 0 { "truncate" } else { "prune" };
    let mut messages: Vec<_> = own
        .filter_map(|event| {
            let (kind, data) = match event.kind {
                BusEventKind::Mail { id, .. } | BusEventKind::Received { id } => ("new", mail(id)?),
                BusEventKind::Marked { id } => {
                    let read = mail(id)?["Read"].clone();
                    ("update", json!({"ID": id.to_string(), "Read": read}))
                }
                BusEventKind::Deleted { id } => ("delete", json!({"ID": id.to_string()})),
                BusEventKind::Forgotten => (reload, Value::Null),
                _ => return None,
            };
            Some(json!({"Type": kind, "Data": data}))
        })
        .collect();
    if missed {
        messages.push(json!({"Type": reload, "Data": null}));
    }
    if !messages.is_empty() {
        messages.push(stats(total, unread));
    }
    messages
}

fn stats(total: usize, unread: usize) -> Value {
    json!({"Type": "stats", "Data": {"Total": total, "Unread": unread, "Version": VERSION}})
}
