//! The route table of Mailpit's API, with every column that [`route`](idempost_reference_server::route) declares: one line per route.

use serde_json::Value;

use crate::inbox::mailpit::{error_response, events, message, messages, ok, send};
use idempost_reference_server::route::Handler::{Account, Later, Open};
#[allow(clippy::wildcard_imports, reason = "the values of the columns")]
use idempost_reference_server::route::columns::*;
use idempost_reference_server::route::{Area, Route, Table, own_route};

/// Mailpit's API. Its clients have no notion of accounts.
pub(crate) const TABLE: Table = Table {
    area: Area::Own,
    prefixes: &["/api/v1/", "/view/"],
    errors: error_response,
    anonymous: true,
    routes: ROUTES,
};

/// The media types of bodies, which Mailpit's documentation describes.
const JSON_BODY: &[&str] = &["application/json"];

#[rustfmt::skip] // One line per route.
const ROUTES: &[Route] = &[
    own_route(GET, "/livez", OPEN, READS, QUICK, JSON, "Whether the sandbox serves, for clients of Mailpit", Open(|_| Ok(ok()))).sends(200, PLAIN_TEXT),
    own_route(GET, "/readyz", OPEN, READS, QUICK, JSON, "The same", Open(|_| Ok(ok()))).sends(200, PLAIN_TEXT),
    own_route(GET, "/api/events", FULL, READS, SLOW, JSON, "A websocket with events about the account", Later(events::handshake)).sends(101, NOTHING),
    own_route(GET, "/api/v1/info", FULL, READS, SLOW, JSON, "The numbers of messages", Account(|call| Ok(messages::info(call)))).returns::<Value>(200),
    own_route(GET, "/api/v1/webui", FULL, READS, SLOW, JSON, "The settings of a page of Mailpit", Account(|_| Ok(messages::page_settings()))).returns::<Value>(200),
    own_route(GET, "/api/v1/tags", FULL, READS, SLOW, JSON, "The tags of all messages", Account(|call| Ok(messages::tags(call)))).returns::<Value>(200),
    own_route(GET, "/api/v1/messages", FULL, READS, SLOW, JSON, "Messages, newest first", Account(messages::index)).returns::<Value>(200),
    own_route(PUT, "/api/v1/messages", FULL, CHANGES, SLOW, ANY, "Marks messages as read or unread", Account(messages::mark)).media_types(JSON_BODY).sends(200, PLAIN_TEXT),
    own_route(DELETE, "/api/v1/messages", FULL, CHANGES, SLOW, ANY, "Deletes messages", Account(messages::delete)).media_types(JSON_BODY).sends(200, PLAIN_TEXT),
    own_route(GET, "/api/v1/search", FULL, READS, SLOW, JSON, "Messages that match, newest first", Account(messages::search)).returns::<Value>(200),
    own_route(DELETE, "/api/v1/search", FULL, CHANGES, SLOW, ANY, "Deletes messages that match", Account(messages::delete_found)).sends(200, PLAIN_TEXT),
    own_route(GET, "/api/v1/message/{id}", FULL, READS, SLOW, JSON, "A message", Account(|call| message::show(call, &call.parameter(0)))).returns::<Value>(200),
    own_route(GET, "/api/v1/message/{id}/headers", FULL, READS, SLOW, JSON, "The headers of a message", Account(|call| message::headers(call, &call.parameter(0)))).returns::<Value>(200),
    own_route(GET, "/api/v1/message/{id}/raw", FULL, READS, SLOW, JSON, "The source of a message", Account(|call| message::source(call, &call.parameter(0)))).sends(200, &["text/plain", "message/rfc822"]),
    own_route(GET, "/api/v1/message/{id}/part/{part}", FULL, READS, SLOW, JSON, "A file of a message", Account(|call| message::part(call, &call.parameter(0), &call.parameter(1)))).sends(200, FILE),
    own_route(GET, "/view/{file}", FULL, READS, SLOW, JSON, "A message as an isolated document (ID.html) or as text (ID.txt)", Account(|call| message::view(call, &call.parameter(0)))).sends(200, &["text/html", "text/plain"]),
    own_route(POST, "/api/v1/send", FULL, CHANGES, SLOW, JSON, "Sends an email", Account(|call| Ok(send::accept(call)))).media_types(JSON_BODY).returns::<Value>(200),
];
