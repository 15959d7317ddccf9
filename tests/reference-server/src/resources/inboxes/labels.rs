//! The labels of an inbox.

use http::StatusCode;
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::model::inboxes::label::{Item, Label};
use crate::resources::inboxes::input::read_text;
use crate::resources::inboxes::{inbox, member};
use crate::wire::{Checked, Field, HandlerResult, Problem, answers, input, json};

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 64;
/// The maximum number of labels of an inbox: they are listed without pages.
const MAX_LABELS: usize = 100;
/// The color of a label without one. Resend chooses one at random.
const COLOR: &str = "#6B7280";

input! {
    struct NewLabel(fields; requires "name") {
        name: String = fields.required("name", |field| read_text(field, 1, MAX_NAME)),
        color: Option<String> = fields.optional("color", color),
    }
}

input! {
    struct LabelPatch(fields; any "name", "color") {
        name: Option<String> = fields.optional("name", |field| read_text(field, 1, MAX_NAME)),
        color: Option<String> = fields.optional("color", color),
    }
}

/// Reads `#RRGGBB`, which is stored in upper case.
fn color(field: &Field<'_>) -> Checked<String> {
    field.parse_with(|text| {
        let digits = text.strip_prefix('#').unwrap_or_default();
        let is_color = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_color { Ok(text.to_ascii_uppercase()) } else { Err("must be a color like `#1A2B3C`") }
    })
}

/// `GET /inboxes/{inbox}/labels`: all labels, oldest first.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let mut labels = context.tenant.inboxes.labels.members(&inbox(context)?.id);
    labels.reverse();
    Ok(list(&labels.iter().map(|label| Item(label)).collect::<Vec<_>>()))
}

/// A list without pages.
pub(super) fn list<T: Serialize>(data: &[T]) -> http::Response<bytes::Bytes> {
    json(StatusCode::OK, &json!({ "object": "list", "data": data }))
}

/// `POST /inboxes/{inbox}/labels`: the name is unique in the inbox, ignoring case.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let (inbox, id) = (inbox(context)?, context.state.next_id());
    let NewLabel { name, color } = context.body(NewLabel::read)?;
    let labels = &context.tenant.inboxes.labels;
    if labels.members(&inbox.id).len() >= MAX_LABELS {
        return Err(Problem::validation(format!(
            "An inbox has at most {MAX_LABELS} labels; delete some first."
        )));
    }
    let color = color.unwrap_or_else(|| COLOR.to_owned());
    labels.add(id, Label::new(id, inbox.id, name, color, context.now()))?;
    Ok(answers::created_response("inbox_label", id))
}

/// `PATCH /inboxes/{inbox}/labels/{label_id}`.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = label_id(context)?;
    let LabelPatch { name, color } = context.body(LabelPatch::read)?;
    context.tenant.inboxes.labels.update(id, |label| {
        if let Some(name) = name {
            label.rename(name);
        }
        label.color = color.unwrap_or_else(|| label.color.clone());
    })?;
    Ok(answers::reference("inbox_label", id))
}

/// `DELETE /inboxes/{inbox}/labels/{label_id}`: threads no longer show it. They aren't rewritten, so the cost doesn't grow with their number.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = label_id(context)?;
    context.tenant.inboxes.labels.remove(id);
    Ok(answers::deleted_response("inbox_label", id))
}

fn label_id(context: &Context<'_>) -> Result<uuid::Uuid, Problem> {
    let inbox = inbox(context)?.id;
    Ok(member(context, 1, &context.tenant.inboxes.labels, |label| label.inbox == inbox)?.id)
}
