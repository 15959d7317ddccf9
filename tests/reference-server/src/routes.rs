//! The route tables of the service: one line per route, with every column that [`route`](crate::route) declares.

use std::sync::LazyLock;

use crate::control::clock::ClockState;
use crate::control::faults::{DeletedFault, Fault};
use crate::control::trigger::{RecordedEvent, SimulatedEvent};
use crate::control::{self, Health, Readiness, Reset, clock, downloads, faults, trigger, unsubscribe};
use crate::oauth::{authorize, consent, grants, metadata, register, revoke, token};
use crate::resources::{
    api_keys, automations, broadcasts, contact_imports, contact_properties, contacts, domains, emails,
    events, inboxes, logs, received, segments, suppressions, templates, topics, usage, webhooks,
};
use crate::route::Handler::{Account, AnyKey, AnyKeyLater, OAuth, Open, Service};
#[allow(clippy::wildcard_imports, reason = "the values of the columns")]
use crate::route::columns::*;
use crate::route::{Area, Route, Routes, Table, own_route, route};
use crate::wire::answers::DeletedCount;
use crate::wire::{Mode, Page, Problem};

/// All routes.
pub static ROUTES: LazyLock<Routes> = LazyLock::new(|| Routes::new(TABLES));

const TABLES: &[Table] = &[SERVICE, OAUTH, CONTROL];

/// The service's API. Paths without a known prefix belong to this table.
pub const SERVICE: Table = Table {
    area: Area::Service,
    prefixes: &[],
    errors: Problem::into_response,
    anonymous: false,
    routes: OPERATIONS,
};

/// The authorization server.
pub const OAUTH: Table = Table {
    area: Area::OAuth,
    prefixes: &[],
    errors: Problem::into_response,
    anonymous: false,
    routes: ENDPOINTS,
};

#[rustfmt::skip] // One line per route.
const ENDPOINTS: &[Route] = &[
    route(GET, authorize::PATH, PASSWORD, READS, QUICK, JSON, STABLE, OAuth(authorize::begin)),
    route(POST, "/oauth/token", OPEN, CHANGES, QUICK, ANY, STABLE, OAuth(token::exchange)),
    route(POST, register::PATH, OPEN, CHANGES, QUICK, JSON, STABLE, OAuth(register::register)),
    route(POST, "/oauth/revoke", OPEN, CHANGES, QUICK, ANY, STABLE, OAuth(revoke::revoke)),
    route(GET, metadata::SERVER, OPEN, READS, QUICK, JSON, STABLE, OAuth(metadata::server)),
    route(GET, metadata::RESOURCE, OPEN, READS, QUICK, JSON, STABLE, OAuth(metadata::resource)),
    route(GET, "/.well-known/jwks.json", OPEN, READS, QUICK, JSON, STABLE, OAuth(metadata::keys)),
];

