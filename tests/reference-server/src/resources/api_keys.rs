//! API keys.
//!
//! The specification doesn't define them (`docs/specification.md`, Authentication, 6); they have Resend's shapes.

use http::StatusCode;
use serde_json::json;
use uuid::Uuid;

use crate::context::Context;
use crate::delivery;
use crate::model::api_key::ApiKey;
use crate::model::credential::Permission;
use crate::model::domain::Domain;
use crate::model::email::recipients::Mailbox;
use crate::state::keys::CREATED_PREFIX;
use crate::state::tenant::Tenant;
use crate::store::table::Record as _;
use crate::wire::{HandlerResult, Problem, answers, input, json, non_empty, quote};

/// The wire values of the permissions.
const PERMISSIONS: [(&str, Permission); 2] =
    [("full_access", Permission::FullAccess), ("sending_access", Permission::SendOnly)];

input! {
    struct NewKey(fields, tenant: &Tenant) {
        name: String = fields.required("name", non_empty),
        permission: Option<Permission> = fields.optional("permission", |field| field.one_of(&PERMISSIONS)),
        domain: Option<Uuid> = fields.optional("domain_id", |field| {
            field.parse_with(|text| tenant.domains.known_id(text).ok_or("must be the id of a domain"))
        }),
    }
}

/// `POST /api-keys`. Only this response contains the token. `domain_id` applies only to `sending_access`, as with Resend.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let NewKey { name, permission, domain } = context.body(|fields| NewKey::read(fields, &context.tenant))?;
    let permission = permission.unwrap_or(Permission::FullAccess);
    let id = context.state.next_id();
    let secret = || context.state.next_secret().simple().to_string();
    let token = format!("{CREATED_PREFIX}{}{}", secret(), secret());
    let domain = domain.filter(|_| permission == Permission::SendOnly);
    let created_at = context.now();
    let key = ApiKey { id, name, token: token.clone(), created_at, last_used_at: None, permission, domain };
    let (_, credential) = key.credential(&context.tenant.name);
    context.tenant.api_keys.add(id, key)?;
    context.state.tenants.api_key_index.add(&token, credential);
    Ok(json(StatusCode::CREATED, &json!({ "id": id, "token": token })))
}

/// `PATCH /api-keys/{api_key_id}`: renames the key.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.api_keys)?.id;
    let name = context.body(|fields| fields.required("name", non_empty))?;
    context.tenant.api_keys.update(id, |key| key.name = name)?;
    Ok(answers::reference("api_key", id))
}

/// `DELETE /api-keys/{api_key_id}`. Further requests with the key are rejected; a key may delete itself.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let key = context.find(&context.tenant.api_keys)?;
    context.state.tenants.api_key_index.remove(&key.token);
    context.tenant.api_keys.remove(key.id);
    Ok(answers::deleted_response("api_key", key.id))
}

/// Rejects a sender if the key is restricted to another domain, or the service is strict and the domain isn't verified.
pub fn check_sender(context: &Context<'_>, from: &Mailbox) -> Result<(), Problem> {
    check_domain(context, from)?;
    delivery::check_sender(context.state, &context.tenant, from)
}

fn check_domain(context: &Context<'_>, from: &Mailbox) -> Result<(), Problem> {
    let Some(domain) = context.key.and_then(|key| key.domain) else { return Ok(()) };
    let domain = context.tenant.domains.get(domain);
    if domain.as_ref().is_some_and(|domain| domain.setup.name == Domain::normalize(from.domain())) {
        return Ok(());
    }
    let allowed = domain.map_or_else(
        || "a deleted domain".to_owned(),
        |domain| format!("the domain {}", quote(&domain.setup.name)),
    );
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "invalid_permission",
        format!("This API key may only send from {allowed}; found {}.", quote(from.domain())),
    ))
}
