//! `GET /oauth/authorize`: the authorization endpoint (`docs/specification.md`).
//!
//! Until the client and the redirect URI are known to be valid, errors are JSON responses: a redirect could lead anywhere. After that every
//! error is a redirect to the client.

use bytes::Bytes;
use http::{HeaderValue, Request as HttpRequest, Response, StatusCode, header};
use percent_encoding::{CONTROLS, utf8_percent_encode};
use url::form_urlencoded::Serializer;

use crate::model::oauth::clients::{OAuthClient, can_be_redirect, is_on_this_machine};
use crate::model::oauth::grant::{Request, add_duration};
use crate::model::oauth::{CODE, SCOPES};
use crate::oauth::form::Parameters;
use crate::oauth::token::parse_scopes;
use crate::state::State;
use crate::wire::{self, OAuthRejection, quote};

pub const PATH: &str = "/oauth/authorize";
/// The maximum length of `state` in characters (`docs/specification.md`, Limits).
const MAX_STATE: usize = 1024;
/// The length of a challenge: 32 bytes in Base64url without padding.
const CHALLENGE_LENGTH: usize = 43;

/// Redirects to the consent page, or responds with an error.
pub fn begin(state: &State, request: &HttpRequest<Bytes>) -> Response<Bytes> {
    let parameters = Parameters::from_query(request);
    let (client, redirect) = match client_and_redirect(state, &parameters) {
        Ok(checked) => checked,
        Err(refusal) => return refusal.into_response(),
    };
    let asked = authorization_request(&parameters, &client, &redirect).and_then(|asked| store(state, asked));
    match asked {
        Ok(name) => redirect_response(&format!("{}/_/consent/{name}", state.links.issuer(request))),
        // Before consent, this must not redirect to a dynamic client's address (RFC 9700, section 4.11).
        Err(refusal) if client.is_dynamic && !is_on_this_machine(&redirect) => refusal.into_response(),
        Err(refusal) => redirect_to_client(
            &redirect,
            &[("error", refusal.error), ("error_description", &refusal.description)],
            client_state(&parameters),
            &state.links.issuer(request),
        ),
    }
}

/// Redirects the browser to the client, with the issuer of the response (RFC 9207).
pub fn redirect_to_client(
    redirect: &str,
    answer: &[(&str, &str)],
    state: Option<&str>,
    issuer: &str,
) -> Response<Bytes> {
    let mut parameters = Serializer::new(String::new());
    parameters.extend_pairs(answer);
    parameters.extend_pairs(state.map(|state| ("state", state)));
    parameters.append_pair("iss", issuer);
    redirect_response(&append_query(redirect, &parameters.finish()))
}

/// Appends parameters to the query of a URI without a fragment (RFC 6749, 3.1.2). The URI stays as the client wrote it: a parser would normalize it,
/// for example by removing a default port. Only characters outside ASCII, which a URI can't contain, are percent-encoded.
fn append_query(uri: &str, parameters: &str) -> String {
    let separator = match uri.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{}{separator}{parameters}", utf8_percent_encode(uri, CONTROLS))
}

/// A 302 redirect that sends no referrer and isn't stored.
fn redirect_response(location: &str) -> Response<Bytes> {
    let mut response = wire::redirect(StatusCode::FOUND, location);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn client_state(parameters: &Parameters) -> Option<&str> {
    parameters.get("state")
}

fn client_and_redirect(
    state: &State,
    parameters: &Parameters,
) -> Result<(OAuthClient, String), OAuthRejection> {
    let client_id = parameters.require("client_id")?;
    let client = state
        .oauth
        .client(client_id)
        .ok_or_else(|| OAuthRejection::invalid_client(StatusCode::BAD_REQUEST))?;
    let redirect = parameters.require("redirect_uri")?;
    can_be_redirect(redirect)
        .map_err(|rule| OAuthRejection::invalid_request(format!("`redirect_uri` {rule}.")))?;
    if !client.accepts_redirect_uri(redirect) {
        return Err(OAuthRejection::invalid_request("`redirect_uri` is not registered for the client."));
    }
    Ok((client, redirect.to_owned()))
}

fn authorization_request(
    parameters: &Parameters,
    client: &OAuthClient,
    redirect: &str,
) -> Result<Request, OAuthRejection> {
    parameters.validate()?;
    if parameters.get("response_type") != Some("code") {
        return Err(OAuthRejection::invalid_request("`response_type` must be `code`."));
    }
    if parameters.get("code_challenge_method") != Some("S256") {
        return Err(OAuthRejection::invalid_request("`code_challenge_method` must be `S256`."));
    }
    let challenge = parameters.require("code_challenge")?;
    let fits = challenge.len() == CHALLENGE_LENGTH
        && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !fits {
        return Err(OAuthRejection::invalid_request(
            "`code_challenge` must be 43 characters of Base64url, without padding.",
        ));
    }
    let state = client_state(parameters);
    if state.is_some_and(|state| state.chars().count() > MAX_STATE) {
        return Err(OAuthRejection::invalid_request(format!(
            "`state` must have at most {MAX_STATE} characters."
        )));
    }
    if !client.allows_grant_type("authorization_code") {
        return Err(OAuthRejection::unauthorized_client(
            "The client is not registered for the grant `authorization_code`.",
        ));
    }
    Ok(Request {
        client_id: client.client_id.clone(),
        redirect_uri: redirect.to_owned(),
        scopes: requested_scopes(parameters.get_raw("scope"), client)?,
        state: state.map(str::to_owned),
        challenge: challenge.to_owned(),
        token: String::new(),
        until: jiff::Timestamp::MAX,
    })
}

/// The requested scopes. By default, all scopes of the client; an empty parameter is an error.
fn requested_scopes(given: Option<&str>, client: &OAuthClient) -> Result<Vec<String>, OAuthRejection> {
    let asked = given.map_or_else(|| Ok(client.scopes_allowed.clone()), parse_scopes)?;
    if asked.is_empty() {
        return Err(OAuthRejection::invalid_scope("No scope was requested."));
    }
    for scope in &asked {
        if !SCOPES.contains(&scope.as_str()) {
            return Err(OAuthRejection::invalid_scope(format!("There is no scope {}.", quote(scope))));
        }
        if !client.scopes_allowed.contains(scope) {
            return Err(OAuthRejection::invalid_scope(format!(
                "The client may not request the scope `{scope}`."
            )));
        }
    }
    Ok(asked)
}

fn store(state: &State, mut request: Request) -> Result<String, OAuthRejection> {
    let now = state.clock.now();
    request.until = add_duration(now, CODE);
    request.token = state.next_secret().simple().to_string();
    let name = state.next_secret().simple().to_string();
    if state.oauth.insert_request(&name, request, now) {
        return Ok(name);
    }
    Err(OAuthRejection::server_error(
        "The request could not be stored: the sandbox's --max-memory for OAuth state is used up, or too many requests are pending.",
    ))
}
