//! Sent emails: `POST /emails` and its aliases, `POST /emails/batch`, `GET /emails`, `GET` and `PATCH /emails/{id}`,
//! `POST /emails/{id}/cancel`.

pub mod attachments;
pub mod batch;
pub mod draft;
pub mod metrics;
pub mod schedule;
pub mod share;
pub mod template;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use self::draft::Form;
use crate::context::Context;
use crate::delivery;
use crate::lock::lock;
use crate::model::email::draft::Draft;
use crate::model::email::{self, Email};
use crate::resources::api_keys;
use crate::state::moment::Moment;
use crate::state::quota::{self, QuotaUsed};
use crate::wire::{HandlerResult, Mode, Problem, json, list};

/// `POST /emails`, and its aliases `POST /email`, `/emails/sending`, `/email/sending`.
pub fn send(context: &Context<'_>) -> HandlerResult {
    let now = context.now();
    let draft =
        context.body(|fields| Draft::read(fields, &Form::single(context.state, &context.tenant, now)))?;
    api_keys::check_sender(context, &draft.from)?;
    delivery::check_hosted(context.state, &draft)?;
    let used = quota::take(&context.state.settings, &context.tenant, draft.recipients().count(), now)?;
    let id = delivery::accept(Moment { at: now, ..context.moment() }, draft);
    Ok(accepted_response(id, used))
}

/// `GET /emails`, mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::A)?;
    let page = window.show(&*lock(&context.tenant.emails))?;
    Ok(list(&page.show(email::Item)))
}

/// `GET /emails/{id}`. The specification doesn't define the full record; it contains the list item's fields and the bodies.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    let files = attachments::stored_attachments(&context.tenant, &email);
    let attachments = attachments::items(&email, &files).into_iter().map(|(_, item)| item).collect();
    Ok(json(StatusCode::OK, &Record { email: email::Detail(&email), attachments }))
}

/// Finds the email of the path.
fn find(context: &Context<'_>) -> Result<Arc<Email>, Problem> {
    let id = context.id("an email")?;
    let email = lock(&context.tenant.emails).get(id).cloned();
    email.ok_or_else(|| Problem::not_found("Email not found."))
}

/// The attachments are the same as in [`attachments::index`], without their download URLs.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    email: email::Detail<'a>,
    attachments: Vec<attachments::Item<'a>>,
}

#[derive(Serialize)]
struct Accepted {
    id: Uuid,
}

/// The response to an accepted email.
pub(super) fn accepted_response(id: Uuid, used: QuotaUsed) -> Response<Bytes> {
    let mut response = json(StatusCode::OK, &Accepted { id });
    used.add_headers(response.headers_mut());
    response
}
