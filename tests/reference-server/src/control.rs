//! The routes of every service under `/_/`: the links of emails and logins, and control over the service from outside the process.
//!
//! | file | contents |
//! |---|---|
//! | `clock`, `faults`, `trigger` | the clock, the scripted faults, and simulated events |
//! | `downloads`, `unsubscribe` | the pages of links in emails and responses |

pub mod clock;
pub mod downloads;
pub mod faults;
pub mod trigger;
pub mod unsubscribe;

use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::access;
use crate::route::Call;
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::wire::{HandlerResult, described, problem};

/// Protects a response of the sandbox's own routes: no page from another origin can use it, even as an image, and no browser sniffs its type. Applies
/// to every response, including errors.
pub fn add_security_headers(headers: &mut HeaderMap) {
    const POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// `GET /healthz`
pub fn health() -> Response<Bytes> {
    problem::json(StatusCode::OK, &Health { status: "ok" })
}

described! {
    /// The state of a sandbox that serves.
    pub struct Health {
        status: &'static str,
    }
}

/// `GET /_/ready`
pub fn ready(state: &State) -> Response<Bytes> {
    let (keeps, saved) = (state.persistent.load(Relaxed), state.saved.load(Relaxed));
    problem::json(StatusCode::OK, &Readiness { ready: true, keeps, saved })
}

described! {
    /// Whether the sandbox serves.
    pub struct Readiness {
        ready: bool,
        /// Whether it keeps its state on disk.
        keeps: bool,
        /// Whether the last write to disk succeeded.
        saved: bool,
    }
}

/// `POST /_/reset`: deletes all data of the tenant.
pub fn reset(call: &Call<'_>) -> HandlerResult {
    let state = call.state;
    let name = access::name(state, call.request)?;
    state.tenants.reset_tenant(&name);
    state.faults.clear_account(&name);
    state.oauth.remove_tenant(&name);
    state.event_bus.publish(&name, BusEventKind::Forgotten);
    Ok(problem::json(StatusCode::OK, &Reset { reset: true }))
}

described! {
    /// An account that was reset.
    pub struct Reset {
        reset: bool,
    }
}
