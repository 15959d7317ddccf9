//! The route table of the inbox page, with every column that [`route`](idempost_reference_server::route) declares: one line per route.

use serde_json::{Map, Value};

use crate::inbox::check::CheckedEmail;
use crate::inbox::images::ImageList;
use crate::inbox::mail::{EmailDetails, FILE_QUERY, HTML_QUERY, MailView, ReceivedItem, SentItem, sanitized};
use crate::inbox::messages::MessageDetail;
use crate::inbox::mutations::{ChangedCount, MailId};
use crate::inbox::release::{RelayServer, Release};
use crate::inbox::requests::{RequestDetail, RequestItem};
use crate::inbox::templates::{TemplateItem, TemplatePreview};
use crate::inbox::timeline::Timeline;
use crate::inbox::view::AccountItem;
use crate::inbox::{
    AFTER_ID, check, export, folder, images, live, messages, mutations, openapi, page, received, release,
    requests, search, shared, templates, timeline, unsent, view, wait,
};
use idempost_reference_server::resources::emails::metrics::{self, MetricsReport};
use idempost_reference_server::route::Handler::{Account, AnyKey, Later, Open};
#[allow(clippy::wildcard_imports, reason = "the values of the columns")]
use idempost_reference_server::route::columns::*;
use idempost_reference_server::route::{Area, Route, Table, own_route};
use idempost_reference_server::state::mails::Folder;
use idempost_reference_server::wire::answers::{DeletedCount, Reference};
use idempost_reference_server::wire::paging::{PARAMETERS, Page};
use idempost_reference_server::wire::problem::Problem;

/// The routes of the inbox page.
pub(crate) const TABLE: Table = Table {
    area: Area::Own,
    prefixes: &[],
    errors: Problem::into_response,
    anonymous: false,
    routes: ROUTES,
};

