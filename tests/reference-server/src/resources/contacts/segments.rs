//! The segments of a contact: `/contacts/{id_or_email}/segments`.

use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::context::Context;
use crate::resources::contacts::find;
use crate::resources::segments;
use crate::state::tenant::Tenant;
use crate::wire::{Checked, Field, Fields, HandlerResult, Mode, Problem, json};

/// Reads `segments: [{id}]`, and `audience_id`, the deprecated name of one.
pub fn read(fields: &mut Fields<'_>, tenant: &Tenant) -> Checked<Vec<Uuid>> {
    let known = |field: &Field<'_>| tenant.segments.read_uuid(field);
    let several = fields.optional("segments", |field| field.objects(|item| item.required("id", known)));
    let one = fields.optional("audience_id", known);
    Ok(several?.into_iter().flatten().chain(one?).collect())
}

/// `GET /contacts/{id_or_email}/segments`, mode B: the segments, newest first, with their creation times.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let contact = find(context, 0)?;
    let window = context.window(Mode::B)?;
    window.check_cursor(|id| contact.has_joined(id))?;
    let page = context.tenant.segments.page_with(&window, contact.segments.iter().copied())?;
    Ok(segments::items(&page))
}

/// `POST /contacts/{id_or_email}/segments/{segment_id}`. Adding a member again has no effect.
pub fn add(context: &Context<'_>) -> HandlerResult {
    let (contact, segment) = contact_and_segment(context)?;
    context.moment().change_contact(contact, |contact| contact.join(segment))?;
    Ok(json(StatusCode::OK, &membership(contact, segment)))
}

/// `DELETE /contacts/{id_or_email}/segments/{segment_id}`. Responds with 404 if the contact isn't a member.
pub fn remove(context: &Context<'_>) -> HandlerResult {
    let (contact, segment) = contact_and_segment(context)?;
    if !context.moment().change_contact(contact, |contact| contact.leave_segment(segment))? {
        return Err(Problem::not_found("The contact is not in the segment."));
    }
    let mut left = membership(contact, segment);
    left["deleted"] = true.into();
    Ok(json(StatusCode::OK, &left))
}

fn contact_and_segment(context: &Context<'_>) -> Result<(Uuid, Uuid), Problem> {
    let contact = find(context, 0)?;
    let segment = context.find_at(1, &context.tenant.segments)?;
    Ok((contact.id, segment.id))
}

/// Clients disagree about the names of these IDs, so the response contains all of them.
fn membership(contact: Uuid, segment: Uuid) -> Value {
    json!({ "object": "contact_segment", "id": segment, "contact_id": contact, "segment_id": segment })
}
