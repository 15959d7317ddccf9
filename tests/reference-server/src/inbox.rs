//! The sandbox's own routes under `/_/`: the captured mails as JSON and as a page, mail that comes in, time, faults, and forgetting.
//!
//! They are no part of the service: they are neither limited nor logged, and scripted faults don't touch them. A tenant
//! is named by its API key, in `Authorization` as everywhere, or by the ID that the list of accounts has for it; what only shows something takes it as `?key=` as well, since a frame, a download
//! and a stream of events can't send a header. The links in the mails of broadcasts, under `/_/unsubscribe/`, and those to received files, under
//! `/_/received/`, need no key, nor does the page under `/_/consent/` on which a person lets a program in.
//!
//! | file | idea |
//! |---|---|
//! | `page`, `page/` | the page itself: static files, which ask for all else |
//! | `view` | the table of what the page looks through |
//! | `account` | accounts by ID and label, in place of their keys |
//! | `live` | server-sent events: what happens, as it happens |
//! | `letter`, `letter/defused` | a mail's sides; its HTML as a document that can do nothing |
//! | `filter`, `messages`, `received`, `export` | lists of mails, and mail that comes in |
//! | `requests`, `timeline`, `templates` | what made a mail, what became of it, what one would look like |
//! | `clock`, `faults`, `trigger` | what is made to happen |

mod account;
mod body;
mod clock;
mod export;
mod faults;
mod filter;
mod letter;
pub(crate) mod live;
mod messages;
pub(crate) mod page;
mod received;
mod requests;
mod templates;
mod timeline;
mod trigger;
mod unsubscribe;
mod view;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::json;
use uuid::Uuid;

use self::filter::Filter;
use crate::lock::lock;
use crate::oauth::consent;
use crate::routes::{no_such_route, wrong_method};
use crate::state::State;
use crate::state::news::What;
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
    request.method() == Method::POST && request.uri().path().trim_matches('/') == "_/clock"
}

/// Answers a request under `/_/`.
pub(crate) fn answer(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let path = request.uri().path();
    let segments: Vec<_> = path.trim_matches('/').split('/').skip(1).collect();
    let canceled = Cancellation::of(request);
    if let Some(answer) = view::answer(state, request, &segments) {
        return answer.unwrap_or_else(Problem::into_response);
    }
    let (answer, allowed): (Option<Outcome>, &[&str]) = match (request.method(), segments.as_slice()) {
        (&Method::GET, ["ready"]) => {
            (Some(Ok(problem::json(StatusCode::OK, &json!({"ready": true, "keeps": state.is_kept()})))), &[])
        }
        (&Method::GET, ["export"]) => (
            Some(
                view::viewer(state, request)
                    .and_then(|tenant| export::answer(&tenant, request.uri().query(), &canceled)),
            ),
            &[],
        ),
        (&Method::GET, ["messages"]) => (
            Some(
                view::viewer(state, request)
                    .and_then(|tenant| messages::index(&tenant, request.uri().query(), &canceled)),
            ),
            &[],
        ),
        (&Method::DELETE, ["messages"]) => {
            (Some(tenant(state, request).map(|tenant| messages::forget(state, &tenant))), &[])
        }
        (&Method::GET, ["messages", id]) => {
            (Some(view::viewer(state, request).and_then(|tenant| messages::show(&tenant, id))), &[])
        }
        (&Method::GET, ["messages", id, "raw"]) => {
            (Some(view::viewer(state, request).and_then(|tenant| messages::raw(&tenant, id))), &[])
        }
        (_, path @ ["clock" | "faults", ..]) => (Some(control(state, request, path)), &[]),
        (&Method::POST, ["messages", id, "events"]) => (
            Some(tenant(state, request).and_then(|tenant| trigger::happens(state, &tenant, id, request))),
            &[],
        ),
        (&Method::GET, ["events"]) => (Some(Ok(trigger::types())), &[]),
        (&Method::POST, ["events"]) => {
            (Some(tenant(state, request).and_then(|tenant| trigger::make_up(state, &tenant, request))), &[])
        }
        (_, ["consent", name]) => (Some(Ok(consent::answer(state, request, name))), &[]),
        (&Method::GET, ["unsubscribe", word]) => (Some(unsubscribe::ask(state, word)), &[]),
        (&Method::POST, ["unsubscribe", word]) => (Some(unsubscribe::end(state, word)), &[]),
        (&Method::POST, ["received"]) => {
            (Some(tenant(state, request).and_then(|tenant| received::arrive(state, &tenant, request))), &[])
        }
        (&Method::GET, ["received", word]) => (Some(received::download(state, word)), &[]),
        (&Method::POST, ["reset"]) => (Some(reset(state, request)), &[]),
        (_, [] | ["ready" | "export"] | ["messages" | "received", _] | ["messages", _, "raw"]) => {
            (None, &["GET"])
        }
        (_, path) if view::has(path) => (None, &["GET"]),
        (_, ["events" | "received"] | ["unsubscribe", _]) => (None, &["GET", "POST"]),
        (_, ["messages"]) => (None, &["GET", "DELETE"]),
        (_, ["reset"] | ["messages", _, "events"]) => (None, &["POST"]),
        _ => (Some(Err(no_such_route(path))), &[]),
    };
    match answer {
        Some(answer) => answer.unwrap_or_else(Problem::into_response),
        None => wrong_method(request.method(), path, allowed),
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
    let segments: Vec<_> = path.trim_matches('/').split('/').skip(1).collect();
    match segments.as_slice() {
        ["unsubscribe", _] => true,
        ["consent", _] => method == Method::GET,
        ["received", word] => Uuid::try_parse(word).is_err(),
        _ => false,
    }
}

/// Whether what is posted to a path under `/_/` is JSON. (A form is posted to the consent page, and a mail to `/_/received`.)
pub(crate) fn takes_json(path: &str) -> bool {
    let segments: Vec<_> = path.trim_matches('/').split('/').skip(1).collect();
    !matches!(segments.as_slice(), ["consent" | "unsubscribe", ..] | ["received"])
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

/// The routes by which time is moved and faults are scripted. Both are one for the whole service; any key may do it.
fn control(state: &State, request: &Request<Bytes>, path: &[&str]) -> Outcome {
    name_of(state, request)?;
    let (method, body) = (request.method(), request.body());
    let allowed: &[&str] = match (method, path) {
        (&Method::GET, ["clock"]) => return Ok(clock::show(state)),
        (&Method::POST, ["clock"]) => return clock::change(state, body),
        (&Method::GET, ["faults"]) => return Ok(faults::index(state)),
        (&Method::POST, ["faults"]) => return faults::add(state, body),
        (&Method::DELETE, ["faults"]) => return Ok(faults::clear(state)),
        (&Method::GET, ["faults", id]) => return faults::show(state, id),
        (&Method::DELETE, ["faults", id]) => return faults::take_back(state, id),
        (_, ["clock"]) => &["GET", "POST"],
        (_, ["faults"]) => &["GET", "POST", "DELETE"],
        (_, ["faults", _]) => &["GET", "DELETE"],
        _ => return Err(no_such_route(request.uri().path())),
    };
    Ok(wrong_method(method, request.uri().path(), allowed))
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

/// `POST /_/reset`: forgets everything of the tenant.
fn reset(state: &State, request: &Request<Bytes>) -> Outcome {
    let name = name_of(state, request)?;
    state.tenants.reset_tenant(&name);
    state.oauth.forget(&name);
    state.news.tell(&name, What::Forgotten);
    Ok(problem::json(StatusCode::OK, &json!({"reset": true})))
}
