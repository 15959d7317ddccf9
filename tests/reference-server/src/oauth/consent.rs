//! The consent page: `GET` and `POST /_/consent/{request}`.
//!
//! It works without scripts and loads nothing. Its form contains a token known only to this page, and a cookie that forms of other sites don't send,
//! so that no other site can consent on a user's behalf. A request can be decided only once.
//!
//! The sandbox has no user accounts, only tenants identified by an API key, so the page asks for the tenant. It suggests the sandbox's default key.

pub mod page;

use bytes::Bytes;
use http::{HeaderValue, Method, Request as HttpRequest, Response, StatusCode, header};

use self::page::{ConsentPage, expired_response, invalid_form_response};
use crate::digest::is_secret;
use crate::model::credential::Permission;
use crate::model::oauth::CODE_PREFIX;
use crate::model::oauth::clients::OAuthClient;
use crate::model::oauth::grant::Request;
use crate::oauth::authorize::redirect_to_client;
use crate::oauth::form::Parameters;
use crate::state::State;
use crate::state::keys::{self, DEFAULT_KEY};

const COOKIE: &str = "sandbox_consent";

/// Shows the page, or applies the decision.
pub fn handle(state: &State, request: &HttpRequest<Bytes>, name: &str) -> Response<Bytes> {
    let now = state.clock.now();
    let waiting = state.oauth.request(name, now);
    let client = waiting.as_ref().and_then(|waiting| state.oauth.client(&waiting.client_id));
    let (Some(waiting), Some(client)) = (waiting, client) else {
        return expired_response();
    };
    if request.method() == Method::POST {
        decide(state, request, &waiting, &client, name)
    } else {
        render_page(state, &waiting, &client, name, DEFAULT_KEY, None)
    }
}

fn decide(
    state: &State,
    request: &HttpRequest<Bytes>,
    waiting: &Request,
    client: &OAuthClient,
    name: &str,
) -> Response<Bytes> {
    let Ok(form) = Parameters::from_body(request) else { return invalid_form_response() };
    let proves = |token: &str| is_secret(waiting.token.as_bytes(), token.as_bytes());
    if !form.get("token").is_some_and(proves) || !cookie(request).is_some_and(|token| proves(&token)) {
        return invalid_form_response();
    }
    let issuer = state.links.issuer(request);
    let back = |answer: &[(&str, &str)]| {
        see_other(redirect_to_client(&waiting.redirect_uri, answer, waiting.state.as_deref(), &issuer))
    };
    match form.get("decision") {
        Some("allow") => {
            let key = form.get("account").unwrap_or_default().trim();
            let tenant = match keys::find_credential(key, &state.tenants.api_key_index) {
                Some(whole) if whole.permission == Permission::FullAccess => whole.tenant.into_owned(),
                found => {
                    let rule = match found {
                        Some(_) => {
                            "This API key may only send emails. Granting access requires a key with full access."
                        }
                        None => "Enter an API key of the sandbox as the account: it starts with sb_ or re_.",
                    };
                    return render_page(state, waiting, client, name, key, Some(rule));
                }
            };
            let Some(decided) = state.oauth.take_request(name) else { return expired_response() };
            let code = format!("{CODE_PREFIX}{}", state.next_secret().simple());
            if !state.oauth.insert_code(&code, decided, tenant, &state.clock) {
                let answer = [
                    ("error", "server_error"),
                    ("error_description", "The sandbox's --max-memory for OAuth state is used up."),
                ];
                return back(&answer);
            }
            back(&[("code", &code)])
        }
        Some("deny") => {
            if state.oauth.take_request(name).is_none() {
                return expired_response();
            }
            let answer = [("error", "access_denied"), ("error_description", "The user denied the request.")];
            back(&answer)
        }
        _ => render_page(
            state,
            waiting,
            client,
            name,
            form.get("account").unwrap_or(DEFAULT_KEY),
            Some("Allow or deny?"),
        ),
    }
}

/// A redirect after a form: 303, so that no browser repeats the form.
fn see_other(mut response: Response<Bytes>) -> Response<Bytes> {
    if response.status() == StatusCode::FOUND {
        *response.status_mut() = StatusCode::SEE_OTHER;
    }
    response
}

fn cookie(request: &HttpRequest<Bytes>) -> Option<String> {
    let lines = request.headers().get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE).then(|| value.to_owned()))
}

fn render_page(
    state: &State,
    waiting: &Request,
    client: &OAuthClient,
    name: &str,
    key: &str,
    wrong: Option<&str>,
) -> Response<Bytes> {
    let address = state.links.address();
    let mut response = ConsentPage { address: &address, waiting, client, key, wrong }.page();
    // Over https the cookie is never sent unencrypted.
    let secure = if address.starts_with("https:") { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={}; Path={}/_/consent/{name}; HttpOnly; SameSite=Strict; Max-Age=600{secure}",
        waiting.token,
        state.links.public_path()
    );
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
