//! Temporary public links to an email: `POST /emails/{email_id}/share`.

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::context::Context;
use crate::lock::lock;
use crate::model::automation::duration;
use crate::state::State;
use crate::wire::{HandlerResult, Problem, json};

const PURPOSE: &str = "share";
/// The default and the maximum lifetime of a link.
const MAX_LIFETIME: SignedDuration = SignedDuration::from_hours(48);

/// `POST /emails/{email_id}/share`: a sent or received email. The body is optional.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let id = context.id("an email")?;
    if !lock(&context.tenant.emails).contains(id) && !lock(&context.tenant.received).contains(id) {
        return Err(Problem::not_found("Email not found."));
    }
    let given = if context.request.body().is_empty() {
        None
    } else {
        context.body(|fields| fields.optional("expires_in", |field| field.parse_with(lifetime)))?
    };
    let expires_at = context.now().checked_add(given.unwrap_or(MAX_LIFETIME)).unwrap_or(Timestamp::MAX);
    let mut bytes = id.as_bytes().to_vec();
    bytes.extend(expires_at.as_millisecond().to_be_bytes());
    let links = &context.state.links;
    let url = format!("{}/_/shared/{}", links.address(), links.seal(PURPOSE, &bytes));
    Ok(json(StatusCode::OK, &json!({ "object": "email", "id": id, "url": url })))
}

fn lifetime(text: &str) -> Result<SignedDuration, &'static str> {
    let lifetime = duration::parse(text)?;
    if lifetime <= SignedDuration::ZERO {
        return Err("must be above zero");
    }
    if lifetime > MAX_LIFETIME { Err("must not exceed 48 hours") } else { Ok(lifetime) }
}

/// Resolves a link to its email, if it is valid and not expired.
pub fn open(state: &State, token: &str) -> Result<Uuid, Problem> {
    let refused = |name, message: &str| Problem::new(StatusCode::FORBIDDEN, name, message);
    let bytes = state.links.open(PURPOSE, token);
    let (email, until) = bytes.as_deref().and_then(decode_token).ok_or_else(|| {
        refused("invalid_link", "This link is not signed by this service, or was modified.")
    })?;
    if state.now_for_mail(email).as_millisecond() >= until {
        return Err(refused("expired_link", "This link has expired; share the email again."));
    }
    Ok(email)
}

fn decode_token(bytes: &[u8]) -> Option<(Uuid, i64)> {
    let (email, until) = bytes.split_at_checked(16)?;
    Some((Uuid::from_slice(email).ok()?, i64::from_be_bytes(until.try_into().ok()?)))
}
