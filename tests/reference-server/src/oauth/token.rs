//! `POST /oauth/token`: codes and refresh tokens against new tokens (`SPEC.md`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Request as HttpRequest, Response, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::ACCESS_TOKEN;
use super::book::{Refreshed, Request};
use super::form::Parameters;
use super::refusal::{Refusal, unkept};
use crate::problem::json;
use crate::service::Service;

/// The characters of a verifier (`SPEC.md`, Limits).
const VERIFIER: std::ops::RangeInclusive<usize> = 43..=128;

pub(crate) fn exchange(service: &Service, request: &HttpRequest<Bytes>) -> Response<Bytes> {
    match tokens(service, request) {
        Ok(refreshed) => answer(service, &refreshed),
        Err(refusal) => refusal.into_response(),
    }
}

fn tokens(service: &Service, request: &HttpRequest<Bytes>) -> Result<Refreshed, Refusal> {
    let parameters = Parameters::of_body(request)?;
    let grant_type = parameters.need("grant_type")?;
    if !["authorization_code", "refresh_token"].contains(&grant_type) {
        return Err(Refusal::unsupported_grant_type(
            "`grant_type` must be `authorization_code` or `refresh_token`.",
        ));
    }
    let client_id = parameters.need("client_id")?;
    let client =
        service.oauth().client(client_id).ok_or_else(|| Refusal::invalid_client(StatusCode::UNAUTHORIZED))?;
    if !client.may(grant_type) {
        return Err(Refusal::unauthorized_client(format!(
            "The client is not registered for the grant `{grant_type}`."
        )));
    }
    match grant_type {
        "authorization_code" => code(service, &parameters, client_id),
        _ => refresh(service, &parameters, client_id),
    }
}

fn code(service: &Service, parameters: &Parameters, client_id: &str) -> Result<Refreshed, Refusal> {
    let code = parameters.need("code")?;
    let redirect = parameters.need("redirect_uri")?;
    let verifier = parameters.need("code_verifier")?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if !VERIFIER.contains(&verifier.len()) || !verifier.bytes().all(allowed) {
        return Err(Refusal::invalid_request(
            "`code_verifier` must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~.",
        ));
    }
    let matches = |asked: &Request| {
        if asked.redirect_uri != redirect {
            return Err(Refusal::invalid_grant("`redirect_uri` is not the one of the authorization."));
        }
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        if !bool::from(challenge.as_bytes().ct_eq(asked.challenge.as_bytes())) {
            return Err(Refusal::invalid_grant("`code_verifier` is not the one of the authorization."));
        }
        Ok(())
    };
    let now = service.clock().now();
    service.oauth().redeem(code, client_id, matches, service.next_id(), refresh_token(service), now)
}

fn refresh(service: &Service, parameters: &Parameters, client_id: &str) -> Result<Refreshed, Refusal> {
    let token = parameters.need("refresh_token")?;
    let scopes = parameters.get("scope").map(words).transpose()?;
    let now = service.clock().now();
    service.oauth().rotate(token, client_id, scopes, refresh_token(service), now)
}

/// The most scopes in one text: there are two.
const MAX_SCOPES: usize = 16;

/// The scopes in a text, each once.
pub(crate) fn words(text: &str) -> Result<Vec<String>, Refusal> {
    let count = text.split(' ').filter(|word| !word.is_empty()).count();
    if count > MAX_SCOPES {
        return Err(Refusal::invalid_scope(format!(
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

/// Something opaque that can't be guessed.
pub(crate) fn refresh_token(service: &Service) -> String {
    format!("sb_rt_{}{}", service.next_secret().simple(), service.next_secret().simple())
}

fn answer(service: &Service, refreshed: &Refreshed) -> Response<Bytes> {
    #[derive(Serialize)]
    struct Body<'a> {
        access_token: String,
        token_type: &'static str,
        expires_in: u64,
        refresh_token: &'a str,
        scope: &'a str,
    }
    let access_token = access_token(service, refreshed);
    unkept(json(
        StatusCode::OK,
        &Body {
            access_token,
            token_type: "Bearer",
            expires_in: ACCESS_TOKEN.as_secs(),
            refresh_token: &refreshed.refresh_token,
            scope: &refreshed.scope,
        },
    ))
}

pub(crate) fn access_token(service: &Service, refreshed: &Refreshed) -> String {
    let (issuer, now) = (service.links().address(), service.clock().now());
    // The tenant's name is a key with which more can be done, and whoever has the token can read it.
    let subject = service.links().sign("oauth subject", refreshed.grant.tenant.as_bytes());
    let subject = URL_SAFE_NO_PAD.encode(&subject[..16]);
    service.oauth().sign(refreshed, &issuer, subject, service.next_id(), now)
}
