//! `GET /oauth/grants`, `DELETE /oauth/grants/{oauth_grant_id}`: the grants of a tenant.
//!
//! The specification doesn't define them; they follow the public service. Without `limit` the list is complete, and it includes revoked
//! grants.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::context::Context;
use crate::state::oauth::Grant;
use crate::wire::paging::{Mode, Window, list};
use crate::wire::problem::{self, Problem};
use crate::wire::timestamp::{database, iso};

#[derive(Serialize)]
struct Record {
    id: Uuid,
    client_id: String,
    scopes: Vec<String>,
    resource: Option<String>,
    created_at: String,
    revoked_at: Option<String>,
    revoked_reason: Option<&'static str>,
    client: Client,
}

#[derive(Serialize)]
struct Client {
    name: String,
    logo_uri: Option<String>,
}

impl From<Grant> for Record {
    fn from(grant: Grant) -> Self {
        Self {
            id: grant.id,
            client_id: grant.client_id,
            scopes: grant.scopes,
            resource: None,
            created_at: database(grant.created_at),
            revoked_at: grant.revoked.map(|(at, _)| database(at)),
            revoked_reason: grant.revoked.map(|(_, why)| why),
            client: Client { name: grant.client_name, logo_uri: grant.logo_uri },
        }
    }
}

pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.state.oauth.page(&window, &context.tenant.name)?;
    Ok(list(&page.map(Record::from)))
}

pub(crate) fn revoke(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("an OAuth grant")?;
    let (at, why) = context
        .state
        .oauth
        .revoke(id, &context.tenant.name, context.now())
        .ok_or_else(|| Problem::not_found("OAuth grant not found."))?;
    let answer = json!({"object": "oauth_grant", "id": id, "revoked_at": iso(at), "revoked_reason": why});
    Ok(problem::json(StatusCode::OK, &answer))
}
