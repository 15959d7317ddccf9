//! `POST /oauth/revoke` (RFC 7009): a client gives a grant back.
//!
//! The specification is silent on it; this is how the public service does it.

use bytes::Bytes;
use http::{Request, Response, StatusCode};

use crate::oauth::form::Parameters;
use crate::state::State;
use crate::wire::refusal::{Refusal, unkept};

pub(crate) fn revoke(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    match end(state, request) {
        // Also for a token that nobody knows: whoever asks learns nothing from it.
        Ok(()) => unkept(Response::new(Bytes::new())),
        Err(refusal) => refusal.into_response(),
    }
}

fn end(state: &State, request: &Request<Bytes>) -> Result<(), Refusal> {
    let parameters = Parameters::of_body(request)?;
    let token = parameters.need("token")?;
    let client_id = parameters.need("client_id")?;
    if state.oauth.client(client_id).is_none() {
        return Err(Refusal::invalid_client(StatusCode::UNAUTHORIZED));
    }
    if parameters.get("token_type_hint") == Some("access_token") {
        return Err(Refusal::invalid_request(
            "Only refresh tokens can be revoked; access tokens end with their grant.",
        ));
    }
    state.oauth.revoke_token(token, client_id, state.clock.now());
    Ok(())
}
