//! Changes to captured and received mails: `PATCH` marks them as read or unread, `DELETE` deletes them. Both take one mail by its path, several by
//! `{"ids": […]}`, those matching the filters in the query, or all.

use bytes::Bytes;
use http::{Response, StatusCode};
use uuid::Uuid;

use crate::inbox::mail::{MailView, no_message};
use crate::inbox::search::Search;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::mails::{self, Folder};
use idempost_reference_server::wire::answers::{DeletedCount, HandlerResult};
use idempost_reference_server::wire::declared::{Input, Kind};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::fields::{Fields, boolean};
use idempost_reference_server::wire::json::text;
use idempost_reference_server::wire::paging::{self, Page};
use idempost_reference_server::wire::problem::{self, Problem};
use idempost_reference_server::wire::problems::Checked;

/// The maximum number of `ids`.
const MAX_IDS: usize = 10_000;

/// The fields of a deletion, of a mark of several mails, and of a mark of one.
pub(super) const DELETE_FIELDS: &[Input] = &[IDS];
pub(super) const MARK_FIELDS: &[Input] = &[IDS, UNREAD];
pub(super) const MARK_ONE_FIELDS: &[Input] = &[UNREAD];
const IDS: Input = Input::new(
    "ids",
    Kind::List(&Kind::Id, MAX_IDS),
    "The IDs of the emails; by default all that match the query",
);
const UNREAD: Input = Input::new("unread", Kind::Boolean, "Whether they are unread").required();

/// `DELETE /_/messages` and `DELETE /_/received`.
pub(super) fn delete(call: &AccountCall<'_>, folder: Folder) -> HandlerResult {
    let ids = if call.request.body().is_empty() { None } else { call.body(read_ids)? };
    Ok(delete_ids(call, folder, &select_ids(call, folder, ids)?))
}

/// `PATCH /_/messages` and `PATCH /_/received`.
pub(super) fn mark(call: &AccountCall<'_>, folder: Folder) -> HandlerResult {
    let (ids, unread) = call.body(|fields| {
        let (ids, unread) = (read_ids(fields), read_unread(fields));
        Ok((ids?, unread?))
    })?;
    Ok(mark_ids(call, folder, &select_ids(call, folder, ids)?, unread))
}

/// `DELETE /_/messages/{id}` and `DELETE /_/received/{id}`.
pub(super) fn delete_one(call: &AccountCall<'_>, folder: Folder) -> HandlerResult {
    Ok(delete_ids(call, folder, &[find_id(call, folder)?]))
}

/// `PATCH /_/messages/{id}` and `PATCH /_/received/{id}`.
pub(super) fn mark_one(call: &AccountCall<'_>, folder: Folder) -> HandlerResult {
    Ok(mark_ids(call, folder, &[find_id(call, folder)?], call.body(read_unread)?))
}

fn delete_ids(call: &AccountCall<'_>, folder: Folder, ids: &[Uuid]) -> Response<Bytes> {
    let deleted = mails::delete(call.state, &call.tenant, folder, ids);
    problem::json(StatusCode::OK, &DeletedCount { deleted })
}

fn mark_ids(call: &AccountCall<'_>, folder: Folder, ids: &[Uuid], unread: bool) -> Response<Bytes> {
    let changed = mails::mark(call.state, &call.tenant, folder, ids, unread);
    problem::json(StatusCode::OK, &ChangedCount { changed })
}

described! {
    /// The number of emails that have changed.
    pub(super) struct ChangedCount {
        changed: usize,
    }

    /// The ID of an email.
    pub(super) struct MailId {
        id: Uuid,
        unread: bool,
    }
}

/// Returns the ID of the mail in the path.
fn find_id(call: &AccountCall<'_>, folder: Folder) -> Result<Uuid, Problem> {
    match MailView::find(&call.tenant, folder, &call.parameter(0))? {
        MailView::Unsent(_) => Err(no_message()),
        mail => Ok(mail.view_id()),
    }
}

fn read_unread(fields: &mut Fields<'_>) -> Checked<bool> {
    fields.required(UNREAD.name, boolean)
}

fn read_ids(fields: &mut Fields<'_>) -> Checked<Option<Vec<Uuid>>> {
    // `null` isn't absent: it would select all emails.
    fields.nullable(IDS.name, |field| {
        let ids = field.items_unlimited("an array")?;
        if ids.len() > MAX_IDS {
            return Err(field.reject(format_args!("must have at most {MAX_IDS} IDs; found {}", ids.len())));
        }
        ids.read(|_, id| {
            let parsed = text(id.json()).and_then(|id| Uuid::try_parse(&id).ok());
            parsed.ok_or_else(|| id.reject_type("the ID of a mail"))
        })
    })
}

/// `GET /_/messages/ids` and `GET /_/received/ids`: the IDs of all mails selected by the query, so that exactly these can be deleted later.
pub(super) fn list(call: &AccountCall<'_>, folder: Folder) -> HandlerResult {
    let found = MailView::search(&call.tenant, folder, &Search::read(call)?, &call.cancellation())?;
    let items = found.iter().map(|mail| MailId { id: mail.view_id(), unread: mail.searchable().is_unread() });
    Ok(paging::list(&Page { items: items.collect(), has_more: false }))
}

/// Returns the IDs of the mails selected by `ids` or the query; without either, of all mails. A search runs without the lock of the mails.
fn select_ids(call: &AccountCall<'_>, folder: Folder, ids: Option<Vec<Uuid>>) -> Result<Vec<Uuid>, Problem> {
    let (tenant, search) = (&*call.tenant, Search::from_mutation_query(&call.parameters(), call.now())?);
    let Some(ids) = ids else {
        let found = MailView::search(tenant, folder, &search, &call.cancellation())?;
        return Ok(found.iter().map(MailView::view_id).collect());
    };
    if !search.is_empty() {
        return Err(Problem::validation("Send either `ids` or filters in the query, not both."));
    }
    Ok(match folder {
        Folder::Sent => {
            ids.into_iter().filter_map(|id| mails::find_by_id(tenant, id)).map(|mail| mail.id).collect()
        }
        Folder::Received => ids,
    })
}
