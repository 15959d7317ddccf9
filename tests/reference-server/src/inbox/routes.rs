//! The table of the sandbox's own routes: method, path, required access, handler and flags, one line per route.

use bytes::Bytes;
use http::{Method, Request};
use jiff::Timestamp;
use uuid::Uuid;

use self::Flag::{AnyContentType, MovesClock};
use self::Handler::{AnyKey, Changed, MailView, Open, Viewer};
use crate::inbox::access::Access::{self, Account, Link, Password, Public};
use crate::inbox::mail;
use crate::inbox::{
    access, check, clock, export, faults, images, live, messages, mutations, page, ready, received, release,
    requests, reset, shared, templates, tenant, timeline, trigger, unsubscribe, view, wait,
};
use crate::oauth::consent;
use crate::resources::emails::attachments as sent_attachments;
use crate::resources::emails::metrics;
use crate::resources::received::attachments as received_attachments;
use crate::state::State;
use crate::state::mails::Folder;
use crate::state::tenant::Tenant;
use crate::wire::answers::Answer;
use crate::wire::cancel::Cancellation;

/// A route.
pub(super) struct Route {
    method: Method,
    /// `{…}` matches one segment and `{uuid}` a UUID; `a|b` is either. Of several matching paths, the first one counts.
    path: &'static str,
    /// What the route requires if the sandbox has a password.
    pub(super) access: Access,
    handler: Handler,
    flags: &'static [Flag],
}

/// Exceptions to the defaults of a route.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    /// Bodies needn't be JSON.
    AnyContentType,
    MovesClock,
}