#[rustfmt::skip] // One line per route.
const OPERATIONS: &[Route] = &[
    route(POST, "/emails", SEND, SENDS, QUICK, JSON, STABLE, Service(emails::send)),
    route(POST, "/email", SEND, SENDS, QUICK, JSON, STABLE, Service(emails::send)),
    route(POST, "/emails/sending", SEND, SENDS, QUICK, JSON, STABLE, Service(emails::send)),
    route(POST, "/email/sending", SEND, SENDS, QUICK, JSON, STABLE, Service(emails::send)),
    route(POST, "/emails/batch", FULL, SENDS, QUICK, JSON, STABLE, Service(emails::batch::send)),
    route(GET, "/emails", FULL, READS, QUICK, JSON, STABLE, Service(emails::index)),
    // Received emails. Listed before the sent ones, so that `receiving` isn't matched as an ID.
    route(GET, "/emails/receiving", FULL, READS, SLOW, JSON, STABLE, Service(received::index)),
    route(GET, "/emails/receiving/{email_id}", FULL, READS, SLOW, JSON, STABLE, Service(received::show)),
    route(GET, "/emails/receiving/{email_id}/attachments", FULL, READS, SLOW, JSON, STABLE, Service(received::attachments::index)),
    route(GET, "/emails/receiving/{email_id}/attachments/{attachment_id}", FULL, READS, SLOW, JSON, STABLE, Service(received::attachments::show)),
    route(GET, "/emails/metrics", FULL, READS, SLOW, JSON, STABLE, Service(emails::metrics::show)),
    // Sent emails, by ID
    route(GET, "/emails/{email_id}", FULL, READS, SLOW, JSON, STABLE, Service(emails::show)),
    route(GET, "/emails/{email_id}/attachments", FULL, READS, SLOW, JSON, STABLE, Service(emails::attachments::index)),
    route(GET, "/emails/{email_id}/attachments/{attachment_id}", FULL, READS, SLOW, JSON, STABLE, Service(emails::attachments::show)),
    route(PATCH, "/emails/{email_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(emails::schedule::update)),
    route(POST, "/emails/{email_id}/share", FULL, CHANGES, QUICK, JSON, STABLE, Service(emails::share::create)),
    route(POST, "/emails/{email_id}/cancel", FULL, CHANGES, QUICK, JSON, STABLE, Service(emails::schedule::cancel)),
    // Broadcasts
    route(POST, "/broadcasts", FULL, CHANGES, SLOW, JSON, STABLE, Service(broadcasts::create)),
    route(GET, "/broadcasts", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.broadcasts, Mode::B))),
    route(GET, "/broadcasts/{broadcast_id}", FULL, READS, SLOW, JSON, STABLE, Service(|context| context.show(&context.tenant.broadcasts))),
    route(PATCH, "/broadcasts/{broadcast_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(broadcasts::update)),
    route(DELETE, "/broadcasts/{broadcast_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(broadcasts::delete)),
    route(POST, "/broadcasts/{broadcast_id}/send", SEND, CHANGES, SLOW, JSON, STABLE, Service(broadcasts::send)),
    route(POST, "/broadcasts/{broadcast_id}/cancel", FULL, CHANGES, SLOW, JSON, STABLE, Service(broadcasts::cancel)),
    route(GET, "/broadcasts/{broadcast_id}/recipients", FULL, READS, SLOW, JSON, STABLE, Service(broadcasts::recipients::index)),
    route(GET, "/broadcasts/{broadcast_id}/clicked-links", FULL, READS, SLOW, JSON, STABLE, Service(broadcasts::clicked_links::index)),
    route(POST, "/broadcasts/{broadcast_id}/duplicate", FULL, CHANGES, SLOW, JSON, STABLE, Service(broadcasts::duplicate)),
    // Templates
    route(POST, "/templates", FULL, CHANGES, QUICK, JSON, STABLE, Service(templates::create)),
    route(GET, "/templates", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.templates, Mode::A))),
    route(GET, "/templates/{id_or_alias}", FULL, READS, QUICK, JSON, STABLE, Service(templates::show)),
    route(PATCH, "/templates/{id_or_alias}", FULL, CHANGES, QUICK, JSON, STABLE, Service(templates::update)),
    route(DELETE, "/templates/{id_or_alias}", FULL, CHANGES, QUICK, JSON, STABLE, Service(templates::delete)),
    route(POST, "/templates/{id_or_alias}/publish", FULL, CHANGES, QUICK, JSON, STABLE, Service(templates::publish)),
    route(POST, "/templates/{id_or_alias}/duplicate", FULL, CHANGES, QUICK, JSON, STABLE, Service(templates::duplicate)),
    // Domains
    route(POST, "/domains", FULL, CHANGES, QUICK, JSON, STABLE, Service(domains::create)),
    route(GET, "/domains", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.domains, Mode::B))),
    route(POST, "/domains/claim", FULL, CHANGES, QUICK, JSON, STABLE, Service(domains::claims::create)),
    route(GET, "/domains/{domain_id}", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.show(&context.tenant.domains))),
    route(PATCH, "/domains/{domain_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(domains::update)),
    route(DELETE, "/domains/{domain_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(domains::delete)),
    route(POST, "/domains/{domain_id}/verify", FULL, CHANGES, QUICK, JSON, STABLE, Service(domains::verify)),
    route(GET, "/domains/{domain_id}/claim", FULL, READS, QUICK, JSON, STABLE, Service(domains::claims::show)),
    route(POST, "/domains/{domain_id}/claim/verify", FULL, CHANGES, QUICK, JSON, STABLE, Service(domains::claims::verify)),
    // Contact imports. Listed before the contacts, so that `imports` isn't matched as an address.
    route(POST, "/contacts/imports", FULL, CHANGES, QUICK, IMPORT, STABLE, Service(contact_imports::create)),
    route(GET, "/contacts/imports", FULL, READS, QUICK, JSON, STABLE, Service(contact_imports::index)),
    route(GET, "/contacts/imports/{import_id}", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.show(&context.tenant.contact_imports))),
    // Contacts
    route(POST, "/contacts", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::create)),
    route(GET, "/contacts", FULL, READS, QUICK, JSON, STABLE, Service(contacts::index)),
    route(GET, "/contacts/{id_or_email}", FULL, READS, QUICK, JSON, STABLE, Service(contacts::show)),
    route(PATCH, "/contacts/{id_or_email}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::update)),
    route(DELETE, "/contacts/{id_or_email}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::delete)),
    route(GET, "/contacts/{id_or_email}/segments", FULL, READS, QUICK, JSON, STABLE, Service(contacts::segments::index)),
    route(POST, "/contacts/{id_or_email}/segments/{segment_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::segments::add)),
    route(DELETE, "/contacts/{id_or_email}/segments/{segment_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::segments::remove)),
    route(GET, "/contacts/{id_or_email}/topics", FULL, READS, QUICK, JSON, STABLE, Service(contacts::topics::index)),
    route(PATCH, "/contacts/{id_or_email}/topics", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::topics::update)),
    // Contact properties
    route(POST, "/contact-properties", FULL, CHANGES, QUICK, JSON, STABLE, Service(contact_properties::create)),
    route(GET, "/contact-properties", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.contact_properties, Mode::A))),
    route(GET, "/contact-properties/{contact_property_id}", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.show(&context.tenant.contact_properties))),
    route(PATCH, "/contact-properties/{contact_property_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contact_properties::update)),
    route(DELETE, "/contact-properties/{contact_property_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contact_properties::delete)),
    // Segments, and their deprecated name, audiences
    route(POST, "/segments", FULL, CHANGES, QUICK, JSON, STABLE, Service(segments::create)),
    route(GET, "/segments", FULL, READS, QUICK, JSON, STABLE, Service(segments::index)),
    route(GET, "/segments/metrics", FULL, READS, SLOW, JSON, STABLE, Service(segments::metrics::show)),
    route(GET, "/segments/{segment_id}", FULL, READS, QUICK, JSON, STABLE, Service(segments::show)),
    route(PATCH, "/segments/{segment_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(segments::update)),
    route(DELETE, "/segments/{segment_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(segments::delete)),
    route(GET, "/segments/{segment_id}/contacts", FULL, READS, QUICK, JSON, STABLE, Service(segments::members)),
    route(POST, "/audiences", FULL, CHANGES, QUICK, JSON, STABLE, Service(segments::create)),
    route(GET, "/audiences", FULL, READS, QUICK, JSON, STABLE, Service(segments::index)),
    route(GET, "/audiences/{audience_id}", FULL, READS, QUICK, JSON, STABLE, Service(segments::show)),
    route(DELETE, "/audiences/{audience_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(segments::delete)),
    route(GET, "/audiences/{audience_id}/contacts", FULL, READS, QUICK, JSON, STABLE, Service(segments::members)),
    route(POST, "/audiences/{audience_id}/contacts", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::audience::create)),
    route(GET, "/audiences/{audience_id}/contacts/{id_or_email}", FULL, READS, QUICK, JSON, STABLE, Service(contacts::audience::show)),
    route(PATCH, "/audiences/{audience_id}/contacts/{id_or_email}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::audience::update)),
    route(DELETE, "/audiences/{audience_id}/contacts/{id_or_email}", FULL, CHANGES, QUICK, JSON, STABLE, Service(contacts::audience::delete)),
    // Topics
    route(POST, "/topics", FULL, CHANGES, QUICK, JSON, STABLE, Service(topics::create)),
    route(GET, "/topics", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.topics, Mode::A))),
    route(GET, "/topics/{topic_id}", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.show(&context.tenant.topics))),
    route(PATCH, "/topics/{topic_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(topics::update)),
    route(DELETE, "/topics/{topic_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(topics::delete)),
    // Suppressions. The literal paths are listed before an entry's.
    route(POST, "/suppressions", FULL, CHANGES, QUICK, JSON, STABLE, Service(suppressions::create)),
    route(GET, "/suppressions", FULL, READS, QUICK, JSON, STABLE, Service(suppressions::index)),
    route(POST, "/suppressions/batch/add", FULL, CHANGES, QUICK, JSON, STABLE, Service(suppressions::batch::add)),
    route(POST, "/suppressions/batch/remove", FULL, CHANGES, QUICK, JSON, STABLE, Service(suppressions::batch::remove)),
    route(GET, "/suppressions/{id_or_email}", FULL, READS, QUICK, JSON, STABLE, Service(suppressions::show)),
    route(DELETE, "/suppressions/{id_or_email}", FULL, CHANGES, QUICK, JSON, STABLE, Service(suppressions::delete)),
    // Automations
    route(POST, "/automations", FULL, CHANGES, QUICK, JSON, STABLE, Service(automations::create)),
    route(GET, "/automations", FULL, READS, QUICK, JSON, STABLE, Service(automations::index)),
    route(GET, "/automations/{automation_id}", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.show(&context.tenant.automations))),
    route(PATCH, "/automations/{automation_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(automations::update)),
    route(DELETE, "/automations/{automation_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(automations::delete)),
    route(POST, "/automations/{automation_id}/duplicate", FULL, CHANGES, QUICK, JSON, STABLE, Service(automations::duplicate)),
    route(POST, "/automations/{automation_id}/stop", FULL, CHANGES, QUICK, JSON, STABLE, Service(automations::stop)),
    route(GET, "/automations/{automation_id}/runs", FULL, READS, QUICK, JSON, STABLE, Service(automations::run::index)),
    route(GET, "/automations/{automation_id}/runs/{run_id}", FULL, READS, QUICK, JSON, STABLE, Service(automations::run::show)),
    // Events
    route(POST, "/events", FULL, CHANGES, QUICK, JSON, STABLE, Service(events::create)),
    route(GET, "/events", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.events, Mode::B))),
    route(POST, "/events/send", FULL, CHANGES, QUICK, JSON, STABLE, Service(events::send)),
    route(GET, "/events/{id_or_name}", FULL, READS, QUICK, JSON, STABLE, Service(events::show)),
    route(PATCH, "/events/{id_or_name}", FULL, CHANGES, QUICK, JSON, STABLE, Service(events::update)),
    route(DELETE, "/events/{id_or_name}", FULL, CHANGES, QUICK, JSON, STABLE, Service(events::delete)),
    // Inboxes, in beta: not the sandbox's own inbox page. The literal paths are listed before a thread's.
    route(POST, "/inboxes", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::create)),
    route(GET, "/inboxes", FULL, READS, QUICK, JSON, BETA, Service(inboxes::index)),
    route(GET, "/inboxes/{inbox}", FULL, READS, QUICK, JSON, BETA, Service(inboxes::show)),
    route(PATCH, "/inboxes/{inbox}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::update)),
    route(DELETE, "/inboxes/{inbox}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::delete)),
    route(GET, "/inboxes/{inbox}/agent", FULL, READS, QUICK, JSON, BETA, Service(inboxes::agent::show)),
    route(PATCH, "/inboxes/{inbox}/agent", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::agent::update)),
    route(GET, "/inboxes/{inbox}/labels", FULL, READS, QUICK, JSON, BETA, Service(inboxes::labels::index)),
    route(POST, "/inboxes/{inbox}/labels", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::labels::create)),
    route(PATCH, "/inboxes/{inbox}/labels/{label_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::labels::update)),
    route(DELETE, "/inboxes/{inbox}/labels/{label_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::labels::delete)),
    route(GET, "/inboxes/{inbox}/threads", FULL, READS, QUICK, JSON, BETA, Service(inboxes::threads::index)),
    route(GET, "/inboxes/{inbox}/threads/search", FULL, READS, SLOW, JSON, BETA, Service(inboxes::search::index)),
    route(GET, "/inboxes/{inbox}/threads/{thread_id}", FULL, READS, QUICK, JSON, BETA, Service(inboxes::threads::show)),
    route(PATCH, "/inboxes/{inbox}/threads/{thread_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::threads::update)),
    route(DELETE, "/inboxes/{inbox}/threads/{thread_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::threads::delete)),
    route(POST, "/inboxes/{inbox}/threads/{thread_id}/labels", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::threads::labels::add)),
    route(PUT, "/inboxes/{inbox}/threads/{thread_id}/labels", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::threads::labels::replace)),
    route(DELETE, "/inboxes/{inbox}/threads/{thread_id}/labels/{label_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::threads::labels::remove)),
    route(GET, "/inboxes/{inbox}/threads/{thread_id}/emails", FULL, READS, QUICK, JSON, BETA, Service(inboxes::emails::index)),
    route(GET, "/inboxes/{inbox}/threads/{thread_id}/emails/{email_id}", FULL, READS, QUICK, JSON, BETA, Service(inboxes::emails::show)),
    route(POST, "/inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/reply", FULL, SENDS, QUICK, JSON, BETA, Service(inboxes::send::reply)),
    route(POST, "/inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/forward", FULL, SENDS, QUICK, JSON, BETA, Service(inboxes::send::forward)),
    route(GET, "/inboxes/{inbox}/drafts", FULL, READS, QUICK, JSON, BETA, Service(inboxes::drafts::index)),
    route(POST, "/inboxes/{inbox}/drafts", FULL, SENDS, QUICK, JSON, BETA, Service(inboxes::drafts::create)),
    route(GET, "/inboxes/{inbox}/drafts/{draft_id}", FULL, READS, QUICK, JSON, BETA, Service(inboxes::drafts::show)),
    route(PATCH, "/inboxes/{inbox}/drafts/{draft_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::drafts::update)),
    route(DELETE, "/inboxes/{inbox}/drafts/{draft_id}", FULL, CHANGES, QUICK, JSON, BETA, Service(inboxes::drafts::delete)),
    route(POST, "/inboxes/{inbox}/drafts/{draft_id}/send", FULL, SENDS, QUICK, JSON, BETA, Service(inboxes::drafts::send)),
    // Webhooks
    route(POST, "/webhooks", FULL, CHANGES, QUICK, JSON, STABLE, Service(webhooks::create)),
    route(GET, "/webhooks", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.webhooks, Mode::B))),
    route(GET, "/webhooks/{webhook_id}", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.show(&context.tenant.webhooks))),
    route(PATCH, "/webhooks/{webhook_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(webhooks::update)),
    route(DELETE, "/webhooks/{webhook_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(webhooks::delete)),
    route(GET, "/webhooks/{webhook_id}/events", FULL, READS, QUICK, JSON, STABLE, Service(webhooks::events::index)),
    route(GET, "/webhooks/{webhook_id}/events/{event_id}", FULL, READS, QUICK, JSON, STABLE, Service(webhooks::events::show)),
    route(GET, "/webhooks/{webhook_id}/events/{event_id}/attempts", FULL, READS, QUICK, JSON, STABLE, Service(webhooks::events::attempts)),
    route(POST, "/webhooks/{webhook_id}/events/{event_id}/replay", FULL, CHANGES, QUICK, JSON, STABLE, Service(webhooks::events::replay)),
    route(POST, "/webhooks/{webhook_id}/signing-secret/rotate", FULL, CHANGES, QUICK, JSON, STABLE, Service(webhooks::rotate)),
    // Usage
    route(GET, "/usage", ANY_KEY, READS, QUICK, JSON, STABLE, Service(usage::show)),
    // Logs
    route(GET, "/logs", FULL, READS, QUICK, JSON, STABLE, Service(logs::index)),
    route(GET, "/logs/{log_id}", FULL, READS, QUICK, JSON, STABLE, Service(logs::show)),
    // API keys
    route(POST, "/api-keys", FULL, CHANGES, QUICK, JSON, STABLE, Service(api_keys::create)),
    route(GET, "/api-keys", FULL, READS, QUICK, JSON, STABLE, Service(|context| context.list(&context.tenant.api_keys, Mode::B))),
    route(PATCH, "/api-keys/{api_key_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(api_keys::update)),
    route(DELETE, "/api-keys/{api_key_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(api_keys::delete)),
    // OAuth grants
    route(GET, "/oauth/grants", FULL, READS, QUICK, JSON, STABLE, Service(grants::index)),
    route(DELETE, "/oauth/grants/{oauth_grant_id}", FULL, CHANGES, QUICK, JSON, STABLE, Service(grants::revoke)),
];

/// The routes of every service under `/_/`.
pub const CONTROL: Table = Table {
    area: Area::Own,
    prefixes: &["/_/"],
    errors: Problem::into_response,
    anonymous: false,
    routes: CONTROLS,
};

const FORM: &[&str] = &["application/x-www-form-urlencoded"];

#[rustfmt::skip] // One line per route.
const CONTROLS: &[Route] = &[
    own_route(GET, "/healthz", HEALTH, READS, QUICK, JSON, "Whether the sandbox serves", Open(|_| Ok(control::health()))).returns::<Health>(200),
    own_route(GET, "/_/ready", OPEN, READS, QUICK, JSON, "Whether the sandbox serves, keeps its state on disk (`keeps`), and could save its last changes (`saved`)", Open(|call| Ok(control::ready(call.state)))).returns::<Readiness>(200),
    own_route(GET, "/_/received-files/{token}", LINK, READS, SLOW, JSON, "Downloads a file of a received email, by a signed link", Open(|call| downloads::received_file(call.state, &call.parameter(0)))).sends(200, FILE),
    own_route(GET, "/_/files/{token}", LINK, READS, SLOW, JSON, "Downloads a file of a sent email, by a signed link", Open(|call| downloads::sent_file(call.state, &call.parameter(0)))).sends(200, FILE),
    own_route(GET, "/_/clock", FULL, READS, SLOW, JSON, "The account's clock", AnyKey(clock::show)).query(&[clock::QUERY]).returns::<ClockState>(200),
    own_route(POST, "/_/clock", FULL, MOVES_CLOCK, SLOW, JSON, "Moves, stops or accelerates the account's clock, or those of all accounts", AnyKeyLater(clock::change)).fields(clock::FIELDS).returns::<ClockState>(200),
    own_route(GET, "/_/faults", FULL, READS, SLOW, JSON, "The scripted faults that apply to the account", AnyKey(faults::index)).returns::<Page<Fault>>(200),
    own_route(POST, "/_/faults", FULL, CHANGES, SLOW, JSON, "Adds a scripted fault", AnyKey(faults::add)).fields(faults::FIELDS).returns::<Fault>(201),
    own_route(DELETE, "/_/faults", FULL, CHANGES, SLOW, JSON, "Deletes the scripted faults that the account added", AnyKey(faults::clear)).query(&[faults::QUERY]).returns::<DeletedCount>(200),
    own_route(GET, "/_/faults/{id}", FULL, READS, SLOW, JSON, "A scripted fault", AnyKey(faults::show)).returns::<Fault>(200),
    own_route(DELETE, "/_/faults/{id}", FULL, CHANGES, SLOW, JSON, "Deletes a scripted fault", AnyKey(faults::remove)).returns::<DeletedFault>(200),
    own_route(POST, "/_/messages/{id}/events", FULL, CHANGES, SLOW, JSON, "Records an event of a captured email", Account(trigger::record)).fields(trigger::EVENT_FIELDS).returns::<RecordedEvent>(201),
    own_route(GET, "/_/events", FULL, READS, SLOW, JSON, "The events that can be simulated", AnyKey(|call| Ok(trigger::types(call.state)))).returns::<Page<&str>>(200),
    own_route(POST, "/_/events", FULL, CHANGES, SLOW, JSON, "Sends a simulated event to the subscribed webhooks", Account(trigger::send_sample)).fields(trigger::SAMPLE_FIELDS).returns::<SimulatedEvent>(201),
    own_route(POST, "/_/reset", FULL, CHANGES, SLOW, JSON, "Deletes everything of the account", AnyKey(control::reset)).returns::<Reset>(200),
    // Links, with their forms. Only the consent page itself posts its own.
    own_route(GET, "/_/unsubscribe/{token}", LINK, READS, SLOW, JSON, "Asks whether to unsubscribe", Open(|call| unsubscribe::confirmation_page(call.state, &call.parameter(0)))).sends(200, HTML),
    own_route(POST, "/_/unsubscribe/{token}", LINK, CHANGES, SLOW, ANY, "Unsubscribes a recipient", Open(|call| unsubscribe::confirm(call.state, &call.parameter(0), call.request.body()))).media_types(FORM).sends(200, HTML),
    own_route(GET, "/_/consent/{name}", LINK, READS, SLOW, JSON, "Asks whether an application may act for an account", Open(|call| Ok(consent::handle(call.state, call.request, &call.parameter(0))))).sends(200, HTML),
    own_route(POST, "/_/consent/{name}", PASSWORD, CHANGES, SLOW, ANY, "Allows or denies an application", Open(|call| Ok(consent::handle(call.state, call.request, &call.parameter(0))))).media_types(FORM).sends(303, NOTHING),
];
