//! Lists of messages: pages, searches, marks, deletions, and counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use serde_json::{Value, json};
use url::form_urlencoded;
use uuid::Uuid;

use super::summary::{counts, find_by_id, summary, tags as tags_of};
use super::{json as answer, ok};
use crate::inbox::mail::MailView;
use crate::inbox::search::Search;
use idempost_reference_server::lock::lock;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::mails::{self, Folder};
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::Problem;
use idempost_reference_server::wire::query::Parameters;

/// The reported version: the version of Mailpit's API, since clients compare it, followed by the sandbox's version.
pub(super) const VERSION: &str = concat!("v1.30.5+idempost.", env!("CARGO_PKG_VERSION"));
/// The default page size.
const LIMIT: usize = 50;

/// `GET /api/v1/info`. Values that the sandbox doesn't track are 0.
pub(super) fn info(call: &AccountCall<'_>) -> Response<Bytes> {
    let (messages, unread) = counts(&call.tenant);
    answer(&json!({
        "Version": VERSION,
        "LatestVersion": "disabled",
        "Database": "",
        "DatabaseSize": 0,
        "Messages": messages,
        "Unread": unread,
        "Tags": tag_counts(&call.tenant),
        "RuntimeStats": {
            "Uptime": 0, "Memory": 0, "MessagesDeleted": 0,
            "SMTPAccepted": 0, "SMTPAcceptedSize": 0, "SMTPRejected": 0, "SMTPIgnored": 0,
        },
    }))
}

/// `GET /api/v1/webui`. Features that the sandbox lacks are off.
pub(super) fn page_settings() -> Response<Bytes> {
    answer(&json!({
        "Label": "idempost sandbox",
        "MessageRelay": {
            "Enabled": false, "SMTPServer": "", "ReturnPath": "", "AllowedRecipients": "", "BlockedRecipients": "",
            "OverrideFrom": "", "PreserveMessageIDs": false, "RecipientAllowlist": "",
        },
        "SpamAssassin": false,
        "ChaosEnabled": false,
        "DuplicatesIgnored": false,
        "HideDeleteAllButton": false,
    }))
}

/// `GET /api/v1/tags`
pub(super) fn tags(call: &AccountCall<'_>) -> Response<Bytes> {
    answer(&json!(tag_counts(&call.tenant).keys().collect::<Vec<_>>()))
}

/// `GET /api/v1/messages`
pub(super) fn index(call: &AccountCall<'_>) -> HandlerResult {
    let (start, limit) = parse_window(call);
    let newest = newest_messages(&call.tenant, start.saturating_add(limit));
    let (total, unread) = counts(&call.tenant);
    page(call, &newest, start, limit, (total, unread))
}

/// `GET /api/v1/search`
pub(super) fn search(call: &AccountCall<'_>) -> HandlerResult {
    let (start, limit) = parse_window(call);
    let found = search_messages(&call.tenant, &parse_search(call)?, &call.cancellation())?;
    let unread = found.iter().filter(|mail| mail.searchable().is_unread()).count();
    page(call, &found, start, limit, (found.len(), unread))
}

/// `PUT /api/v1/messages`: marks the messages in `IDs`, those matching `Search`, or all.
pub(super) fn mark(call: &AccountCall<'_>) -> HandlerResult {
    let body = Body::read(call.request)?;
    if !body.ids.is_empty() && !body.search.is_empty() {
        return Err(Problem::validation("You may specify either IDs or a search query, not both"));
    }
    let search = Search::from_mailpit_query(&body.search, call.now())?;
    for (folder, ids) in select(call, &body.ids, &search)? {
        mails::mark(call.state, &call.tenant, folder, &ids, !body.read);
    }
    Ok(ok())
}

/// `DELETE /api/v1/messages`: deletes the messages in `IDs`, or all.
pub(super) fn delete(call: &AccountCall<'_>) -> HandlerResult {
    let body = Body::read(call.request)?;
    delete_selected(call, &body.ids, &Search::default())
}

/// `DELETE /api/v1/search`
pub(super) fn delete_found(call: &AccountCall<'_>) -> HandlerResult {
    delete_selected(call, &[], &parse_search(call)?)
}

fn delete_selected(call: &AccountCall<'_>, ids: &[String], search: &Search) -> HandlerResult {
    for (folder, ids) in select(call, ids, search)? {
        mails::delete(call.state, &call.tenant, folder, &ids);
    }
    Ok(ok())
}

/// Returns the messages with these IDs, or the matching ones, by folder. Unknown IDs are skipped.
fn select(
    call: &AccountCall<'_>,
    ids: &[String],
    search: &Search,
) -> Result<[(Folder, Vec<Uuid>); 2], Problem> {
    let mails = if ids.is_empty() {
        search_messages(&call.tenant, search, &call.cancellation())?
    } else {
        ids.iter().filter_map(|id| find_by_id(&call.tenant, id)).collect()
    };
    let is_received = |mail: &&MailView| matches!(mail, MailView::Received(_));
    let (received, sent): (Vec<_>, Vec<_>) = mails.iter().partition(is_received);
    let ids = |mails: Vec<&MailView>| mails.into_iter().map(MailView::view_id).collect();
    Ok([(Folder::Sent, ids(sent)), (Folder::Received, ids(received))])
}

/// Returns the newest message, or the newest that matches `query`.
pub(super) fn latest(call: &AccountCall<'_>) -> Result<Option<MailView>, Problem> {
    if parameter(call, "query").is_none() {
        return Ok(newest_messages(&call.tenant, 1).into_iter().next());
    }
    Ok(search_messages(&call.tenant, &parse_search(call)?, &call.cancellation())?.into_iter().next())
}

