//! `POST /suppressions/batch/add` and `POST /suppressions/batch/remove`: up to 100 entries in one request.

use http::StatusCode;
use serde_json::json;

use crate::context::Context;
use crate::model::suppression::Origin;
use crate::resources::contacts::read_email;
use crate::wire::answers::Reference;
use crate::wire::{Checked, Deletion, Field, Fields, HandlerResult, json, uuid};

/// The maximum number of entries of a batch.
const MAX_ENTRIES: usize = 100;

/// `POST /suppressions/batch/add`: one invalid address rejects them all.
pub fn add(context: &Context<'_>) -> HandlerResult {
    let emails = context.body(|fields| fields.required("emails", |field| entries(field, read_email)))?;
    let ids = context.moment().add_suppressions(emails, Origin::Manual, None)?;
    let data: Vec<_> = ids.into_iter().map(|id| Reference::new("suppression", id)).collect();
    Ok(json(StatusCode::CREATED, &json!({ "data": data })))
}

/// `POST /suppressions/batch/remove`: by `emails` or `ids`. The response omits unknown entries.
pub fn remove(context: &Context<'_>) -> HandlerResult {
    let names = context.body(selection)?;
    let moment = context.moment();
    let removed =
        names.iter().filter_map(|name| moment.remove_suppression(context.tenant.suppressions.find(name)?.id));
    let data: Vec<_> = removed.map(|entry| Deletion::new("suppression", entry.id)).collect();
    Ok(json(StatusCode::OK, &json!({ "data": data })))
}

fn selection(fields: &mut Fields<'_>) -> Checked<Vec<String>> {
    let found = match fields.alternatives(["emails", "ids"]) {
        [true, false] => return fields.required("emails", |field| entries(field, read_email)),
        [false, true] => {
            return fields.required("ids", |field| entries(field, |id| Ok(uuid(id)?.to_string())));
        }
        [true, true] => "both",
        [false, false] => "neither",
    };
    Err(fields.report().report(format_args!("The body must have either `emails` or `ids`; found {found}.")))
}

/// Reads an array of 1 to [`MAX_ENTRIES`] items.
fn entries(field: &Field<'_>, read: impl Fn(&Field<'_>) -> Checked<String>) -> Checked<Vec<String>> {
    let items = field.items()?;
    if items.is_empty() || items.len() > MAX_ENTRIES {
        let found = items.len();
        return Err(field.reject(format_args!("must have 1 to {MAX_ENTRIES} items; found {found}")));
    }
    items.read(|_, item| read(item))
}
