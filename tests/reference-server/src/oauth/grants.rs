//! `GET /oauth/grants`, `DELETE /oauth/grants/{oauth_grant_id}`: the grants of a tenant.
//!
//! The specification doesn't define them; they follow Resend. Without `limit` the list is complete, and it includes revoked
//! grants.

use http::StatusCode;
use serde_json::json;

use crate::context::Context;
use crate::model::oauth::grant;
use crate::wire::{HandlerResult, Mode, Problem, list, problem, to_iso};

pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::B)?;
    let page = context.state.oauth.page(&window, &context.tenant.name)?;
    Ok(list(&page.show(grant::Item)))
}

pub fn revoke(context: &Context<'_>) -> HandlerResult {
    let id = context.id("an OAuth grant")?;
    let (at, why) = context
        .state
        .oauth
        .revoke(id, &context.tenant.name, context.now())
        .ok_or_else(|| Problem::not_found("OAuth grant not found."))?;
    let answer = json!({"object": "oauth_grant", "id": id, "revoked_at": to_iso(at), "revoked_reason": why});
    Ok(problem::json(StatusCode::OK, &answer))
}
