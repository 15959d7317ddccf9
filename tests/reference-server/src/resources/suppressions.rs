//! The suppression list. A path names an entry by its ID or its address.
//!
//! The specification doesn't define it; these are Resend's shapes. Resend publishes no errors; they follow the other resources. Adding a known
//! address changes nothing and returns its entry.

pub mod batch;

use std::sync::Arc;

use http::StatusCode;

use crate::context::Context;
use crate::model::suppression::{self, Origin, Suppression};
use crate::resources::contacts::read_email;
use crate::wire::{HandlerResult, Mode, Problem, answers, json, list};

/// `POST /suppressions`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let email = context.body(|fields| fields.required("email", read_email))?;
    let added = context.moment().add_suppressions(vec![email], Origin::Manual, None)?;
    let id = added.first().ok_or_else(|| Problem::application("An address was not added."))?;
    Ok(answers::created_response("suppression", *id))
}

/// `GET /suppressions`: 20 by default, as in mode A; `origin` shows the entries of one origin.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::A)?;
    let origin = context.one_of("origin", Origin::WORDS)?;
    let page = context.tenant.suppressions.page_within(&window, origin)?;
    Ok(list(&page.show(suppression::Item)))
}

/// `GET /suppressions/{id_or_email}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &suppression::Detail(&*find(context)?)))
}

/// `DELETE /suppressions/{id_or_email}`, regardless of its origin. Another bounce or complaint adds the address again.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    context.moment().remove_suppression(id);
    Ok(answers::deleted_response("suppression", id))
}

fn find(context: &Context<'_>) -> Result<Arc<Suppression>, Problem> {
    context.find_by_id_or_key(0, &context.tenant.suppressions)
}
