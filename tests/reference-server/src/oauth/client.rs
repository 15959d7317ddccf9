//! The client of a request to the token or revocation endpoint, and its authentication (RFC 6749, section 2.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, StatusCode};

use crate::access;
use crate::model::oauth::clients::OAuthClient;
use crate::oauth::form::{Parameters, decode_form};
use crate::state::State;
use crate::wire::OAuthRejection;

/// The enabled client named in HTTP Basic authentication or in the body. A confidential client has to send its secret by the method that it
/// registered; a public client has none, and its password in HTTP Basic authentication is ignored.
pub fn authenticate(
    state: &State,
    request: &Request<Bytes>,
    parameters: &Parameters,
) -> Result<OAuthClient, OAuthRejection> {
    let basic = basic(request)?;
    let client_id = match (&basic, parameters.get("client_id")) {
        (Some((id, _)), Some(other)) if id != other => {
            return Err(OAuthRejection::invalid_request(
                "`client_id` differs from the user name in `authorization`.",
            ));
        }
        (Some((id, _)), _) => id,
        (None, _) => parameters.require("client_id")?,
    };
    let rejected = || OAuthRejection {
        asks_basic: basic.is_some(),
        ..OAuthRejection::invalid_client(StatusCode::UNAUTHORIZED)
    };
    let client = state.oauth.client(client_id).ok_or_else(rejected)?;
    let Some(secret) = &client.secret else { return Ok(client) };
    let given = match &basic {
        Some((_, password)) if secret.method == "client_secret_basic" => Some(password.as_str()),
        None if secret.method == "client_secret_post" => parameters.get("client_secret"),
        _ => None,
    };
    if given.is_some_and(|given| secret.matches(given)) {
        return Ok(client);
    }
    let method = &secret.method;
    let description = format!("The client's secret is missing or wrong, or wasn't sent by `{method}`.");
    Err(OAuthRejection { description, ..rejected() })
}

/// The user name and password of HTTP Basic authentication, each form-encoded inside (RFC 6749, section 2.3.1).
fn basic(request: &Request<Bytes>) -> Result<Option<(String, String)>, OAuthRejection> {
    let Some(encoded) = access::authorization(request.headers(), "basic") else { return Ok(None) };
    let unreadable = || OAuthRejection {
        asks_basic: true,
        ..OAuthRejection::new(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "The header `authorization` is malformed.",
        )
    };
    let plain = STANDARD.decode(encoded).map_err(|_| unreadable())?;
    let colon = plain.iter().position(|byte| *byte == b':').ok_or_else(unreadable)?;
    let id = decode_form(&plain[..colon]).filter(|id| !id.is_empty()).ok_or_else(unreadable)?;
    let password = decode_form(&plain[colon + 1..]).ok_or_else(unreadable)?;
    Ok(Some((id, password)))
}