/// Returns a page of these messages, with the total number of matches and how many of them are unread.
fn page(
    call: &AccountCall<'_>,
    mails: &[MailView],
    start: usize,
    limit: usize,
    matching: (usize, usize),
) -> HandlerResult {
    let (total, unread) = counts(&call.tenant);
    let canceled = call.cancellation();
    let shown = mails.iter().skip(start).take(limit).take_while(|_| !canceled.is_canceled());
    let shown: Vec<_> = shown.map(summary).collect();
    canceled.check()?;
    Ok(answer(&json!({
        "total": total,
        "unread": unread,
        "count": shown.len(),
        "messages_count": matching.0,
        "messages_unread": matching.1,
        "start": start,
        "tags": tag_counts(&call.tenant).keys().collect::<Vec<_>>(),
        "messages": shown,
    })))
}

/// Returns the newest messages of both folders together, newest first.
fn newest_messages(tenant: &Tenant, number: usize) -> Vec<MailView> {
    let sent: Vec<_> = lock(&tenant.captured).newest_first().take(number).cloned().collect();
    let received: Vec<_> = lock(&tenant.received).newest_first().take(number).cloned().collect();
    merge(sent.into_iter().map(MailView::Sent), received.into_iter().map(MailView::Received))
}

/// Returns all matching messages, newest first. The search runs without a lock.
fn search_messages(
    tenant: &Tenant,
    search: &Search,
    canceled: &Cancellation,
) -> Result<Vec<MailView>, Problem> {
    let sent = MailView::search(tenant, Folder::Sent, search, canceled)?;
    Ok(merge(sent, MailView::search(tenant, Folder::Received, search, canceled)?))
}

fn merge(
    one: impl IntoIterator<Item = MailView>,
    other: impl IntoIterator<Item = MailView>,
) -> Vec<MailView> {
    let mut all: Vec<_> = one.into_iter().chain(other).collect();
    all.sort_by_key(|mail| Reverse(mail.searchable().timestamp()));
    all
}

/// Returns all tags with their message counts.
fn tag_counts(tenant: &Tenant) -> BTreeMap<String, usize> {
    let sent: Vec<_> = lock(&tenant.captured).newest_first().cloned().collect();
    let mut tags = BTreeMap::new();
    for tag in sent.into_iter().flat_map(|mail| tags_of(&MailView::Sent(mail))) {
        *tags.entry(tag).or_default() += 1;
    }
    tags
}

/// Reads `start` and `limit`; as in Mailpit, invalid values are ignored.
fn parse_window(call: &AccountCall<'_>) -> (usize, usize) {
    let number = |name| parameter(call, name).and_then(|text| text.parse().ok());
    (number("start").unwrap_or(0), number("limit").unwrap_or(LIMIT))
}

fn parameter(call: &AccountCall<'_>, name: &str) -> Option<String> {
    let value = Parameters::new(call.query()).text(name)?.trim().to_owned();
    Some(value).filter(|value| !value.is_empty())
}

/// Reads the search in `query`, which is required: without it, a deletion would delete all messages.
fn parse_search(call: &AccountCall<'_>) -> Result<Search, Problem> {
    let search = parameter(call, "query").ok_or_else(|| Problem::validation("Error: no search query"))?;
    Search::from_mailpit_query(&search, call.now())
}

/// The body of a change. Mailpit ignores the case of field names; the PyPI package `mailpit-api-client` sends form data.
#[derive(Default)]
struct Body {
    read: bool,
    ids: Vec<String>,
    search: String,
}

impl Body {
    fn read(request: &Request<Bytes>) -> Result<Self, Problem> {
        let mut body = Self::default();
        let content_type = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        // `curl -d` declares JSON as a form. Mailpit doesn't read the type.
        let is_form = content_type.is_some_and(|it| it.starts_with(b"application/x-www-form-urlencoded"))
            && !request.body().trim_ascii_start().starts_with(b"{");
        let invalid = |what: &str| Problem::bad_request(format!("The body must be {what}."));
        // Without it, a change would affect all messages.
        let unknown = |name: &str| {
            let rule = "a JSON object or a form with `IDs`, `Read` or `Search`";
            Err(invalid(&format!("{rule}; found the field {}", quote(name))))
        };
        let fields: Vec<(String, Value)> = if request.body().is_empty() {
            Vec::new()
        } else if is_form {
            let fields = form_urlencoded::parse(request.body());
            fields.map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect()
        } else {
            let fields: BTreeMap<_, _> =
                serde_json::from_slice(request.body()).map_err(|_| invalid("a JSON object"))?;
            fields.into_iter().collect()
        };
        for (name, value) in fields {
            match (name.to_ascii_lowercase().as_str(), value) {
                (_, Value::Null) => {}
                ("ids", Value::String(id)) if is_form => body.ids.push(id),
                ("ids", value) => {
                    body.ids = serde_json::from_value(value)
                        .map_err(|_| invalid("an object whose `IDs` are strings"))?;
                }
                ("read", Value::String(text)) if is_form => body.read = text.eq_ignore_ascii_case("true"),
                ("read", value) => {
                    body.read =
                        value.as_bool().ok_or_else(|| invalid("an object whose `Read` is a boolean"))?;
                }
                ("search", value) => {
                    let text = value.as_str();
                    text.ok_or_else(|| invalid("an object whose `Search` is a string"))?
                        .trim()
                        .clone_into(&mut body.search);
                }
                _ => return unknown(&name),
            }
        }
        Ok(body)
    }
}
