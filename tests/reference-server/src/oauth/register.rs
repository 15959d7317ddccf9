//! `POST /oauth/register` (RFC 7591): dynamic client registration.
//!
//! The specification only names it; it follows Resend. A client is public unless it requests a secret.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::model::oauth::SCOPES;
use crate::model::oauth::clients::{AUTHENTICATION, ClientSecret, OAuthClient, can_be_redirect};
use crate::oauth::form::check_size;
use crate::oauth::token::parse_scopes;
use crate::state::State;
use crate::wire::{OAuthRejection, problem, quote, set_no_store};

/// The maximum length of a name and of a URI in characters, and the maximum number of URIs.
const MAX_NAME: usize = 200;
const MAX_URI: usize = 2048;
const MAX_URIS: usize = 10;
pub const PATH: &str = "/oauth/register";

pub fn register(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let now = state.clock.now();
    let registered = read(state, request.body()).and_then(|(client, secret)| {
        state.oauth.register(client.clone(), now)?;
        Ok((client, secret))
    });
    match registered {
        Ok((client, secret)) => {
            let mut answer = json!({
                "client_id": client.client_id,
                "client_id_issued_at": now.as_second(),
                "client_name": client.name,
                "redirect_uris": client.redirect_uris,
                "grant_types": client.grant_types,
                "response_types": ["code"],
                "scope": client.scopes_allowed.join(" "),
                "token_endpoint_auth_method": client.secret.as_ref().map_or("none", |secret| &*secret.method),
            });
            if let Some(secret) = secret {
                answer["client_secret"] = json!(secret);
                answer["client_secret_expires_at"] = json!(0);
            }
            for (name, value) in [("client_uri", &client.client_uri), ("logo_uri", &client.logo_uri)] {
                if let Some(value) = value {
                    answer[name] = json!(value);
                }
            }
            set_no_store(problem::json(StatusCode::CREATED, &answer))
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// The client, and its secret if it is confidential.
fn read(state: &State, body: &[u8]) -> Result<(OAuthClient, Option<String>), OAuthRejection> {
    let wrong = |text: String| OAuthRejection::invalid_request(text);
    check_size(body)?;
    let body: Value =
        serde_json::from_slice(body).map_err(|error| wrong(format!("The body is not JSON: {error}.")))?;
    if !body.is_object() {
        return Err(wrong("The body must be a JSON object.".to_owned()));
    }
    let name =
        read_text(&body, "client_name")?.ok_or_else(|| wrong("`client_name` is missing.".to_owned()))?;
    if name.trim().is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
        return Err(wrong(format!(
            "`client_name` must have 1 to {MAX_NAME} characters, and no control characters."
        )));
    }
    let redirects = read_texts(&body, "redirect_uris")?.unwrap_or_default();
    if redirects.is_empty() || redirects.len() > MAX_URIS {
        return Err(wrong(format!(
            "`redirect_uris` must have 1 to {MAX_URIS} addresses; found {}.",
            redirects.len()
        )));
    }
    for (at, address) in redirects.iter().enumerate() {
        if address.chars().count() > MAX_URI {
            return Err(wrong(format!("`redirect_uris[{at}]` must have at most {MAX_URI} characters.")));
        }
        can_be_redirect(address).map_err(|rule| wrong(format!("`redirect_uris[{at}]` {rule}.")))?;
    }
    let usual = ["authorization_code", "refresh_token"];
    let grant_types = read_texts(&body, "grant_types")?.unwrap_or_else(|| usual.map(str::to_owned).to_vec());
    if let Some(other) = grant_types.iter().find(|kind| !usual.contains(&kind.as_str())) {
        return Err(wrong(format!("`grant_types` has {}, which is not supported.", quote(other))));
    }
    if !grant_types.iter().any(|kind| kind == "authorization_code") {
        return Err(wrong("`grant_types` must have `authorization_code`.".to_owned()));
    }
    if read_texts(&body, "response_types")?.is_some_and(|types| types != ["code"]) {
        return Err(wrong("`response_types` must be [\"code\"].".to_owned()));
    }
    if let Some(kind) = read_text(&body, "application_type")?
        && !["native", "web"].contains(&kind)
    {
        let found = quote(kind);
        return Err(wrong(format!("`application_type` must be native or web; found {found}.")));
    }
    let method = read_text(&body, "token_endpoint_auth_method")?.unwrap_or("none");
    if !AUTHENTICATION.contains(&method) {
        return Err(wrong(format!(
            "`token_endpoint_auth_method` must be one of {}; found {}.",
            AUTHENTICATION.join(", "),
            quote(method)
        )));
    }
    let secret = (method != "none").then(|| format!("sb_secret_{}", state.next_secret().simple()));
    let scopes: Vec<String> = match read_text(&body, "scope")? {
        None => SCOPES.map(str::to_owned).to_vec(),
        Some(scope) => parse_scopes(scope)?,
    };
    if scopes.is_empty() || scopes.iter().any(|scope| !SCOPES.contains(&scope.as_str())) {
        return Err(OAuthRejection::invalid_scope(format!(
            "`scope` must have one or more of: {}.",
            SCOPES.join(", ")
        )));
    }
    let client = OAuthClient {
        client_id: state.next_id().to_string(),
        name: name.to_owned(),
        redirect_uris: redirects,
        grant_types,
        scopes_allowed: scopes,
        client_uri: read_page_url(&body, "client_uri")?,
        logo_uri: read_page_url(&body, "logo_uri")?,
        disabled: false,
        secret: secret.as_ref().map(|secret| ClientSecret::new(method, secret)),
        is_dynamic: true,
    };
    Ok((client, secret))
}

/// A URL of a page or image.
fn read_page_url(body: &Value, name: &str) -> Result<Option<String>, OAuthRejection> {
    let Some(address) = read_text(body, name)? else { return Ok(None) };
    let opens = Url::parse(address).is_ok_and(|url| ["http", "https"].contains(&url.scheme()));
    if !opens || address.chars().count() > MAX_URI {
        return Err(OAuthRejection::invalid_request(format!(
            "`{name}` must be an address that begins with https:// or http://, of at most {MAX_URI} characters."
        )));
    }
    Ok(Some(address.to_owned()))
}

fn read_text<'a>(body: &'a Value, name: &str) -> Result<Option<&'a str>, OAuthRejection> {
    match &body[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(OAuthRejection::invalid_request(format!("`{name}` must be a string."))),
    }
}

fn read_texts(body: &Value, name: &str) -> Result<Option<Vec<String>>, OAuthRejection> {
    let wrong = || OAuthRejection::invalid_request(format!("`{name}` must be a list of strings."));
    match &body[name] {
        Value::Null => Ok(None),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Err(wrong()),
    }
}
