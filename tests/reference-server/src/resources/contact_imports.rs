//! Contact imports: a CSV file in one request, whose rows become contacts in the background.
//!
//! The specification doesn't define them; the shapes follow Resend, which documents no errors. Here the file, its columns and the other parts are
//! checked before the response; an invalid row counts as `failed`. With a `column_map`, only its fields are imported, and the address, by default
//! from the column `email`. An empty cell leaves the value of a contact unchanged. If several rows have the same address, later ones update or skip
//! the contact created by the first. Properties must exist. Skipped contacts join no segments. No `contact.…` events are sent.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::context::Context;
use crate::delivery::imports;
use crate::model::contact_import::rows::{Columns, Rows};
use crate::model::contact_import::{self, ContactImport, MAX_FILE, MAX_PARTS, Status};
use crate::resources::contacts::{segments, topics};
use crate::state::job::ImportTask;
use crate::state::tenant::Tenant;
use crate::wire::json::Object;
use crate::wire::multipart::Part;
use crate::wire::{
    Body, Checked, Field, Fields, HandlerResult, Mode, Problem, answers, fields, list, multipart, quote,
};

/// The part with the file.
const FILE: &str = "file";
/// The part with the columns.
const MAP: &str = "column_map";
/// The parts that contain JSON.
const JSON: [&str; 3] = [MAP, "segments", "topics"];
/// The types of properties in the column map.
const TYPES: [(&str, &str); 3] = [("string", "string"), ("number", "number"), ("boolean", "boolean")];

/// `POST /contacts/imports`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let mut parts = multipart::parts(context.request.headers(), context.request.body())?;
    // If a part is repeated, the last one counts.
    let file = parts.iter().rfind(|part| part.name == FILE).map(|part| part.content.clone());
    if file.as_ref().is_some_and(|file| file.len() > MAX_FILE) {
        return Err(Problem::too_large(MAX_FILE));
    }
    let rows = file.map(Rows::open).transpose();
    parts.retain(|part| part.name != FILE);
    let defaults = Part { name: MAP.to_owned(), content: "{}".into() };
    let mapped = parts.iter().any(|part| part.name == MAP);
    let values = std::iter::once(&defaults).chain(&parts).map(json).collect::<Result<Vec<_>, _>>()?;
    let entries = values.iter().map(|(name, value)| Some((Cow::Borrowed(*name), &**value))).collect();
    let tenant = &context.tenant;
    let held = tenant.contact_imports.reserve(context.request.body().len())?;
    let id = context.state.next_id();
    let task = fields::read(Body::Object(Object(entries)), context.ignored, |fields| {
        let overwrites =
            fields.optional("on_conflict", |field| field.one_of(&[("upsert", true), ("skip", false)]));
        let segments = segments::read(fields, tenant);
        let topics = fields.optional("topics", |field| topics::read(field, tenant));
        let rows = match rows {
            Ok(Some(rows)) => Ok(rows),
            Ok(None) => fields.required(FILE, |field| Err(field.reject_type("a CSV file"))),
            Err(fault) => Err(fields.reject(FILE, fault)),
        };
        let columns = match &rows {
            Ok(rows) => fields.required(MAP, |field| field.object(|map| columns(map, mapped, rows, tenant))),
            Err(reported) => {
                fields.skip(MAP);
                Err(*reported)
            }
        };
        Ok(ImportTask {
            import: id,
            rows: rows?,
            columns: columns?,
            overwrites: overwrites?.unwrap_or(true),
            segments: segments?,
            topics: topics?.unwrap_or_default(),
            step: 0,
            _held: held,
        })
    })?;
    tenant.contact_imports.add(id, ContactImport::new(id, context.now()))?;
    imports::schedule(context.moment(), Box::new(task));
    Ok(answers::created_response("contact_import", id))
}

/// `GET /contacts/imports`: 10 by default; `status` shows the imports with one status.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::Ten)?;
    let status = context.one_of("status", Status::WORDS)?;
    let page = context.tenant.contact_imports.page_within(&window, status)?;
    Ok(list(&page.show(contact_import::Item)))
}

/// The name of a part and its content as JSON; plain text becomes a string.
fn json(part: &Part) -> Result<(&str, Box<RawValue>), Problem> {
    let name = part.name.as_str();
    let wrong = |rule: String| Problem::validation(format!("`{}` {rule}.", quote(name).trim_matches('"')));
    if part.content.len() > MAX_PARTS {
        return Err(wrong(format!("must have at most {MAX_PARTS} bytes; found {}", part.content.len())));
    }
    let text = std::str::from_utf8(&part.content).map_err(|_| wrong("must be UTF-8 text".to_owned()))?;
    let text = if JSON.contains(&name) { text.to_owned() } else { serde_json::Value::from(text).to_string() };
    let value = RawValue::from_string(text);
    Ok((name, value.map_err(|error| wrong(format!("must be JSON; found {error}")))?))
}

/// Reads `column_map`. Without one (`mapped` is false), each field is read from the column of the same name.
fn columns(map: &mut Fields<'_>, mapped: bool, rows: &Rows, tenant: &Tenant) -> Checked<Columns> {
    let known = rows.columns();
    let named = |field: &Field<'_>| {
        let name = field.text()?;
        known.get(&*name).copied().ok_or_else(|| {
            let (all, found) = (column_names(rows), quote(&name));
            field.reject(format_args!("must be one of the columns of the file, {all}; found {found}"))
        })
    };
    let mut column = |field: &str| {
        let default = || if mapped && field != "email" { None } else { known.get(field).copied() };
        Ok(map.optional(field, named)?.or_else(default))
    };
    let email = column("email");
    let first_name = column("first_name");
    let last_name = column("last_name");
    let unsubscribed = column("unsubscribed");
    let properties = map.optional("properties", |field| {
        field.object(|properties| {
            properties.each(|key, field| {
                let property = tenant.contact_properties.find_by_key(key);
                let Some(property) = property else {
                    let key = quote(key);
                    return Err(field
                        .reject(format_args!("is no contact property; there is none with the key {key}")));
                };
                field.object(|item| {
                    let column = item.required("column", named);
                    let kind = item.optional("type", |field| {
                        let kind = field.one_of(&TYPES)?;
                        let known = property.r#type.as_str();
                        if kind == known {
                            return Ok(());
                        }
                        Err(field
                            .reject(format_args!("must be the property's type, `{known}`; found `{kind}`")))
                    });
                    kind?;
                    Ok((key.to_owned(), (column?, property.r#type)))
                })
            })
        })
    });
    let email = email?.ok_or_else(|| {
        map.report().report(format_args!(
            "`{FILE}` must have a column `email`, or `{MAP}.email` must name another one; its columns are {}.",
            column_names(rows)
        ))
    });
    Ok(Columns {
        email: email?,
        first_name: first_name?,
        last_name: last_name?,
        unsubscribed: unsubscribed?,
        properties: properties?.into_iter().flatten().collect(),
    })
}

/// The names of the columns, for messages.
fn column_names(rows: &Rows) -> String {
    let shown: Vec<_> = rows.header.iter().take(20).map(|name| quote(name)).collect();
    let more = rows.header.len() - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
