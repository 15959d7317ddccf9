//! Changes of captured and received mails: `PATCH` marks them as read or unread, `DELETE` deletes them. Both take one mail by its path, several
//! by `{"ids": […]}`, those that match the filters of the query, or all.

use std::sync::Mutex;

use bytes::Bytes;
use http::{Request, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::inbox::mail::MailView;
use crate::inbox::search::{Search, Searchable};
use idempost_reference_server::control::body::Body;
use idempost_reference_server::lock::lock;
use idempost_reference_server::state::State;
use idempost_reference_server::state::mails::{self, Folder};
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::mails::{Mails, StoredMail};
use idempost_reference_server::wire::answers::Answer;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::problem::{self, Problem};

/// The maximum number of `ids`.
const MAX_IDS: usize = 10_000;

/// `DELETE /_/messages` and `DELETE /_/received`.
pub(super) fn delete(state: &State, tenant: &Tenant, folder: Folder, request: &Request<Bytes>) -> Answer {
    let ids = if request.body().is_empty() {
        None
    } else {
        let mut body = Body::read(request.body())?;
        let ids = ids(&mut body);
        body.finish("`ids`")?;
        ids
    };
    let selected = selected(tenant, folder, ids, state.clock.now(), request)?;
    Ok(deleted(mails::delete(state, tenant, folder, &selected)))
}

/// `PATCH /_/messages` and `PATCH /_/received`.
pub(super) fn mark(state: &State, tenant: &Tenant, folder: Folder, request: &Request<Bytes>) -> Answer {
    let mut body = Body::read(request.body())?;
    let (ids, unread) = (ids(&mut body), unread(&mut body));
    body.finish("`ids`, `unread`")?;
    let selected = selected(tenant, folder, ids, state.clock.now(), request)?;
    Ok(changed(mails::mark(state, tenant, folder, &selected, unread)))
}

/// `DELETE /_/messages/{id}` and `DELETE /_/received/{id}`.
pub(super) fn delete_one(state: &State, tenant: &Tenant, folder: Folder, id: &str) -> Answer {
    let id = one(tenant, folder, id)?;
    Ok(deleted(mails::delete(state, tenant, folder, &[id])))
}

/// `PATCH /_/messages/{id}` and `PATCH /_/received/{id}`.
pub(super) fn mark_one(state: &State, tenant: &Tenant, folder: Folder, id: &str, body: &[u8]) -> Answer {
    let id = one(tenant, folder, id)?;
    let mut body = Body::read(body)?;
    let unread = unread(&mut body);
    body.finish("`unread`")?;
    Ok(changed(mails::mark(state, tenant, folder, &[id], unread)))
}

fn deleted(number: usize) -> http::Response<Bytes> {
    problem::json(StatusCode::OK, &json!({ "deleted": number }))
}

fn changed(number: usize) -> http::Response<Bytes> {
    problem::json(StatusCode::OK, &json!({ "changed": number }))
}

/// The ID of the mail in the path.
fn one(tenant: &Tenant, folder: Folder, id: &str) -> Result<Uuid, Problem> {
    match MailView::find(tenant, folder, id)? {
        MailView::Sent(mail) => Ok(mail.id),
        MailView::Received(mail) => Ok(mail.id),
        MailView::Unsent(_) => Err(Problem::not_found("The email was not sent, so there is no message.")),
    }
}

fn unread(body: &mut Body) -> bool {
    if !body.has("unread") {
        body.wrong("`unread` must be a boolean; found nothing.");
    }
    body.flag("unread")
}

/// Takes `ids`. Invalid ones are reported.
fn ids(body: &mut Body) -> Option<Vec<Uuid>> {
    let ids = match body.take("ids")? {
        Value::Array(ids) if ids.len() <= MAX_IDS => ids,
        Value::Array(ids) => {
            body.wrong(format!("`ids` must have at most {MAX_IDS} IDs; found {}.", ids.len()));
            return None;
        }
        other => return body.refuse("ids", "an array", &other),
    };
    let mut read = Vec::with_capacity(ids.len());
    for (index, id) in ids.iter().enumerate() {
        match id.as_str().and_then(|id| Uuid::try_parse(id).ok()) {
            Some(id) => read.push(id),
            None => drop(body.refuse::<()>(&format!("ids[{index}]"), "the ID of a mail", id)),
        }
    }
    Some(read)
}

/// The IDs selected by `ids` or the query; without either, all. A search runs without the lock of the mails.
fn selected(
    tenant: &Tenant,
    folder: Folder,
    ids: Option<Vec<Uuid>>,
    now: Timestamp,
    request: &Request<Bytes>,
) -> Result<Vec<Uuid>, Problem> {
    let search = Search::of_change(request.uri().query().unwrap_or_default(), now)?;
    let Some(ids) = ids else {
        let canceled = Cancellation::of(request);
        return match folder {
            Folder::Sent => matching(tenant, &tenant.captured, &search, &canceled),
            Folder::Received => matching(tenant, &tenant.received, &search, &canceled),
        };
    };
    if !search.is_empty() {
        return Err(Problem::validation("Only one of `ids` and filters in the query may be given."));
    }
    Ok(match folder {
        Folder::Sent => {
            ids.into_iter().filter_map(|id| mails::by_id(tenant, id)).map(|mail| mail.id).collect()
        }
        Folder::Received => ids,
    })
}

/// The IDs of the mails that match.
pub(super) fn matching<T: StoredMail + Searchable>(
    tenant: &Tenant,
    mails: &Mutex<Mails<T>>,
    search: &Search,
    canceled: &Cancellation,
) -> Result<Vec<Uuid>, Problem> {
    if search.is_empty() {
        return Ok(lock(mails).ids().collect());
    }
    let all: Vec<_> = lock(mails).newest_first().cloned().collect();
    let mut matcher = search.matcher(tenant);
    let found = all.iter().filter(|mail| !canceled.is_canceled() && matcher.matches(&***mail));
    let found = found.map(|mail| mail.id()).collect();
    canceled.check().map(|()| found)
}
