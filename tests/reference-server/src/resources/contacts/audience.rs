//! The contacts of an audience, the deprecated name of a segment: `/audiences/{audience_id}/contacts`. Published clients still use these
//! routes for audiences. The specification doesn't define their shapes; they are Resend's.

use std::sync::Arc;

use http::StatusCode;

use crate::context::Context;
use crate::model::contact::Detail;
use crate::resources::contacts::{Contact, apply_update, create_in, deleted_response, find};
use crate::store::table::Record as _;
use crate::wire::{HandlerResult, Problem, json};

/// `POST /audiences/{audience_id}/contacts`: `POST /contacts` that also adds the contact to the audience.
pub fn create(context: &Context<'_>) -> HandlerResult {
    create_in(context, Some(context.find(&context.tenant.segments)?.id))
}

/// `GET /audiences/{audience_id}/contacts/{id_or_email}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &Detail(&*member(context)?)))
}

/// `PATCH /audiences/{audience_id}/contacts/{id_or_email}`.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let member = member(context)?;
    apply_update(context, &member)
}

/// `DELETE /audiences/{audience_id}/contacts/{id_or_email}` deletes the contact. The response for an unknown contact is the same.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    context.find(&context.tenant.segments)?;
    if let Ok(contact) = member(context) {
        context.moment().remove_contact(contact.id);
    }
    Ok(deleted_response(&context.parameter(1)))
}

/// Finds the contact of the path, if it is in the audience.
fn member(context: &Context<'_>) -> Result<Arc<Contact>, Problem> {
    let audience = context.find(&context.tenant.segments)?.id;
    let contact = find(context, 1)?;
    if !contact.segments.contains(&audience) {
        return Err(Contact::not_found());
    }
    Ok(contact)
}