/// The handler of a request, by the account that it receives.
enum Handler {
    Open(fn(Call<'_>) -> Answer),
    /// None, although the request needs a valid key or the password: the route belongs to the whole service.
    AnyKey(fn(Call<'_>) -> Answer),
    /// The viewer's account, which isn't created.
    Viewer(fn(Call<'_>, &Tenant) -> Answer),
    /// The account to change; created if it doesn't exist.
    Changed(fn(Call<'_>, &std::sync::Arc<Tenant>) -> Answer),
    /// The email of the path, and the viewer's account.
    MailView(fn(Call<'_>, &Tenant, &mail::MailView) -> Answer),
}

/// A request.
#[derive(Clone, Copy)]
struct Call<'a> {
    state: &'a State,
    request: &'a Request<Bytes>,
}

const fn route(method: Method, path: &'static str, access: Access, handler: Handler) -> Route {
    Route { method, path, access, handler, flags: &[] }
}

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PATCH: Method = Method::PATCH;
const DELETE: Method = Method::DELETE;

#[rustfmt::skip] // A line a route.
const ROUTES: &[Route] = &[
    route(GET, "/_", Password, Open(|call| Ok(page::show(call.state, call.query())))),
    route(GET, "/_/assets/{name}", Public, Open(|call| page::asset(call.segment(1)))),
    route(GET, "/_/ready", Public, Open(|call| Ok(ready(call.state)))),
    route(GET, "/_/stream", Account, Viewer(|call, tenant| Ok(live::answer(call.state, &tenant.name)))),
    route(GET, "/_/tenants", Password, Open(|call| Ok(view::tenants(call.state, call.request)))),
    // Captured emails
    route(GET, "/_/export", Account, Viewer(|call, tenant| export::answer(tenant, call.query(), call.now(), &call.canceled()))),
    route(GET, "/_/latest.html|latest.txt|latest.json|latest.eml", Account, Viewer(|call, tenant| view::latest(tenant, call.segment(0), call.query(), call.now(), &call.canceled()))),
    route(GET, "/_/messages", Account, Viewer(|call, tenant| messages::index(tenant, call.query(), call.now(), &call.canceled()))),
    route(PATCH, "/_/messages", Account, Changed(|call, tenant| mutations::mark(call.state, tenant, call.folder(), call.request))),
    route(DELETE, "/_/messages", Account, Changed(|call, tenant| mutations::delete(call.state, tenant, call.folder(), call.request))),
    route(GET, "/_/messages/wait", Account, Viewer(|call, tenant| wait::answer(call.state, tenant, call.query(), &call.canceled()))),
    route(GET, "/_/messages/{id}", Account, Viewer(|call, tenant| messages::show(tenant, call.segment(1)))),
    route(PATCH, "/_/messages/{id}", Account, Changed(|call, tenant| mutations::mark_one(call.state, tenant, call.folder(), call.segment(1), call.request.body()))),
    route(DELETE, "/_/messages/{id}", Account, Changed(|call, tenant| mutations::delete_one(call.state, tenant, call.folder(), call.segment(1)))),
    route(GET, "/_/messages/{id}/raw", Account, Viewer(|call, tenant| messages::raw(tenant, call.segment(1)))),
    route(GET, "/_/messages/{id}/request", Account, Viewer(|call, tenant| requests::of_email(call.state, &tenant.name, mail::MailView::find_email(tenant, call.folder(), call.segment(1))?))),
    route(POST, "/_/messages/{id}/events", Account, Changed(|call, tenant| trigger::record(call.state, tenant, call.segment(1), call.request))),
    // Received emails
    route(GET, "/_/received", Account, Viewer(|call, tenant| view::received(tenant, call.query(), call.now(), &call.canceled()))),
    route(POST, "/_/received", Account, Changed(|call, tenant| received::arrive(call.state, tenant, call.request))).with(&[AnyContentType]),
    route(PATCH, "/_/received", Account, Changed(|call, tenant| mutations::mark(call.state, tenant, call.folder(), call.request))),
    route(DELETE, "/_/received", Account, Changed(|call, tenant| mutations::delete(call.state, tenant, call.folder(), call.request))),
    route(GET, "/_/received/{uuid}", Account, MailView(|_, tenant, mail| Ok(mail.details(tenant)))),
    route(PATCH, "/_/received/{uuid}", Account, Changed(|call, tenant| mutations::mark_one(call.state, tenant, call.folder(), call.segment(1), call.request.body()))),
    route(DELETE, "/_/received/{uuid}", Account, Changed(|call, tenant| mutations::delete_one(call.state, tenant, call.folder(), call.segment(1)))),
    route(GET, "/_/received/{token}", Link, Open(|call| received::download(received_attachments::open(call.state, call.segment(1))))),
    route(GET, "/_/files/{token}", Link, Open(|call| received::download(sent_attachments::open(call.state, call.segment(1))))),
    // Details of both
    route(GET, "/_/messages|received/{id}/about", Account, MailView(|_, tenant, mail| Ok(mail.details(tenant)))),
    route(GET, "/_/messages|received/{id}/html", Account, MailView(|call, _, mail| mail.html_page(call.state, call.query(), &call.canceled()))),
    route(GET, "/_/messages|received/{id}/images", Account, MailView(|call, _, mail| Ok(images::show(call.state, mail)))),
    route(POST, "/_/messages|received/{id}/images", Account, MailView(|call, _, mail| images::load(call.state, mail))),
    route(GET, "/_/messages|received/{id}/check", Account, MailView(|_, _, mail| Ok(check::answer(mail)))),
    route(POST, "/_/messages|received/{id}/check", Account, MailView(|call, _, mail| check::request_links(call.state, mail))),
    route(GET, "/_/messages|received/{id}/text", Account, MailView(|_, _, mail| mail.text_page())),
    route(GET, "/_/messages|received/{id}/download", Account, MailView(|_, _, mail| mail.download())),
    route(GET, "/_/messages|received/{id}/files/{index}", Account, MailView(|call, _, mail| mail.file(call.segment(3), call.query()))),
    route(GET, "/_/messages|received/{id}/timeline", Account, Viewer(|call, tenant| timeline::answer(tenant, call.folder(), call.segment(1)))),
    route(POST, "/_/messages|received/{id}/release", Account, Changed(|call, tenant| release::ask(call.state, tenant, call.folder(), call.segment(1), call.request))),
    route(GET, "/_/relay", Account, AnyKey(|call| Ok(release::server(call.state)))),
    // Metrics, recorded requests, and templates
    route(GET, "/_/metrics", Account, Viewer(|call, tenant| metrics::answer(tenant, call.query(), call.now()))),
    route(GET, "/_/requests", Account, Viewer(|call, tenant| requests::index(call.state, &tenant.name, call.query()))),
    route(GET, "/_/requests/{number}", Account, Viewer(|call, tenant| requests::show(call.state, &tenant.name, call.segment(1)))),
    route(GET, "/_/templates", Account, Viewer(|call, tenant| templates::index(tenant, call.query()))),
    route(GET, "/_/templates/{id}/preview", Account, Viewer(|call, tenant| templates::preview(tenant, call.segment(1), call.query()))),
    route(GET, "/_/templates/{id}/preview.html", Account, Viewer(|call, tenant| templates::html(tenant, call.segment(1), call.query(), &call.canceled()))),
    // Control
    route(GET, "/_/events", Account, Open(|call| Ok(trigger::types(call.state)))),
    route(POST, "/_/events", Account, Changed(|call, tenant| trigger::send_sample(call.state, tenant, call.request))),
    route(GET, "/_/clock", Account, AnyKey(|call| Ok(clock::show(call.state)))),
    route(POST, "/_/clock", Password, AnyKey(|call| clock::change(call.state, call.request.body()))).with(&[MovesClock]),
    route(GET, "/_/faults", Password, AnyKey(|call| Ok(faults::index(call.state)))),
    route(POST, "/_/faults", Password, AnyKey(|call| faults::add(call.state, call.request.body()))),
    route(DELETE, "/_/faults", Password, AnyKey(|call| Ok(faults::clear(call.state)))),
    route(GET, "/_/faults/{id}", Password, AnyKey(|call| faults::show(call.state, call.segment(1)))),
    route(DELETE, "/_/faults/{id}", Password, AnyKey(|call| faults::remove(call.state, call.segment(1)))),
    route(POST, "/_/reset", Account, AnyKey(|call| reset(call.state, call.request))),
    // Links, with their forms. Only the consent page itself posts its own.
    route(GET, "/_/unsubscribe/{token}", Link, Open(|call| unsubscribe::ask(call.state, call.segment(1)))),
    route(POST, "/_/unsubscribe/{token}", Link, Open(|call| unsubscribe::confirm(call.state, call.segment(1), call.request.body()))).with(&[AnyContentType]),
    route(GET, "/_/shared/{token}", Link, Open(|call| shared::page(call.state, call.segment(1)))),
    route(GET, "/_/shared/{token}/html", Link, Open(|call| shared::html(call.state, call.segment(1), &call.canceled()))),
    route(GET, "/_/shared/{token}/files/{index}", Link, Open(|call| shared::file(call.state, call.segment(1), call.segment(3)))),
    route(GET, "/_/consent/{name}", Link, Open(|call| Ok(consent::answer(call.state, call.request, call.segment(1))))),
    route(POST, "/_/consent/{name}", Password, Open(|call| Ok(consent::answer(call.state, call.request, call.segment(1))))).with(&[AnyContentType]),
];

impl Route {
    const fn with(mut self, flags: &'static [Flag]) -> Self {
        self.flags = flags;
        self
    }

    pub(super) fn is(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    pub(super) fn answer(&self, state: &State, request: &Request<Bytes>) -> Answer {
        let call = Call { state, request };
        match self.handler {
            Open(handler) => handler(call),
            // With a password, the guard has checked it or the key.
            AnyKey(handler) if state.settings.password.is_some() => handler(call),
            AnyKey(handler) => access::name_or_query(state, request).and_then(|_| handler(call)),
            Viewer(handler) => handler(call, &*view::viewer(state, request)?),
            Changed(handler) => handler(call, &tenant(state, request)?),
            MailView(handler) => {
                let viewer = view::viewer(state, request)?;
                handler(call, &viewer, &mail::MailView::find(&viewer, call.folder(), call.segment(1))?)
            }
        }
    }
}

impl<'a> Call<'a> {
    /// A segment of the path after `/_`, by index; empty if there are fewer.
    fn segment(self, index: usize) -> &'a str {
        segments(self.request.uri().path()).nth(index).unwrap_or_default()
    }

    /// The folder of a path of mails.
    fn folder(self) -> Folder {
        if self.segment(0) == "messages" { Folder::Sent } else { Folder::Received }
    }

    fn query(self) -> Option<&'a str> {
        self.request.uri().query()
    }

    /// The time of the sandbox's clock.
    fn now(self) -> Timestamp {
        self.state.clock.now()
    }

    fn canceled(self) -> Cancellation {
        Cancellation::of(self.request)
    }
}

/// The routes of a path; none if the path is unknown.
pub(super) fn at(path: &str) -> impl Iterator<Item = &'static Route> {
    let first = ROUTES.iter().find(|route| matches(route.path, path)).map(|route| route.path);
    ROUTES.iter().filter(move |route| Some(route.path) == first)
}

/// Finds the route of a method and path. The error contains the methods that the path supports, none if it is unknown.
pub(super) fn find(method: &Method, path: &str) -> Result<&'static Route, Vec<&'static str>> {
    let route = at(path).find(|route| route.method == *method);
    route.ok_or_else(|| at(path).map(|route| route.method.as_str()).collect())
}

/// The segments of a path after `/_`. Trailing slashes are ignored.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_end_matches('/').split('/').skip(2)
}

fn matches(pattern: &str, path: &str) -> bool {
    let fits = |wanted: &str, given: &str| match wanted {
        "{uuid}" => Uuid::try_parse(given).is_ok(),
        _ => wanted.starts_with('{') || wanted.split('|').any(|one| one == given),
    };
    segments(pattern).count() == segments(path).count()
        && segments(pattern).zip(segments(path)).all(|(wanted, given)| fits(wanted, given))
}
