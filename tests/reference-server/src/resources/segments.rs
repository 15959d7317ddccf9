//! Segments of contacts, also under their deprecated name, audiences.
//!
//! The specification shows the list item and the list of members; the other routes have Resend's shapes.

pub mod metrics;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::model::contact::Group;
use crate::model::segment::{self, Segment};
use crate::resources::contacts::view;
use crate::wire::{HandlerResult, Mode, Page, answers, json, list, non_blank};

/// `POST /segments`, and `POST /audiences`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let name = context.body(|fields| fields.required("name", non_blank))?;
    let id = context.state.next_id();
    context.tenant.segments.add(id, Segment { id, name: name.clone(), created_at: context.now() })?;
    Ok(json(StatusCode::CREATED, &json!({ "object": object(context), "id": id, "name": name })))
}

/// `GET /segments`, and `GET /audiences`; mode B.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::B)?;
    Ok(items(&context.tenant.segments.page(&window)?))
}

/// The response to a request for a list of segments.
pub fn items(page: &Page<Arc<Segment>>) -> Response<Bytes> {
    list(&page.show(segment::Item))
}

/// `GET /segments/{segment_id}`, and `GET /audiences/{audience_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let segment = context.find(&context.tenant.segments)?;
    Ok(json(StatusCode::OK, &Record { object: object(context), item: segment::Item(&segment) }))
}

/// `PATCH /segments/{segment_id}`: renames the segment.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.segments)?.id;
    let name = context.body(|fields| fields.required("name", non_blank))?;
    context.tenant.segments.update(id, |segment| segment.name = name)?;
    Ok(answers::reference(object(context), id))
}

/// `DELETE /segments/{segment_id}`, and `DELETE /audiences/{audience_id}`. The contacts stay. The response for an unknown segment is the
/// same, as with Resend.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a segment")?;
    context.tenant.segments.remove(id);
    for group in [Group::Member(id), Group::FormerMember(id)] {
        context.tenant.contacts.change_all(&group, |contact| contact.forget_segment(id));
    }
    Ok(answers::deleted_response(object(context), id))
}

/// `GET /segments/{segment_id}/contacts`, and `GET /audiences/{audience_id}/contacts`; mode B.
pub fn members(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.segments)?.id;
    let window = context.window(Mode::B)?;
    Ok(view::items(&view::members(context, &window, id)?))
}

fn object(context: &Context<'_>) -> &'static str {
    if context.request.uri().path().starts_with("/audiences") { "audience" } else { "segment" }
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: segment::Item<'a>,
}
