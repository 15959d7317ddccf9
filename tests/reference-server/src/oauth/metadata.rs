//! Metadata of the authorization server (RFC 8414) and of the protected resource (RFC 9728), and the public keys (RFC 7517).

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::model::oauth::SCOPES;
use crate::model::oauth::clients::AUTHENTICATION;
use crate::state::State;
use crate::wire::problem;

pub const SERVER: &str = "/.well-known/oauth-authorization-server";
pub const RESOURCE: &str = "/.well-known/oauth-protected-resource";

pub fn server(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let issuer = state.links.issuer(request);
    let at = |path: &str| format!("{issuer}{path}");
    public_response(&json!({
        "issuer": issuer,
        "authorization_endpoint": at("/oauth/authorize"),
        "token_endpoint": at("/oauth/token"),
        "registration_endpoint": at("/oauth/register"),
        "revocation_endpoint": at("/oauth/revoke"),
        "jwks_uri": at("/.well-known/jwks.json"),
        "scopes_supported": SCOPES,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": AUTHENTICATION,
        "revocation_endpoint_auth_methods_supported": AUTHENTICATION,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    }))
}

pub fn resource(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let issuer = state.links.issuer(request);
    public_response(&json!({
        "resource": issuer,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "scopes_supported": SCOPES,
    }))
}

/// `GET /.well-known/jwks.json`.
pub fn keys(state: &State, _: &Request<Bytes>) -> Response<Bytes> {
    public_response(&json!({ "keys": [state.oauth.key().public()] }))
}

fn public_response(document: &Value) -> Response<Bytes> {
    let mut response = problem::json(StatusCode::OK, document);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    response
}
