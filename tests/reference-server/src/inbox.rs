//! The sandbox's own routes under `/_/`: captured emails as JSON and as a page, reception of emails, the clock, faults, and reset.
//!
//! They aren't part of the service: they are neither rate limited nor logged, and exempt from scripted faults. A tenant is named by its API
//! key in `Authorization`, as everywhere, or by its account ID; read-only routes also accept `?key=`, since frames, downloads and event
//! streams can't send a header. The unsubscribe links under `/_/unsubscribe/`, the download links under `/_/received/` and `/_/files/`, the pages of shared emails under `/_/shared/`, and the consent page
//! under `/_/consent/` need no key.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | the route table |
//! | `page`, `page/` | the page itself: static files, which request everything else |
//! | `access` | who may use a route, and the account of a request |
//! | `view` | the viewer's account, and lists without a file of their own |
//! | `account` | account IDs and labels, in place of keys |
//! | `live` | server-sent events |
//! | `mail`, `mail/…` | the details of an email; its HTML as an isolated document, and the remote images in it |
//! | `images` | loading the remote images of an email on request |
//! | `search` | the search language of these lists |
//! | `messages`, `received`, `export` | lists of emails, and reception |
//! | `mailpit` | the API of Mailpit under `/api/v1` |
//! | `openapi` | the contract at `/openapi.json` and `/openapi.yaml` |
//! | `mutations` | marking emails as read, and deletion |
//! | `wait` | responses that wait for an email |
//! | `check` | the check of an email, and of its links on request |
//! | `unsent` | emails that are waiting, failed or canceled |
//! | `requests`, `timeline`, `templates` | the request of an email, its events, previews of templates |
//! | `shared`, `unsubscribe` | the pages of links |
//! | `clock`, `faults`, `trigger` | control of the clock, faults and events |
//! | `release` | release of an email to a real server |

pub(crate) mod access;
mod account;
mod body;
pub(crate) mod check;
mod clock;
mod export;
mod faults;
pub(crate) mod images;
pub(crate) mod live;
mod mail;
pub(crate) mod mailpit;
mod messages;
mod mutations;
mod openapi;
pub(crate) mod page;
mod received;
pub(crate) mod release;
mod requests;
mod routes;
mod search;
mod shared;
mod templates;
mod timeline;
mod trigger;
mod unsent;
mod unsubscribe;
mod view;
pub(crate) mod wait;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use serde_json::json;
use url::form_urlencoded;

use self::access::Access;
use self::routes::Flag;
use self::search::{Search, Searchable};
use crate::lock::lock;
use crate::routes::{no_such_route, wrong_method};
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::tenant::Tenant;
use crate::store::mails::{Mails, StoredMail};
use crate::wire::answers::Answer;
use crate::wire::cancel::Cancellation;
use crate::wire::paging::{Mode, Page, Window};
use crate::wire::problem::{self, Problem};

/// Whether a path belongs to the sandbox itself instead of the service.
pub(crate) fn is_control(path: &str) -> bool {
    path == "/_" || path.starts_with("/_/") || mailpit::is_at(path) || openapi::is_at(path)
}

/// Whether a request moves the clock.
pub(crate) fn moves_clock(request: &Request<Bytes>) -> bool {
    let path = request.uri().path();
    is_control(path) && routes::find(request.method(), path).is_ok_and(|route| route.is(Flag::MovesClock))
}

/// Handles a request under `/_/`.
pub(crate) fn answer(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let (method, path) = (request.method(), request.uri().path());
    if mailpit::is_at(path) {
        return mailpit::answer(state, request);
    }
    if openapi::is_at(path) {
        return openapi::answer(state, request);
    }
    match routes::find(method, path) {
        Ok(route) => route.answer(state, request).unwrap_or_else(Problem::into_response),
        Err(allowed) if allowed.is_empty() => no_such_route(method, path).into_response(),
        Err(allowed) => wrong_method(method, path, &allowed),
    }
}

