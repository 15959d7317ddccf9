//! `POST /oauth/revoke` (RFC 7009): revokes a grant.
//!
//! The specification doesn't define it; it follows Resend.

use bytes::Bytes;
use http::{Request, Response};

use crate::model::oauth::jwt;
use crate::oauth::client::authenticate;
use crate::oauth::form::Parameters;
use crate::state::State;
use crate::wire::{OAuthRejection, set_no_store};

pub fn revoke(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    match revoke_token(state, request) {
        // Unknown tokens also succeed, so that callers learn nothing about them.
        Ok(()) => set_no_store(Response::new(Bytes::new())),
        Err(refusal) => refusal.into_response(),
    }
}

fn revoke_token(state: &State, request: &Request<Bytes>) -> Result<(), OAuthRejection> {
    let parameters = Parameters::from_body(request)?;
    let token = parameters.require("token")?;
    let client = authenticate(state, request, &parameters)?;
    if parameters.get("token_type_hint") == Some("access_token") {
        return Err(OAuthRejection::invalid_request(
            "Only refresh tokens can be revoked; access tokens become invalid with their grant.",
        ));
    }
    if jwt::looks_like_jwt(token) && state.oauth.verify(token, &state.clock).is_some() {
        return Err(OAuthRejection::unsupported_token_type(
            "Access tokens can't be revoked; they become invalid with their grant. Revoke the refresh token.",
        ));
    }
    state.oauth.revoke_token(token, &client.client_id, &state.clock);
    Ok(())
}
