//! The route table: method, path, scope and handler, one line per route.

mod find;
mod table;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};

use crate::model::contact_import;
use crate::model::credential::Scope;
use crate::oauth::{authorize, grants, metadata, register, revoke, token};
use crate::resources::{
    api_keys, automations, broadcasts, contact_imports, contact_properties, contacts, domains, emails,
    events, inboxes, logs, received, segments, suppressions, templates, topics, usage, webhooks,
};
use crate::state::State;
use crate::wire::problem::Problem;

pub(crate) use crate::context::Context;
pub(crate) use crate::routes::find::{Found, find, find_open, is_open};
pub(crate) use crate::wire::answers::{Answer, no_such_route, wrong_method};

/// Handles one request of a tenant.
pub(crate) type Handler = fn(&Context<'_>) -> Answer;

/// A route.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// `{…}` matches one segment. Literal segments take precedence and are listed first.
    pub(crate) path: &'static str,
    pub(crate) scope: Scope,
    /// Whether the route supports `Idempotency-Key`.
    pub(crate) keyed: bool,
    pub(crate) handler: Handler,
}

impl Route {
    /// Whether the operation is in beta.
    pub(crate) fn is_beta(&self) -> bool {
        self.path.starts_with("/inboxes")
    }

    /// The path within which an `Idempotency-Key` is unique: a key that was used for one record can be used for another.
    pub(crate) fn scope_of_key<'a>(&'a self, request: &'a Request<Bytes>) -> &'a str {
        if self.path.contains('{') { request.uri().path() } else { self.path }
    }
}

/// 404: the operation is in beta, and the service doesn't serve those.
pub(crate) fn beta_disabled(route: &Route) -> Problem {
    let message = format!(
        "{} {} is in beta, and this sandbox serves no beta operations. Start it with `--beta` (`Settings::beta`) to enable them.",
        route.method, route.path
    );
    Problem::new(StatusCode::NOT_FOUND, "beta_disabled", message)
}

/// A route that needs full access.
const fn route(method: Method, path: &'static str, handler: Handler) -> Route {
    Route { method, path, scope: Scope::Full, keyed: false, handler }
}

const fn get(path: &'static str, handler: Handler) -> Route {
    route(Method::GET, path, handler)
}

const fn post(path: &'static str, handler: Handler) -> Route {
    route(Method::POST, path, handler)
}

const fn patch(path: &'static str, handler: Handler) -> Route {
    route(Method::PATCH, path, handler)
}

const fn put(path: &'static str, handler: Handler) -> Route {
    route(Method::PUT, path, handler)
}

const fn delete(path: &'static str, handler: Handler) -> Route {
    route(Method::DELETE, path, handler)
}

/// A route that sends emails, and supports `Idempotency-Key`.
const fn keyed(path: &'static str, scope: Scope, handler: Handler) -> Route {
    Route { method: Method::POST, path, scope, keyed: true, handler }
}

/// Lists every route as method and path.
pub(crate) fn all() -> impl Iterator<Item = (Method, &'static str)> {
    let open = OPEN_ROUTES.iter().map(|route| (route.method.clone(), route.path));
    ROUTES.iter().map(|route| (route.method.clone(), route.path)).chain(open)
}

/// Handles one request without a credential.
pub(crate) type OpenHandler = fn(&State, &Request<Bytes>) -> Response<Bytes>;

/// A route that needs no credential.
pub(crate) struct OpenRoute {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) handler: OpenHandler,
}

const fn open(method: Method, path: &'static str, handler: OpenHandler) -> OpenRoute {
    OpenRoute { method, path, handler }
}

/// The routes without a credential.
pub(crate) const OPEN_ROUTES: &[OpenRoute] = &[
    open(Method::GET, authorize::PATH, authorize::begin),
    open(Method::POST, "/oauth/token", token::exchange),
    open(Method::POST, register::PATH, register::register),
    open(Method::POST, "/oauth/revoke", revoke::revoke),
    open(Method::GET, metadata::SERVER, metadata::server),
    open(Method::GET, metadata::RESOURCE, metadata::resource),
    open(Method::GET, "/.well-known/jwks.json", metadata::keys),
];