/// Protects a response under `/_/`: no page of another origin can use it, not even as an image, and no browser sniffs its type. Applies to
/// every response, errors included.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// The access that a request under `/_/` requires. Of an unknown method or path, that of an account, except where all methods are links.
pub(crate) fn required_access(method: &Method, path: &str) -> Access {
    if mailpit::is_at(path) {
        return mailpit::access(method, path);
    }
    if openapi::is_at(path) {
        return Access::Public;
    }
    routes::find(method, path).map_or_else(
        |_| {
            let has_only_links = routes::at(path).next().is_some()
                && routes::at(path).all(|route| route.access == Access::Link);
            if has_only_links { Access::Link } else { Access::Account }
        },
        |route| route.access,
    )
}

/// Checks that a request under `/_/` contains a credential or account ID, in the header or the query, that may use an account.
pub(crate) fn check_credential(state: &State, request: &Request<Bytes>) -> Result<(), Problem> {
    if mailpit::is_at(request.uri().path())
        && let Some(named) = mailpit::named(state, request)
    {
        return named.map(drop);
    }
    let named = access::name_or_query(state, request);
    named.or_else(|problem| access::name(state, request).map_err(|_| problem)).map(drop)
}

/// Whether a request follows a link from an email or to a login, whose URL is its own authorization. People follow it from anywhere, and
/// mail clients post to the unsubscribe link (RFC 8058). Only the consent page itself posts its form.
pub(crate) fn is_link(method: &Method, path: &str) -> bool {
    required_access(method, path) == Access::Link
}

/// Whether a path under `/_/` accepts JSON only. (The consent page posts a form, and `/_/received` accepts a message.)
pub(crate) fn takes_json(path: &str) -> bool {
    !routes::at(path).any(|route| route.is(Flag::AnyContentType))
}

/// Reads the page that a request selects, mode A. `after_id` is `before`, named for clients that request newer mails.
fn window(parameters: &str) -> Result<Window, Problem> {
    let pairs = form_urlencoded::parse(parameters.as_bytes())
        .map(|(name, value)| if name == "after_id" { ("before".into(), value) } else { (name, value) });
    let parameters = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Window::read(Some(&parameters), Mode::A)
}

/// One page of the matching mails. A search runs without the lock of the mails and stops when the client disconnects.
fn matching_page<T: StoredMail + Searchable>(
    tenant: &Tenant,
    mails: &Mutex<Mails<T>>,
    window: &Window,
    search: &Search,
    canceled: &Cancellation,
) -> Result<Page<Arc<T>>, Problem> {
    if search.is_empty() {
        return window.page_where(&lock(mails), |_| true);
    }
    let walk = window.walk(&**lock(mails))?;
    let mut matcher = search.matcher(tenant);
    let page = walk.page_where(|mail| canceled.is_canceled() || matcher.matches(&**mail));
    canceled.check().map(|()| page)
}

/// The beginning of a tenant's key, for people.
pub(crate) fn label(tenant: &str) -> String {
    account::label(tenant)
}

/// Finds or creates the tenant whose key or account ID the header contains.
fn tenant(state: &State, request: &Request<Bytes>) -> Result<Arc<Tenant>, Problem> {
    Ok(state.tenants.tenant(&access::name(state, request)?))
}

/// `GET /_/ready`
fn ready(state: &State) -> Response<Bytes> {
    problem::json(StatusCode::OK, &json!({"ready": true, "keeps": state.is_persistent()}))
}

/// `POST /_/reset`: deletes everything of the tenant.
fn reset(state: &State, request: &Request<Bytes>) -> Answer {
    let name = access::name(state, request)?;
    state.tenants.reset_tenant(&name);
    state.oauth.forget(&name);
    state.event_bus.publish(&name, BusEventKind::Forgotten);
    Ok(problem::json(StatusCode::OK, &json!({"reset": true})))
}
