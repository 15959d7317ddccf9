//! The threads of an inbox.

pub mod labels;

use std::sync::Arc;

use http::StatusCode;
use uuid::Uuid;

use crate::context::Context;
use crate::model::inboxes::email;
use crate::model::inboxes::label::Label;
use crate::model::inboxes::thread::{Folder, Group, Thread};
use crate::resources::inboxes::input::values;
use crate::resources::inboxes::{inbox, inbox_service, member};
use crate::store::table::Record as _;
use crate::wire::query::parse_word;
use crate::wire::{BOOLEANS, Deletion, HandlerResult, Mode, Problem, boolean, input, json as respond, list};

/// The maximum number of labels in a filter.
const MAX_LABELS: usize = 50;

/// `GET /inboxes/{inbox}/threads`: most recently active first, 20 by default as in mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let (inbox, window) = (inbox(context)?.id, context.window(Mode::A)?);
    let threads = &context.tenant.inboxes.threads;
    let page = threads.page_of(&window, selection(context, inbox)?, |thread| thread.inbox == inbox)?;
    Ok(list(&page.map(|thread| context.tenant.inboxes.item(&thread))))
}

/// The groups of threads that the query selects: by folder, label (any of several) and read state.
pub(super) fn selection(context: &Context<'_>, inbox: Uuid) -> Result<Vec<Group>, Problem> {
    let labels = values(context, "labels").map(|ids| labels(context, inbox, &ids)).transpose()?;
    let folders = match values(context, "folders") {
        Some(words) => words
            .iter()
            .map(|text| parse_word("folders", text, Folder::WORDS))
            .collect::<Result<Vec<_>, _>>()?,
        None if labels.is_some() => vec![Folder::Inbox, Folder::Archive, Folder::Sent],
        None => vec![Folder::Inbox],
    };
    let read = context.one_of("read", &BOOLEANS)?.map_or_else(|| vec![false, true], |read| vec![read]);
    let groups = folders.into_iter().flat_map(|folder| {
        let (read, labels) = (read.clone(), &labels);
        read.into_iter().flat_map(move |read| match labels {
            None => vec![Group::Listed { inbox, folder, read }],
            Some(ids) => ids.iter().map(|id| Group::Labeled { label: *id, folder, read }).collect(),
        })
    });
    Ok(groups.collect())
}

fn labels(context: &Context<'_>, inbox: Uuid, ids: &[String]) -> Result<Vec<Uuid>, Problem> {
    if ids.len() > MAX_LABELS {
        let found = ids.len();
        return Err(Problem::validation(format!(
            "`labels` must have at most {MAX_LABELS} ids; found {found}."
        )));
    }
    ids.iter().map(|id| find_label(context, inbox, id).map(|label| label.id)).collect()
}

/// Finds a label of an inbox by the text of its ID.
fn find_label(context: &Context<'_>, inbox: Uuid, id: &str) -> Result<Arc<Label>, Problem> {
    let found = Uuid::try_parse(id).ok().and_then(|id| context.tenant.inboxes.labels.get(id));
    found.filter(|label| label.inbox == inbox).ok_or_else(Label::not_found)
}

/// `GET /inboxes/{inbox}/threads/{thread_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(detail(context, &*find(context)?))
}

fn detail(context: &Context<'_>, thread: &Thread) -> http::Response<bytes::Bytes> {
    respond(StatusCode::OK, &context.tenant.inboxes.detail(thread))
}

/// The folders that a thread can be moved to.
const TARGETS: &[(&str, Folder)] = &[
    ("inbox", Folder::Inbox),
    ("archive", Folder::Archive),
    ("spam", Folder::Spam),
    ("trash", Folder::Trash),
];

input! {
    struct ThreadPatch(fields; any "read", "folder") {
        read: Option<bool> = fields.optional("read", boolean),
        folder: Option<Folder> = fields.optional("folder", |field| field.one_of(TARGETS)),
    }
}

/// `PATCH /inboxes/{inbox}/threads/{thread_id}`: `read` also applies to all received emails of the thread.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    let ThreadPatch { read, folder } = context.body(ThreadPatch::read)?;
    let changed = inbox_service(context).change_thread(id, |thread| {
        thread.read = read.unwrap_or(thread.read);
        thread.move_to(folder.unwrap_or(thread.folder), context.now());
    });
    let (_, thread) = changed.ok_or_else(Thread::not_found)?;
    if let Some(read) = read {
        let mark = |email: &mut email::InboxEmail| email.read = read || email.received.is_none();
        context.tenant.inboxes.emails.change_all(&email::Group::Thread(id), mark);
    }
    Ok(detail(context, &thread))
}

/// `DELETE /inboxes/{inbox}/threads/{thread_id}`: moves it to the trash, from which it is deleted after 30 days. `deleted` is false if it
/// was there already.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    let changed =
        inbox_service(context).change_thread(id, |thread| thread.move_to(Folder::Trash, context.now()));
    let (before, _) = changed.ok_or_else(Thread::not_found)?;
    let deletion = Deletion::new("inbox_thread", id);
    let was_there = before.folder == Folder::Trash;
    Ok(respond(StatusCode::OK, &if was_there { deletion.already_deleted() } else { deletion }))
}

/// Finds the thread of the path.
pub(super) fn find(context: &Context<'_>) -> Result<Arc<Thread>, Problem> {
    let inbox = inbox(context)?.id;
    member(context, 1, &context.tenant.inboxes.threads, |thread| thread.inbox == inbox)
}