#[rustfmt::skip] // One line per route.
const ROUTES: &[Route] = &[
    own_route(GET, "/", OPEN, READS, QUICK, JSON, "Redirects browsers to the inbox page; for programs, 404", Open(|call| page::redirect_to_page(call.request))).sends(303, NOTHING),
    own_route(GET, "/_", PASSWORD, READS, SLOW, JSON, "The inbox page", Open(|call| Ok(page::show(call.state, call.request)))).sends(200, HTML),
    own_route(GET, "/_/assets/{name}", OPEN, READS, SLOW, JSON, "A file of the page", Open(|call| page::asset(&call.parameter(0)))).sends(200, &["text/javascript", "text/css", "image/svg+xml"]),
    own_route(GET, "/_/stream", FULL, READS, SLOW, JSON, "Server-sent events about the account", Later(|call| Ok(live::stream(call.state, &call.tenant.name)))).sends(200, &["text/event-stream"]),
    own_route(GET, "/_/tenants", PASSWORD, READS, SLOW, JSON, "All accounts, most recently used first, without their keys", Open(|call| Ok(view::tenants(call.state, call.request)))).returns::<Page<AccountItem>>(200),
    // Captured emails
    own_route(GET, "/_/export", FULL, READS, SLOW, JSON, "The matching captured emails, as an mbox file or as JSON", Later(export::export)).query(&[export::QUERY, search::QUERY]).returns::<Vec<MessageDetail<'_>>>(200).sends(200, &["application/mbox", "application/json"]),
    own_route(GET, "/_/latest.html", FULL, READS, SLOW, JSON, "The newest matching captured email, as an isolated document", Account(|call| view::latest(call)?.html_document(&call.cancellation()))).query(&[search::QUERY]).sends(200, HTML),
    own_route(GET, "/_/latest.txt", FULL, READS, SLOW, JSON, "The newest matching captured email, as text", Account(|call| view::latest(call)?.text_page())).query(&[search::QUERY]).sends(200, PLAIN_TEXT),
    own_route(GET, "/_/latest.json", FULL, READS, SLOW, JSON, "The newest matching captured email, as JSON", Account(|call| messages::show(&call.tenant, &view::latest(call)?.id()))).query(&[search::QUERY]).returns::<MessageDetail<'_>>(200),
    own_route(GET, "/_/latest.eml", FULL, READS, SLOW, JSON, "The newest matching captured email, as a message", Account(|call| view::latest(call)?.download())).query(&[search::QUERY]).sends(200, MESSAGE),
    own_route(GET, "/_/messages", FULL, READS, SLOW, JSON, "Captured emails, newest first", Account(messages::index)).query(&[PARAMETERS, AFTER_ID, unsent::QUERY, search::QUERY]).returns::<Page<SentItem<'_>>>(200),
    own_route(PATCH, "/_/messages", FULL, CHANGES, SLOW, JSON, "Marks captured emails as read or unread", Account(|call| mutations::mark(call, Folder::Sent))).query(&[search::QUERY]).fields(mutations::MARK_FIELDS).returns::<ChangedCount>(200),
    own_route(DELETE, "/_/messages", FULL, CHANGES, SLOW, JSON, "Deletes captured emails", Account(|call| mutations::delete(call, Folder::Sent))).query(&[search::QUERY]).fields(mutations::DELETE_FIELDS).returns::<DeletedCount>(200),
    own_route(GET, "/_/messages/wait", FULL, READS, SLOW, JSON, "Waits for a captured email", Later(wait::wait)).query(&[wait::QUERY, search::QUERY]).returns::<MessageDetail<'_>>(200),
    own_route(GET, "/_/messages/ids", FULL, READS, SLOW, JSON, "The IDs of all matching captured emails, and which are unread", Account(|call| mutations::list(call, Folder::Sent))).query(&[search::QUERY]).returns::<Page<MailId>>(200),
    own_route(GET, "/_/messages/{id}", FULL, READS, SLOW, JSON, "A captured email, with its codes and links", Account(|call| messages::show(&call.tenant, &call.parameter(0)))).returns::<MessageDetail<'_>>(200),
    own_route(PATCH, "/_/messages/{id}", FULL, CHANGES, SLOW, JSON, "Marks a captured email as read or unread", Account(|call| mutations::mark_one(call, Folder::Sent))).fields(mutations::MARK_ONE_FIELDS).returns::<ChangedCount>(200),
    own_route(DELETE, "/_/messages/{id}", FULL, CHANGES, SLOW, JSON, "Deletes a captured email", Account(|call| mutations::delete_one(call, Folder::Sent))).returns::<DeletedCount>(200),
    own_route(GET, "/_/messages/{id}/raw", FULL, READS, SLOW, JSON, "The message of a captured email", Account(|call| messages::raw(&call.tenant, &call.parameter(0)))).sends(200, MESSAGE),
    own_route(GET, "/_/messages/{id}/request", FULL, READS, SLOW, JSON, "The request that sent an email", Account(|call| requests::for_email(call.state, &call.tenant.name, MailView::find_email(&call.tenant, Folder::Sent, &call.parameter(0))?))).returns::<RequestDetail<'_>>(200),
    // Received emails
    own_route(GET, "/_/received", FULL, READS, SLOW, JSON, "Received emails, newest first", Account(view::list_received)).query(&[PARAMETERS, AFTER_ID, search::QUERY]).returns::<Page<ReceivedItem<'_>>>(200),
    own_route(POST, "/_/received", FULL, CHANGES, SLOW, ANY, "Receives an email", Account(received::receive)).query(&[received::QUERY]).media_types(received::MEDIA_TYPES).returns::<Reference>(201),
    own_route(PATCH, "/_/received", FULL, CHANGES, SLOW, JSON, "Marks received emails as read or unread", Account(|call| mutations::mark(call, Folder::Received))).query(&[search::QUERY]).fields(mutations::MARK_FIELDS).returns::<ChangedCount>(200),
    own_route(DELETE, "/_/received", FULL, CHANGES, SLOW, JSON, "Deletes received emails", Account(|call| mutations::delete(call, Folder::Received))).query(&[search::QUERY]).fields(mutations::DELETE_FIELDS).returns::<DeletedCount>(200),
    own_route(GET, "/_/received/ids", FULL, READS, SLOW, JSON, "The IDs of all matching received emails, and which are unread", Account(|call| mutations::list(call, Folder::Received))).query(&[search::QUERY]).returns::<Page<MailId>>(200),
    own_route(GET, "/_/received/{id}", FULL, READS, SLOW, JSON, "A received email", Account(|call| Ok(MailView::find(&call.tenant, Folder::Received, &call.parameter(0))?.details(&call.tenant)))).returns::<EmailDetails<'_>>(200),
    own_route(PATCH, "/_/received/{id}", FULL, CHANGES, SLOW, JSON, "Marks a received email as read or unread", Account(|call| mutations::mark_one(call, Folder::Received))).fields(mutations::MARK_ONE_FIELDS).returns::<ChangedCount>(200),
    own_route(DELETE, "/_/received/{id}", FULL, CHANGES, SLOW, JSON, "Deletes a received email", Account(|call| mutations::delete_one(call, Folder::Received))).returns::<DeletedCount>(200),
    // Details of both
    own_route(GET, "/_/{folder}/{id}/about", FULL, READS, SLOW, JSON, "The details of an email", Account(|call| Ok(MailView::from_call(call)?.details(&call.tenant)))).returns::<EmailDetails<'_>>(200),
    own_route(GET, "/_/{folder}/{id}/html", FULL, READS, SLOW, JSON, "The HTML of an email, as an isolated document", Account(|call| MailView::from_call(call)?.html_page(call))).query(&[HTML_QUERY, sanitized::QUERY]).sends(200, HTML),
    own_route(GET, "/_/{folder}/{id}/images", FULL, READS, SLOW, JSON, "The remote images of an email", Account(|call| Ok(images::show(call.state, &MailView::from_call(call)?)))).returns::<ImageList<'_>>(200),
    own_route(POST, "/_/{folder}/{id}/images", FULL, READS, SLOW, JSON, "Loads the remote images of an email", Later(|call| images::load(call.state, &MailView::from_call(call)?))).returns::<ImageList<'_>>(200),
    own_route(GET, "/_/{folder}/{id}/check", FULL, READS, SLOW, JSON, "Checks an email", Account(|call| Ok(check::show(&MailView::from_call(call)?)))).returns::<CheckedEmail>(200),
    own_route(POST, "/_/{folder}/{id}/check", FULL, READS, SLOW, JSON, "Checks an email, and requests its links", Later(|call| check::request_links(call.state, &MailView::from_call(call)?))).returns::<CheckedEmail>(200),
    own_route(GET, "/_/{folder}/{id}/text", FULL, READS, SLOW, JSON, "The text of an email", Account(|call| MailView::from_call(call)?.text_page())).sends(200, PLAIN_TEXT),
    own_route(GET, "/_/{folder}/{id}/download", FULL, READS, SLOW, JSON, "Downloads the message of an email", Account(|call| MailView::from_call(call)?.download())).sends(200, MESSAGE),
    own_route(GET, "/_/{folder}/{id}/files/{index}", FULL, READS, SLOW, JSON, "A file of an email, by its index", Account(|call| MailView::from_call(call)?.file_for(call))).query(&[FILE_QUERY]).sends(200, FILE),
    own_route(GET, "/_/{folder}/{id}/timeline", FULL, READS, SLOW, JSON, "What happened to an email", Account(|call| timeline::show(&call.tenant, folder(call), &call.parameter(1)))).returns::<Timeline>(200),
    own_route(POST, "/_/{folder}/{id}/release", FULL, CHANGES, SLOW, JSON, "Releases an email to a real server", Later(release::handle)).fields(release::FIELDS).returns::<Release<'_>>(200),
    own_route(GET, "/_/relay", FULL, READS, SLOW, JSON, "The server that emails may be released to", AnyKey(|call| Ok(release::server(call.state)))).returns::<RelayServer<'_>>(200),
    // Metrics, recorded requests, and templates
    own_route(GET, "/_/metrics", FULL, READS, SLOW, JSON, "Counts and rates of the emails", Account(|call| metrics::report(&call.tenant, &call.parameters(), call.now()))).query(&[metrics::query::QUERY]).returns::<MetricsReport>(200),
    own_route(GET, "/_/requests", FULL, READS, SLOW, JSON, "Recorded requests, newest first", Account(requests::index)).query(&[requests::QUERY]).returns::<Page<RequestItem<'_>>>(200),
    own_route(GET, "/_/requests/{number}", FULL, READS, SLOW, JSON, "A recorded request, with its response", Account(|call| requests::show(call.state, &call.tenant.name, &call.parameter(0)))).returns::<RequestDetail<'_>>(200),
    own_route(GET, "/_/templates", FULL, READS, SLOW, JSON, "The templates", Account(templates::index)).query(&[PARAMETERS]).returns::<Page<TemplateItem<'_>>>(200),
    own_route(GET, "/_/templates/{id}/preview", FULL, READS, SLOW, JSON, "A template with its placeholders filled", Account(templates::preview)).query(&[templates::QUERY]).returns::<TemplatePreview<'_>>(200),
    own_route(GET, "/_/templates/{id}/preview.html", FULL, READS, SLOW, JSON, "The HTML of a filled template, as an isolated document", Account(templates::html)).query(&[templates::QUERY, sanitized::QUERY]).sends(200, HTML),
    own_route(GET, "/_/shared/{token}", LINK, READS, SLOW, JSON, "A shared email", Open(|call| shared::page(call.state, &call.parameter(0)))).sends(200, HTML),
    own_route(GET, "/_/shared/{token}/html", LINK, READS, SLOW, JSON, "The HTML of a shared email, as an isolated document", Open(|call| shared::html(call.state, &call.parameter(0), &call.cancellation()))).sends(200, HTML),
    own_route(GET, "/_/shared/{token}/files/{index}", LINK, READS, SLOW, JSON, "A file of a shared email, by its index", Open(|call| shared::file(call.state, &call.parameter(0), &call.parameter(1)))).sends(200, FILE),
    // Contracts
    own_route(GET, "/openapi.json", OPEN, READS, QUICK, JSON, "The contract of the service, with this sandbox as its server", Open(|call| Ok(openapi::service(call.state, openapi::JSON)))).returns::<Map<String, Value>>(200),
    own_route(GET, "/openapi.yaml", OPEN, READS, QUICK, JSON, "The same as YAML", Open(|call| Ok(openapi::service(call.state, openapi::YAML)))).sends(200, &["application/yaml"]),
    own_route(GET, "/_/openapi.json", OPEN, READS, QUICK, JSON, "The contract of the sandbox's own routes", Open(|call| Ok(openapi::sandbox_routes(call)))).returns::<Map<String, Value>>(200),
];
