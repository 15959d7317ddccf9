//! OAuth login: `docs/specification.md`, GET /oauth/authorize, POST /oauth/token, Authentication.

mod authorize;
mod consent;
mod faults;
mod grants;
mod scopes;
mod standards;
mod token;

use std::collections::HashMap;

use http::Method;
use idempost_reference_server::{OAuthClient, Settings};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::support::{Answer, KEY, Sandbox};

/// A redirect URI registered for every test client.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:4711/callback";
/// RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A service with a registered client of every kind.
pub(crate) fn sandbox() -> Sandbox {
    let client = |id: &str| OAuthClient::new(id, id, "http://127.0.0.1/callback");
    let mut web = client("web");
    web.redirect_uris =
        vec!["https://app.test/cb".into(), "http://localhost/cb".into(), "http://[::1]/cb".into()];
    let mut code_only = client("code-only");
    code_only.grant_types = vec!["authorization_code".into()];
    let mut refresh_only = client("refresh-only");
    refresh_only.grant_types = vec!["refresh_token".into()];
    let mut sender = client("sender");
    sender.scopes_allowed = vec!["emails:send".into()];
    let mut nothing = client("nothing");
    nothing.scopes_allowed = Vec::new();
    let mut own = client("own");
    own.redirect_uris = vec!["com.example.app:/cb".into()];
    let mut disabled = client("disabled");
    disabled.disabled = true;
    let settings = Settings {
        oauth_clients: vec![client("full"), web, code_only, refresh_only, sender, nothing, own, disabled],
        beta: true,
        ..Settings::default()
    };
    Sandbox::with(&settings)
}

/// The parameters of a valid authorization request.
pub(crate) fn authorization_request(client: &str) -> Vec<(&str, &str)> {
    vec![
        ("client_id", client),
        ("response_type", "code"),
        ("redirect_uri", REDIRECT),
        ("state", "xyz"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ]
}

/// The same with one parameter replaced or removed.
pub(crate) fn with<'a>(
    mut parameters: Vec<(&'a str, &'a str)>,
    name: &'a str,
    value: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    parameters.retain(|(known, _)| *known != name);
    parameters.extend(value.map(|value| (name, value)));
    parameters
}

pub(crate) fn urlencoded(parameters: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()
}

/// Tries to register a client: `change` has other fields of its metadata.
pub(crate) fn register(sandbox: &Sandbox, change: &Value) -> Answer {
    let mut client = json!({"client_name": "Mailer", "redirect_uris": [REDIRECT]});
    client.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    sandbox.ask(Method::POST, "/oauth/register").no_key().json(&client)
}

pub(crate) fn authorize(sandbox: &Sandbox, parameters: &[(&str, &str)]) -> Answer {
    sandbox.ask(Method::GET, format!("/oauth/authorize?{}", urlencoded(parameters))).no_key().send("")
}

/// The response to an authorization request that is valid but for this parameter.
pub(crate) fn authorize_with(sandbox: &Sandbox, client: &str, name: &str, value: Option<&str>) -> Answer {
    authorize(sandbox, &with(authorization_request(client), name, value))
}

/// The redirect target of a response, and its query parameters.
pub(crate) fn redirected(answer: &Answer) -> (String, HashMap<String, String>) {
    assert!(answer.status.is_redirection(), "{} {}", answer.status, answer.text());
    let location = answer.headers["location"].to_str().unwrap();
    let url = Url::parse(location).unwrap();
    let query = url.query_pairs().into_owned().collect();
    (location.split('?').next().unwrap().to_owned(), query)
}

/// The consent page of an authorization response: its path and form token.
pub(crate) fn consent_page(sandbox: &Sandbox, answer: &Answer) -> (String, String) {
    let path = Url::parse(answer.headers["location"].to_str().unwrap()).unwrap().path().to_owned();
    let page = sandbox.visit(&path).expect_status(200);
    let text = page.text();
    let token = text.split("name=token value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    (path, token)
}

/// The same of a valid authorization request.
pub(crate) fn consent(sandbox: &Sandbox, client: &str) -> (String, String) {
    consent_page(sandbox, &authorize(sandbox, &authorization_request(client)))
}

pub(crate) fn decide(sandbox: &Sandbox, path: &str, token: &str, decision: &str) -> Answer {
    sandbox
        .ask(Method::POST, path)
        .no_key()
        .header("cookie", format!("sandbox_consent={token}"))
        .header("content-type", "application/x-www-form-urlencoded")
        .send(urlencoded(&[("token", token), ("account", KEY), ("decision", decision)]))
}

/// An authorization code from the redirect.
pub(crate) fn code(sandbox: &Sandbox, parameters: &[(&str, &str)]) -> String {
    let (path, token) = consent_page(sandbox, &authorize(sandbox, parameters));
    redirected(&decide(sandbox, &path, &token, "allow")).1["code"].clone()
}

pub(crate) fn code_for(sandbox: &Sandbox, client: &str) -> String {
    code(sandbox, &authorization_request(client))
}

/// The parameters of a code exchange.
pub(crate) fn code_exchange<'a>(client: &'a str, code: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ]
}

pub(crate) fn refresh_request<'a>(client: &'a str, token: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)]
}

pub(crate) fn post_form(sandbox: &Sandbox, path: &str, parameters: &[(&str, &str)]) -> Answer {
    sandbox
        .ask(Method::POST, path)
        .no_key()
        .header("content-type", "application/x-www-form-urlencoded")
        .send(urlencoded(parameters))
}

pub(crate) fn token(sandbox: &Sandbox, parameters: &[(&str, &str)]) -> Answer {
    post_form(sandbox, "/oauth/token", parameters)
}

pub(crate) fn exchanged(sandbox: &Sandbox, client: &str, code: &str) -> Answer {
    token(sandbox, &code_exchange(client, code))
}

pub(crate) fn refreshed(sandbox: &Sandbox, client: &str, refresh_token: &str) -> Answer {
    token(sandbox, &refresh_request(client, refresh_token))
}

pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl Answer {
    /// The tokens that this response of the token endpoint issues.
    #[track_caller]
    pub(crate) fn tokens(self) -> Tokens {
        let body = self.expect_status(200).json();
        let token = |name: &str| body[name].as_str().unwrap().to_owned();
        Tokens { access: token("access_token"), refresh: token("refresh_token") }
    }
}

/// The tokens of a complete login.
pub(crate) fn tokens(sandbox: &Sandbox, client: &str) -> Tokens {
    exchanged(sandbox, client, &code_for(sandbox, client)).tokens()
}

/// The status and error code of an OAuth error response.
pub(crate) fn error(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert!(body["error_description"].is_string(), "{body}");
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("application/json"));
    assert!(answer.headers.get("location").is_none());
    (answer.status.as_u16(), body["error"].as_str().unwrap().to_owned())
}

pub(crate) fn api_status(sandbox: &Sandbox, access_token: &str) -> u16 {
    sandbox.ask(Method::GET, "/emails").key(access_token).send("").status.as_u16()
}