/// All other routes.
pub(crate) const ROUTES: &[Route] = &[
    keyed("/emails", Scope::Send, emails::send),
    keyed("/email", Scope::Send, emails::send),
    keyed("/emails/sending", Scope::Send, emails::send),
    keyed("/email/sending", Scope::Send, emails::send),
    keyed("/emails/batch", Scope::Full, emails::batch::send),
    get("/emails", emails::index),
    // Received emails. Listed before the sent ones, so that `receiving` isn't matched as an ID.
    get("/emails/receiving", received::index),
    get("/emails/receiving/{email_id}", received::show),
    get("/emails/receiving/{email_id}/attachments", received::attachments::index),
    get("/emails/receiving/{email_id}/attachments/{attachment_id}", received::attachments::show),
    get("/emails/metrics", emails::metrics::show),
    // Sent emails, by ID
    get("/emails/{email_id}", emails::show),
    get("/emails/{email_id}/attachments", emails::attachments::index),
    get("/emails/{email_id}/attachments/{attachment_id}", emails::attachments::show),
    patch("/emails/{email_id}", emails::schedule::update),
    post("/emails/{email_id}/share", emails::share::create),
    post("/emails/{email_id}/cancel", emails::schedule::cancel),
    // Broadcasts
    post("/broadcasts", broadcasts::create),
    get("/broadcasts", broadcasts::index),
    get("/broadcasts/{broadcast_id}", broadcasts::show),
    patch("/broadcasts/{broadcast_id}", broadcasts::update),
    delete("/broadcasts/{broadcast_id}", broadcasts::delete),
    Route {
        method: Method::POST,
        path: "/broadcasts/{broadcast_id}/send",
        scope: Scope::Send,
        keyed: false,
        handler: broadcasts::send,
    },
    post("/broadcasts/{broadcast_id}/cancel", broadcasts::cancel),
    get("/broadcasts/{broadcast_id}/recipients", broadcasts::recipients::index),
    get("/broadcasts/{broadcast_id}/clicked-links", broadcasts::clicked_links::index),
    post("/broadcasts/{broadcast_id}/duplicate", broadcasts::duplicate),
    // Templates
    post("/templates", templates::create),
    get("/templates", templates::index),
    get("/templates/{id_or_alias}", templates::show),
    patch("/templates/{id_or_alias}", templates::update),
    delete("/templates/{id_or_alias}", templates::delete),
    post("/templates/{id_or_alias}/publish", templates::publish),
    post("/templates/{id_or_alias}/duplicate", templates::duplicate),
    // Domains
    post("/domains", domains::create),
    get("/domains", domains::index),
    post("/domains/claim", domains::claims::create),
    get("/domains/{domain_id}", domains::show),
    patch("/domains/{domain_id}", domains::update),
    delete("/domains/{domain_id}", domains::delete),
    post("/domains/{domain_id}/verify", domains::verify),
    get("/domains/{domain_id}/claim", domains::claims::show),
    post("/domains/{domain_id}/claim/verify", domains::claims::verify),
    // Contact imports. Listed before the contacts, so that `imports` isn't matched as an address.
    post(contact_import::PATH, contact_imports::create),
    get(contact_import::PATH, contact_imports::index),
    get("/contacts/imports/{import_id}", contact_imports::show),
    // Contacts
    post("/contacts", contacts::create),
    get("/contacts", contacts::index),
    get("/contacts/{id_or_email}", contacts::show),
    patch("/contacts/{id_or_email}", contacts::update),
    delete("/contacts/{id_or_email}", contacts::delete),
    get("/contacts/{id_or_email}/segments", contacts::segments::index),
    post("/contacts/{id_or_email}/segments/{segment_id}", contacts::segments::add),
    delete("/contacts/{id_or_email}/segments/{segment_id}", contacts::segments::remove),
    get("/contacts/{id_or_email}/topics", contacts::topics::index),
    patch("/contacts/{id_or_email}/topics", contacts::topics::update),
    // Contact properties
    post("/contact-properties", contact_properties::create),
    get("/contact-properties", contact_properties::index),
    get("/contact-properties/{contact_property_id}", contact_properties::show),
    patch("/contact-properties/{contact_property_id}", contact_properties::update),
    delete("/contact-properties/{contact_property_id}", contact_properties::delete),
    // Segments, and their deprecated name, audiences
    post("/segments", segments::create),
    get("/segments", segments::index),
    get("/segments/metrics", segments::metrics::show),
    get("/segments/{segment_id}", segments::show),
    patch("/segments/{segment_id}", segments::update),
    delete("/segments/{segment_id}", segments::delete),
    get("/segments/{segment_id}/contacts", segments::members),
    post("/audiences", segments::create),
    get("/audiences", segments::index),
    get("/audiences/{audience_id}", segments::show),
    delete("/audiences/{audience_id}", segments::delete),
    get("/audiences/{audience_id}/contacts", segments::members),
    post("/audiences/{audience_id}/contacts", contacts::audience::create),
    get("/audiences/{audience_id}/contacts/{id_or_email}", contacts::audience::show),
    patch("/audiences/{audience_id}/contacts/{id_or_email}", contacts::audience::update),
    delete("/audiences/{audience_id}/contacts/{id_or_email}", contacts::audience::delete),
    // Topics
    post("/topics", topics::create),
    get("/topics", topics::index),
    get("/topics/{topic_id}", topics::show),
    patch("/topics/{topic_id}", topics::update),
    delete("/topics/{topic_id}", topics::delete),
    // Suppressions. The literal paths are listed before an entry's.
    post("/suppressions", suppressions::create),
    get("/suppressions", suppressions::index),
    post("/suppressions/batch/add", suppressions::batch::add),
    post("/suppressions/batch/remove", suppressions::batch::remove),
    get("/suppressions/{id_or_email}", suppressions::show),
    delete("/suppressions/{id_or_email}", suppressions::delete),
    // Automations
    post("/automations", automations::create),
    get("/automations", automations::index),
    get("/automations/{automation_id}", automations::show),
    patch("/automations/{automation_id}", automations::update),
    delete("/automations/{automation_id}", automations::delete),
    post("/automations/{automation_id}/duplicate", automations::duplicate),
    post("/automations/{automation_id}/stop", automations::stop),
    get("/automations/{automation_id}/runs", automations::run::index),
    get("/automations/{automation_id}/runs/{run_id}", automations::run::show),
    // Events
    post("/events", events::create),
    get("/events", events::index),
    post("/events/send", events::send),
    get("/events/{id_or_name}", events::show),
    patch("/events/{id_or_name}", events::update),
    delete("/events/{id_or_name}", events::delete),
    // Inboxes, in beta: not the sandbox's own inbox page. The literal paths are listed before a thread's.
    post("/inboxes", inboxes::create),
    get("/inboxes", inboxes::index),
    get("/inboxes/{inbox}", inboxes::show),
    patch("/inboxes/{inbox}", inboxes::update),
    delete("/inboxes/{inbox}", inboxes::delete),
    get("/inboxes/{inbox}/agent", inboxes::agent::show),
    patch("/inboxes/{inbox}/agent", inboxes::agent::update),
    get("/inboxes/{inbox}/labels", inboxes::labels::index),
    post("/inboxes/{inbox}/labels", inboxes::labels::create),
    patch("/inboxes/{inbox}/labels/{label_id}", inboxes::labels::update),
    delete("/inboxes/{inbox}/labels/{label_id}", inboxes::labels::delete),
    get("/inboxes/{inbox}/threads", inboxes::threads::index),
    get("/inboxes/{inbox}/threads/search", inboxes::search::index),
    get("/inboxes/{inbox}/threads/{thread_id}", inboxes::threads::show),
    patch("/inboxes/{inbox}/threads/{thread_id}", inboxes::threads::update),
    delete("/inboxes/{inbox}/threads/{thread_id}", inboxes::threads::delete),
    post("/inboxes/{inbox}/threads/{thread_id}/labels", inboxes::threads::labels::add),
    put("/inboxes/{inbox}/threads/{thread_id}/labels", inboxes::threads::labels::replace),
    delete("/inboxes/{inbox}/threads/{thread_id}/labels/{label_id}", inboxes::threads::labels::remove),
    get("/inboxes/{inbox}/threads/{thread_id}/emails", inboxes::emails::index),
    get("/inboxes/{inbox}/threads/{thread_id}/emails/{email_id}", inboxes::emails::show),
    keyed("/inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/reply", Scope::Full, inboxes::send::reply),
    keyed(
        "/inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/forward",
        Scope::Full,
        inboxes::send::forward,
    ),
    get("/inboxes/{inbox}/drafts", inboxes::drafts::index),
    keyed("/inboxes/{inbox}/drafts", Scope::Full, inboxes::drafts::create),
    get("/inboxes/{inbox}/drafts/{draft_id}", inboxes::drafts::show),
    patch("/inboxes/{inbox}/drafts/{draft_id}", inboxes::drafts::update),
    delete("/inboxes/{inbox}/drafts/{draft_id}", inboxes::drafts::delete),
    keyed("/inboxes/{inbox}/drafts/{draft_id}/send", Scope::Full, inboxes::drafts::send),
    // Webhooks
    post("/webhooks", webhooks::create),
    get("/webhooks", webhooks::index),
    get("/webhooks/{webhook_id}", webhooks::show),
    patch("/webhooks/{webhook_id}", webhooks::update),
    delete("/webhooks/{webhook_id}", webhooks::delete),
    get("/webhooks/{webhook_id}/events", webhooks::events::index),
    get("/webhooks/{webhook_id}/events/{event_id}", webhooks::events::show),
    get("/webhooks/{webhook_id}/events/{event_id}/attempts", webhooks::events::attempts),
    post("/webhooks/{webhook_id}/events/{event_id}/replay", webhooks::events::replay),
    post("/webhooks/{webhook_id}/signing-secret/rotate", webhooks::rotate),
    // Usage
    Route { method: Method::GET, path: "/usage", scope: Scope::AnyKey, keyed: false, handler: usage::show },
    // Logs
    get("/logs", logs::index),
    get("/logs/{log_id}", logs::show),
    // API keys
    post("/api-keys", api_keys::create),
    get("/api-keys", api_keys::index),
    patch("/api-keys/{api_key_id}", api_keys::update),
    delete("/api-keys/{api_key_id}", api_keys::delete),
    // OAuth grants
    get("/oauth/grants", grants::index),
    delete("/oauth/grants/{oauth_grant_id}", grants::revoke),
];
