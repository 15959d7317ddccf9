//! The sandbox's own routes under `/_/`: the captured mails as JSON and as a page, mail that comes in, time, faults, and forgetting.
//!
//! They are no part of the service: they are neither limited nor logged, and scripted faults don't touch them. A tenant
//! is named by its API key, in `Authorization` as everywhere, or by the ID that the list of accounts has for it; what only shows something takes it as `?key=` as well, since a frame, a download
//! and a stream of events can't send a header. The links in the mails of broadcasts, under `/_/unsubscribe/`, and those to received files, under
//! `/_/received/`, need no key, nor does the page under `/_/consent/` on which a person lets a program in.
//!
//! | file | idea |
//! |---|---|
//! | `routes` | the table of routes |
//! | `page`, `page/` | the page itself: static files, which ask for all else |
//! | `view` | whose mails are looked at, and the lists that belong to no other file |
//! | `account` | accounts by ID and label, in place of their keys |
//! | `live` | server-sent events: what happens, as it happens |
//! | `letter`, `letter/defused` | a mail's sides; its HTML as a document that can do nothing |
//! | `filter`, `messages`, `received`, `export` | lists of mails, and mail that comes in |
//! | `unsent` | emails that have not left: they wait, failed or were canceled |
//! | `requests`, `timeline`, `templates` | what made a mail, what became of it, what one would look like |
//! | `clock`, `faults`, `trigger` | what is made to happen |

mod account;
mod body;
mod clock;
mod export;
mod faults;
mod filter;
pub(crate) mod live;
mod mail;
mod messages;
pub(crate) mod page;
mod received;
mod requests;
mod routes;
mod templates;
mod timeline;
mod trigger;
mod unsent;
mod unsubscribe;
mod view;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::json;

use self::filter::Filter;
use self::routes::Flag;
use crate::lock::lock;
use crate::routes::{no_such_route, wrong_method};
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::tenant::Tenant;
use crate::store::ledger::Ledger;
use crate::wire::cancel::Cancellation;
use crate::wire::paging::{Page, Window};
use crate::wire::problem::{self, Problem};

/// Whether a path belongs to the sandbox itself, not to the service.
pub(crate) fn is_control(path: &str) -> bool {
    path == "/_" || path.starts_with("/_/")
}

/// Whether a request moves the clock.
pub(crate) fn moves_clock(request: &Request<Bytes>) -> bool {
    let path = request.uri().path();
    is_control(path) && routes::find(request.method(), path).is_ok_and(|route| route.is(Flag::MovesClock))
}

/// Answers a request under `/_/`.
pub(crate) fn answer(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let (method, path) = (request.method(), request.uri().path());
    match routes::find(method, path) {
        Ok(route) => route.answer(state, request).unwrap_or_else(Problem::into_response),
        Err(allowed) if allowed.is_empty() => no_such_route(path).into_response(),
        Err(allowed) => wrong_method(method, path, &allowed),
    }
}

/// Makes an answer under `/_/` one that no page from elsewhere may use, not even as a picture, and that no browser takes for another type than it says.
/// It is done to every one, refusals included.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Whether a request follows a link which stands in a mail or leads to a login, and which proves by itself what it permits. People follow it from
/// anywhere, and a mail program posts to the unsubscribe link (RFC 8058). Only the consent page itself posts its form.
pub(crate) fn is_link(method: &Method, path: &str) -> bool {
    let of_path = || routes::at(path).next().is_some() && routes::at(path).all(|route| route.is(Flag::Link));
    routes::find(method, path).map_or_else(|_| of_path(), |route| route.is(Flag::Link))
}

/// Whether what is posted to a path under `/_/` is JSON. (A form is posted to the consent page, and a mail to `/_/received`.)
pub(crate) fn takes_json(path: &str) -> bool {
    !routes::at(path).any(|route| route.is(Flag::AnyBody))
}

/// The page of a ledger that fits. A search runs without the ledger's lock and stops when the client disconnects.
fn filtered<T: filter::Mail>(
    ledger: &Mutex<Ledger<Arc<T>>>,
    window: &Window,
    filter: &Filter,
    canceled: &Cancellation,
) -> Result<Page<Arc<T>>, Problem> {
    if filter.is_open() {
        return window.look(&lock(ledger), |_| true);
    }
    let walk = window.walk(&lock(ledger))?;
    let page = walk.look(|mail| canceled.is_canceled() || filter.lets_through(&**mail));
    canceled.check().map(|()| page)
}

type Outcome = Result<Response<Bytes>, Problem>;

/// The name of the tenant whose key or account ID the request carries. A send-only key may look: there is nothing here to protect.
fn name_of(state: &State, request: &Request<Bytes>) -> Result<String, Problem> {
    let account = account::bearer(request.headers()).and_then(|word| account::named(state, word));
    match account {
        Some(tenant) => Ok(tenant?.name.clone()),
        None => Ok(state.credential(request.headers())?.tenant.into_owned()),
    }
}

/// The tenant of that name, made if there is none.
fn tenant(state: &State, request: &Request<Bytes>) -> Result<Arc<Tenant>, Problem> {
    Ok(state.tenants.tenant(&name_of(state, request)?))
}

/// `GET /_/ready`
fn ready(state: &State) -> Response<Bytes> {
    problem::json(StatusCode::OK, &json!({"ready": true, "keeps": state.is_persistent()}))
}

/// `POST /_/reset`: forgets everything of the tenant.
fn reset(state: &State, request: &Request<Bytes>) -> Outcome {
    let name = name_of(state, request)?;
    state.tenants.reset_tenant(&name);
    state.oauth.forget(&name);
    state.event_bus.publish(&name, BusEventKind::Forgotten);
    Ok(problem::json(StatusCode::OK, &json!({"reset": true})))
}
