//! The routes that the page looks through. They only show, and looking makes no tenant.
//!
//! A frame, a download and a stream of events can't send a header, so here the key may also be `?key=`. That makes no difference to others: a page from
//! elsewhere is refused before (see [`guard`](crate::guard)).

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::json;
use url::form_urlencoded;
use uuid::Uuid;

use crate::inbox::filter::Filter;
use crate::inbox::letter::{Letter, ReceivedItem, Tray};
use crate::inbox::{
    Outcome, account, filtered, live, messages, name_of, page, requests, templates, timeline,
};
use crate::lock::lock;
use crate::state::tenant::Tenant;
use crate::state::{State, keys};
use crate::wire::cancel::Cancellation;
use crate::wire::paging::{Mode, Page, Window, list};
use crate::wire::problem::{self, Problem};

/// Answers a `GET` of one of these routes. None: it is none of them.
pub(super) fn answer(state: &State, request: &Request<Bytes>, path: &[&str]) -> Option<Outcome> {
    if request.method() != Method::GET {
        return None;
    }
    let query = request.uri().query();
    let viewer = || viewer(state, request);
    let canceled = Cancellation::of(request);
    let letter = |tray: &str, id: &str| {
        let tray = if tray == "messages" { Tray::Sent } else { Tray::Received };
        let viewer = viewer()?;
        Letter::find(&viewer, tray, id).map(|letter| (viewer, letter))
    };
    Some(match path {
        [] => Ok(page::show()),
        ["assets", name] => page::asset(name),
        ["stream"] => viewer().map(|viewer| live::answer(state, &viewer.name)),
        ["tenants"] => Ok(tenants(state, request)),
        ["received"] => viewer().and_then(|viewer| received(&viewer, query, &canceled)),
        ["received", id] if Uuid::try_parse(id).is_ok() => {
            letter("received", id).map(|(viewer, letter)| letter.about(&viewer))
        }
        ["messages" | "received", id, "about"] => {
            letter(path[0], id).map(|(viewer, letter)| letter.about(&viewer))
        }
        ["messages" | "received", id, "html"] => {
            letter(path[0], id).and_then(|(_, letter)| letter.html_page(&canceled))
        }
        ["messages" | "received", id, "text"] => {
            letter(path[0], id).and_then(|(_, letter)| letter.text_page())
        }
        ["messages" | "received", id, "download"] => letter(path[0], id).map(|(_, letter)| letter.download()),
        ["messages" | "received", id, "files", place] => {
            letter(path[0], id).and_then(|(_, letter)| letter.file(place))
        }
        ["messages" | "received", id, "timeline"] => {
            letter(path[0], id).map(|(viewer, letter)| match letter {
                Letter::Sent(mail) => timeline::of_sent(&viewer, mail.email_id),
                Letter::Received(mail) => timeline::of_received(&viewer, mail.id),
            })
        }
        ["messages", id, "request"] => viewer()
            .and_then(|viewer| requests::that_made(state, &viewer.name, &*messages::find(&viewer, id)?)),
        ["requests"] => viewer().and_then(|viewer| requests::index(state, &viewer.name, query)),
        ["requests", number] => viewer().and_then(|viewer| requests::show(state, &viewer.name, number)),
        ["templates"] => viewer().and_then(|viewer| templates::index(&viewer, query)),
        ["templates", id, "preview"] => viewer().and_then(|viewer| templates::preview(&viewer, id, query)),
        ["templates", id, "preview.html"] => {
            viewer().and_then(|viewer| templates::html(&viewer, id, query, &canceled))
        }
        ["latest.html" | "latest.txt" | "latest.json" | "latest.eml"] => {
            viewer().and_then(|viewer| latest(&viewer, path[0], query, &canceled))
        }
        _ => return None,
    })
}

/// Whether these are the segments of one of the routes, whatever the method.
pub(super) fn has(path: &[&str]) -> bool {
    match path {
        [one] => ["stream", "tenants", "requests", "templates"].contains(one) || one.starts_with("latest."),
        ["assets" | "requests", _] | ["messages" | "received", _, "files", _] => true,
        ["messages" | "received", _, side] => {
            ["about", "html", "text", "download", "timeline", "request"].contains(side)
        }
        ["templates", _, side] => side.starts_with("preview"),
        _ => false,
    }
}

/// The viewer's account, by the key or the account ID in the header or in the query.
pub(super) fn viewer(state: &State, request: &Request<Bytes>) -> Result<Arc<Tenant>, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let key = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "key");
    let Some((_, word)) = &key else { return Ok(state.tenants.look(&name_of(state, request)?)) };
    if let Some(tenant) = account::named(state, word) {
        return tenant;
    }
    let credential = keys::credential(word, &state.tenants.key_book);
    let name = credential.ok_or_else(Problem::invalid_api_key)?.tenant;
    Ok(state.tenants.look(&name))
}

/// `GET /_/tenants`: all accounts, most recently used first. It needs no credential, so it shows no keys; with a credential it marks the account of
/// that as current.
fn tenants(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let current = name_of(state, request).ok();
    let tenants = state.tenants.all();
    let data: Vec<_> = tenants
        .iter()
        .map(|tenant| {
            let (sent, received) = (lock(&tenant.captured).len(), lock(&tenant.received).len());
            json!({
                "id": account::id(state, &tenant.name),
                "label": account::label(&tenant.name),
                "current": current.as_ref() == Some(&tenant.name),
                "sent": sent,
                "received": received,
            })
        })
        .collect();
    problem::json(StatusCode::OK, &json!({"object": "list", "data": data, "has_more": false}))
}

/// `GET /_/received`, mode A: what came in, with the filters of `GET /_/messages`.
fn received(tenant: &Tenant, query: Option<&str>, canceled: &Cancellation) -> Outcome {
    let query = query.unwrap_or_default();
    let filter = Filter::read(query)?;
    let query = messages::renamed(query);
    let page = filtered(&tenant.received, &Window::read(Some(&query), Mode::A)?, &filter, canceled)?;
    let items = page.items.iter().map(|mail| ReceivedItem::of(mail)).collect();
    Ok(list(&Page { items, has_more: page.has_more }))
}

/// `GET /_/latest.html?to=…`: the newest captured mail that fits, for a test that has a browser and nothing else.
fn latest(tenant: &Tenant, name: &str, query: Option<&str>, canceled: &Cancellation) -> Outcome {
    let filter = Filter::read(query.unwrap_or_default())?;
    let page = filtered(&tenant.captured, &Window::read(Some("limit=1"), Mode::A)?, &filter, canceled)?;
    let mail = page.items.into_iter().next();
    let letter = mail.map(Letter::Sent).ok_or_else(|| Problem::not_found("No captured mail fits."))?;
    match name {
        "latest.html" => letter.html_page(canceled),
        "latest.txt" => letter.text_page(),
        "latest.eml" => Ok(letter.download()),
        _ => messages::show(tenant, &letter.id()),
    }
}
