//! Sent emails: `POST /emails` and its aliases, `POST /emails/batch`, `GET /emails`, `GET` and `PATCH /emails/{id}`,
//! `POST /emails/{id}/cancel`.

pub(crate) mod attachments;
pub(crate) mod batch;
pub(crate) mod draft;
pub(crate) mod headers;
pub(crate) mod recipients;
pub(crate) mod record;
pub(crate) mod schedule;
pub(crate) mod tags;
pub(crate) mod template;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use self::draft::{Draft, Form};
use self::record::Email;
use self::tags::Tag;
use super::api_keys;
use super::timestamp::database;
use crate::delivery;
use crate::lock::lock;
use crate::paging::{Mode, Window, list};
use crate::problem::{Problem, json};
use crate::routes::Context;
use crate::validation::{Body, Fields, Problems};

/// `POST /emails`, and `POST /email`, `/emails/sending`, `/email/sending`, which the specification names without a
/// shape of their own.
pub(crate) fn send(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let body = Body::read(context.request.body())?;
    let mut problems = Problems::default();
    let mut ignored = context.ignored();
    let now = context.service.clock().now();
    let draft = Fields::read_body(body, &mut problems).and_then(|fields| {
        Draft::read_all(fields, &Form::single(&context.tenant, now), &mut problems, &mut ignored)
    });
    let draft = match (draft, problems.into_problem()) {
        (Some(draft), None) => draft,
        (_, Some(problem)) => return Err(problem),
        (None, None) => return Err(Problem::application("An email was refused without a reason.")),
    };
    api_keys::check_sender(context, &draft.from)?;
    delivery::check_hosted(context.service, &draft)?;
    let id = delivery::accept(context.service, &context.tenant, draft, now);
    Ok(json(StatusCode::OK, &Accepted { id }))
}

/// `GET /emails`, mode A.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    let page = window.look(&lock(&context.tenant.emails), |_| true)?;
    Ok(list(&page.map(|email| Item::of(&email))))
}

/// `GET /emails/{id}`. The specification shows no fields of the full record; these are the list item's, and the body.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("an email")?;
    let email = lock(&context.tenant.emails).get(id).cloned();
    let email = email.ok_or_else(|| Problem::not_found("Email not found."))?;
    Ok(json(StatusCode::OK, &Record::of(&email)))
}

#[derive(Serialize)]
struct Accepted {
    id: Uuid,
}

/// `SPEC.md`, Sent email (list item).
#[derive(Serialize)]
struct Item {
    id: String,
    message_id: String,
    to: Vec<String>,
    from: String,
    created_at: String,
    subject: String,
    bcc: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    reply_to: Option<Vec<String>>,
    last_event: &'static str,
    scheduled_at: Option<String>,
}

impl Item {
    fn of(email: &Email) -> Self {
        Self {
            id: email.id.to_string(),
            message_id: email.message_id.to_string(),
            to: email.to.clone(),
            from: email.from.clone(),
            created_at: database(email.created_at),
            subject: email.subject.clone(),
            bcc: email.bcc.clone(),
            cc: email.cc.clone(),
            reply_to: email.reply_to.clone(),
            last_event: email.last_event().as_str(),
            scheduled_at: email.scheduled_at().map(database),
        }
    }
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    html: Option<Arc<str>>,
    text: Option<Arc<str>>,
    tags: &'a [Tag],
    topic_id: Option<String>,
}

impl<'a> Record<'a> {
    fn of(email: &'a Email) -> Self {
        Self {
            object: "email",
            item: Item::of(email),
            html: email.bodies.html(),
            text: email.bodies.text(),
            tags: &email.tags,
            topic_id: email.topic.map(|id| id.to_string()),
        }
    }
}
