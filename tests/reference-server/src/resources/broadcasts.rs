//! Broadcasts: `POST /broadcasts`, `GET /broadcasts`, and what is done to one of them.
//!
//! The specification shows creating, sending and listing, and is silent on the rest, on the answers and on the statuses beyond `draft` and
//! `sent`. What can't be done in a status is refused with 403 `validation_error`.

mod message;
pub(crate) mod record;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use self::message::Changes;
use self::record::{Broadcast, Message};
use super::answers;
use super::api_keys::check_sender;
use super::timestamp::database;
use crate::delivery::broadcast;
use crate::paging::{Mode, Window, list};
use crate::problem::{Problem, json};
use crate::routes::Context;

/// The longest name of a copy, in characters.
const LONGEST_COPY_NAME: usize = 70;

/// `POST /broadcasts`: a draft, or with `send` one that goes out.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let now = context.now();
    let (message, send, due) = context.body(|fields, problems, _| {
        let message = message::read(context, fields, problems);
        let send = fields.take_bool("send", problems).unwrap_or(false);
        let scheduled = fields.has("scheduled_at");
        let due = message::take_schedule(now, fields, problems);
        if scheduled && !send {
            problems.wrong(|| "`scheduled_at` needs `send` to be true; a draft has no schedule.".to_owned());
        }
        Some((message?, send, due))
    })?;
    check_sender(context, &message.from)?;
    let id = context.service.next_id();
    context.tenant.broadcasts.add(id, Broadcast::new(id, message, now))?;
    if send {
        broadcast::send(context.service, &context.tenant, id, due, now)?;
    }
    Ok(answers::made(OBJECT, id))
}

/// `GET /broadcasts`, mode B.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.broadcasts.page(&window)?;
    Ok(list(&page.map(|broadcast| Item::of(&broadcast))))
}

/// `GET /broadcasts/{id}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a broadcast")?;
    let broadcast = context.tenant.broadcasts.get(id).ok_or_else(not_found)?;
    Ok(json(StatusCode::OK, &Record::of(&broadcast)))
}

/// `PATCH /broadcasts/{id}`: only what has not gone out. One that is scheduled stays scheduled.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a broadcast")?;
    let found = context.tenant.broadcasts.get(id).ok_or_else(not_found)?;
    found.check_open("updated")?;
    let changes = context.body(|fields, problems, _| Some(Changes::read(context, fields, problems)))?;
    change(context, id, |broadcast| {
        // It may have gone out since it was looked at.
        broadcast.check_open("updated")?;
        let message = changes.apply(&broadcast.message)?;
        check_sender(context, &message.from)?;
        broadcast.message = message;
        Ok(())
    })?;
    Ok(answers::reference(OBJECT, id))
}

/// `DELETE /broadcasts/{id}`: only what has not gone out.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a broadcast")?;
    let mut broadcasts = context.tenant.broadcasts.lock();
    broadcasts.get(id).ok_or_else(not_found)?.check_open("deleted")?;
    broadcasts.remove(id);
    Ok(answers::deleted(OBJECT, id))
}

/// `POST /broadcasts/{id}/send`: only a draft. The body is optional.
pub(crate) fn send(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a broadcast")?;
    let now = context.now();
    let due = if context.request.body().is_empty() {
        None
    } else {
        context.body(|fields, problems, _| Some(message::take_schedule(now, fields, problems)))?
    };
    let found = context.tenant.broadcasts.get(id).ok_or_else(not_found)?;
    check_sender(context, &found.message.from)?;
    broadcast::send(context.service, &context.tenant, id, due, now)?;
    Ok(json(StatusCode::OK, &Sent { id }))
}

/// `POST /broadcasts/{id}/cancel`: a scheduled one becomes a draft, a queued one stops.
pub(crate) fn cancel(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a broadcast")?;
    change(context, id, Broadcast::cancel)?;
    Ok(answers::reference(OBJECT, id))
}

/// `POST /broadcasts/{id}/duplicate`: a draft of the same message.
pub(crate) fn duplicate(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a broadcast")?;
    let found = context.tenant.broadcasts.get(id).ok_or_else(not_found)?;
    let name = found.message.name.as_ref().map(|name| {
        let name = format!("{name} (copy)");
        name.chars().take(LONGEST_COPY_NAME).collect()
    });
    let copy = context.service.next_id();
    let message = Message { name, ..found.message.clone() };
    context.tenant.broadcasts.add(copy, Broadcast::new(copy, message, context.now()))?;
    Ok(answers::reference(OBJECT, copy))
}

fn change(
    context: &Context<'_>,
    id: Uuid,
    change: impl FnOnce(&mut Broadcast) -> Result<(), Problem>,
) -> Result<(), Problem> {
    context.tenant.broadcasts.try_change(id, change).ok_or_else(not_found)?
}

fn not_found() -> Problem {
    Problem::not_found("Broadcast not found.")
}

const OBJECT: &str = "broadcast";

#[derive(Serialize)]
struct Sent {
    id: Uuid,
}

/// `SPEC.md`, Broadcast (list item), and the topic.
#[derive(Serialize)]
struct Item {
    id: Uuid,
    name: String,
    /// The segments' former name; the same value.
    audience_id: Uuid,
    segment_id: Uuid,
    status: &'static str,
    created_at: String,
    scheduled_at: Option<String>,
    sent_at: Option<String>,
    topic_id: Option<Uuid>,
}

impl Item {
    fn of(broadcast: &Broadcast) -> Self {
        let message = &broadcast.message;
        Self {
            id: broadcast.id,
            name: message.shown_name().to_owned(),
            audience_id: message.segment,
            segment_id: message.segment,
            status: broadcast.status.as_str(),
            created_at: database(broadcast.created_at),
            scheduled_at: broadcast.scheduled_at.map(database),
            sent_at: broadcast.sent_at.map(database),
            topic_id: message.topic,
        }
    }
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    from: &'a str,
    subject: &'a str,
    reply_to: Option<Vec<&'a str>>,
    preview_text: Option<&'a str>,
    html: Option<&'a str>,
    text: Option<&'a str>,
}

impl<'a> Record<'a> {
    fn of(broadcast: &'a Broadcast) -> Self {
        let message = &broadcast.message;
        let reply_to = message.reply_to.as_deref();
        Self {
            object: OBJECT,
            item: Item::of(broadcast),
            from: &message.from.text,
            subject: &message.subject,
            reply_to: reply_to.map(|list| list.iter().map(|one| one.text.as_str()).collect()),
            preview_text: message.preview_text.as_deref(),
            html: message.html.as_deref(),
            text: message.text.as_deref(),
        }
    }
}
