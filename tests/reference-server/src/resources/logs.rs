//! The log of API requests: `GET /logs`, `GET /logs/{log_id}`.

use http::StatusCode;

use crate::context::Context;
use crate::lock::lock;
use crate::model::log;
use crate::wire::{HandlerResult, Mode, Problem, json, list};

/// `GET /logs`, mode A. The request itself is logged after its response.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::A)?;
    let page = window.show(&*lock(&context.tenant.logs))?;
    Ok(list(&page.show(log::Item)))
}

/// `GET /logs/{log_id}`. The specification doesn't define it; it has Resend's shape.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a log entry")?;
    let entry = lock(&context.tenant.logs).get(id).cloned();
    let entry = entry.ok_or_else(|| Problem::not_found("Log entry not found."))?;
    Ok(json(StatusCode::OK, &log::Detail(&entry)))
}
