//! `POST /oauth/token`: exchanges codes and refresh tokens for new tokens (`docs/specification.md`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Request as HttpRequest, Response, StatusCode};
use serde::Serialize;

use crate::digest::{is_secret, sha256};
use crate::model::oauth::clients::OAuthClient;
use crate::model::oauth::grant::Request;
use crate::model::oauth::{ACCESS_TOKEN, REFRESH_TOKEN_PREFIX};
use crate::oauth::client::authenticate;
use crate::oauth::form::Parameters;
use crate::state::State;
use crate::state::oauth::Refreshed;
use crate::wire::{OAuthRejection, json, set_no_store};

/// The length of a verifier in characters (`docs/specification.md`, Limits).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;

pub fn exchange(state: &State, request: &HttpRequest<Bytes>) -> Response<Bytes> {
    match issue_tokens(state, request) {
        Ok(refreshed) => token_response(state, &refreshed, &state.links.issuer(request)),
        Err(refusal) => refusal.into_response(),
    }
}

fn issue_tokens(state: &State, request: &HttpRequest<Bytes>) -> Result<Refreshed, OAuthRejection> {
    let parameters = Parameters::from_body(request)?;
    let grant_type = parameters.require("grant_type")?;
    if !["authorization_code", "refresh_token"].contains(&grant_type) {
        return Err(OAuthRejection::unsupported_grant_type(
            "`grant_type` must be `authorization_code` or `refresh_token`.",
        ));
    }
    let client = authenticate(state, request, &parameters)?;
    if !client.allows_grant_type(grant_type) {
        return Err(OAuthRejection::unauthorized_client(format!(
            "The client is not registered for the grant `{grant_type}`."
        )));
    }
    match grant_type {
        "authorization_code" => redeem_code(state, &parameters, &client),
        _ => refresh(state, &parameters, &client.client_id),
    }
}

fn redeem_code(
    state: &State,
    parameters: &Parameters,
    client: &OAuthClient,
) -> Result<Refreshed, OAuthRejection> {
    let code = parameters.require("code")?;
    let redirect = parameters.require("redirect_uri")?;
    let verifier = parameters.require("code_verifier")?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if !VERIFIER.contains(&verifier.len()) || !verifier.bytes().all(allowed) {
        return Err(OAuthRejection::invalid_request(
            "`code_verifier` must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~.",
        ));
    }
    let matches = |asked: &Request| {
        if asked.redirect_uri != redirect {
            return Err(OAuthRejection::invalid_grant("`redirect_uri` is not the one of the authorization."));
        }
        let challenge = URL_SAFE_NO_PAD.encode(sha256(&[verifier.as_bytes()]));
        if !is_secret(asked.challenge.as_bytes(), challenge.as_bytes()) {
            return Err(OAuthRejection::invalid_grant(
                "`code_verifier` is not the one of the authorization.",
            ));
        }
        Ok(())
    };
    let refresh_token = client.allows_grant_type("refresh_token").then(|| refresh_token(state));
    state.oauth.redeem(code, client, matches, state.next_id(), refresh_token, &state.clock)
}

fn refresh(state: &State, parameters: &Parameters, client_id: &str) -> Result<Refreshed, OAuthRejection> {
    let token = parameters.require("refresh_token")?;
    let scopes = parameters.get("scope").map(parse_scopes).transpose()?;
    state.oauth.rotate(token, client_id, scopes, refresh_token(state), &state.clock)
}

/// The maximum number of scopes in a request: there are two distinct ones.
const MAX_SCOPES: usize = 16;

/// The scopes in a text, without duplicates.
pub fn parse_scopes(text: &str) -> Result<Vec<String>, OAuthRejection> {
    let count = text.split(' ').filter(|word| !word.is_empty()).count();
    if count > MAX_SCOPES {
        return Err(OAuthRejection::invalid_scope(format!(
            "`scope` must have at most {MAX_SCOPES} scopes; found {count}."
        )));
    }
    let mut words: Vec<String> = Vec::with_capacity(count);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    Ok(words)
}

/// An opaque token that can't be guessed.
pub fn refresh_token(state: &State) -> String {
    format!("{REFRESH_TOKEN_PREFIX}{}{}", state.next_secret().simple(), state.next_secret().simple())
}

fn token_response(state: &State, refreshed: &Refreshed, issuer: &str) -> Response<Bytes> {
    #[derive(Serialize)]
    struct Body<'a> {
        access_token: String,
        token_type: &'static str,
        expires_in: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        refresh_token: Option<&'a str>,
        scope: &'a str,
    }
    let access_token = access_token(state, refreshed, issuer);
    set_no_store(json(
        StatusCode::OK,
        &Body {
            access_token,
            token_type: "Bearer",
            expires_in: ACCESS_TOKEN.as_secs(),
            refresh_token: refreshed.refresh_token.as_deref(),
            scope: &refreshed.scope,
        },
    ))
}

pub fn access_token(state: &State, refreshed: &Refreshed, issuer: &str) -> String {
    // The tenant's name is an API key, which must not leak to holders of the token.
    let subject = state.links.sign("oauth subject", refreshed.grant.tenant.as_bytes());
    let subject = URL_SAFE_NO_PAD.encode(&subject[..16]);
    let now = state.clock.for_account(&refreshed.grant.tenant).now();
    state.oauth.sign(refreshed, issuer, subject, state.next_id(), now)
}
