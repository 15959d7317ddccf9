//! Requests to the authorization server: one each, in the right form, with every response classified.

use std::{sync::Arc, time::Duration};

use idempost::{
    Client, Error,
    auth::{
        AuthError, AuthorizationCode, AuthorizationRequest, AuthorizationServer, MemoryStore, NewOAuthClient,
        OAuthErrorCode, Scope, Session, TokenRecord,
    },
    transport::Transport,
};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use super::script::{Reply, Script};

const REDIRECT: &str = "http://127.0.0.1:4711/callback";

fn server(script: &Script) -> AuthorizationServer {
    AuthorizationServer::new("http://127.0.0.1:9/prefix").unwrap().transport(script.clone())
}

fn authorized(server: &AuthorizationServer) -> (AuthorizationRequest, AuthorizationCode) {
    let authorization = server.authorize("c", REDIRECT).scope(Scope::EmailsSend).build().unwrap();
    let state = parameter(authorization.url(), "state");
    let code = authorization.code_from_url(&format!("{REDIRECT}?code=the-code&state={state}")).unwrap();
    (authorization, code)
}

/// A token response without a scope.
fn tokens() -> Value {
    json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900, "refresh_token": "rt"})
}

/// Exchanges a code with a server that sends this reply, in one request.
async fn exchanged(reply: Reply) -> idempost::Result<TokenRecord> {
    let script = Script::of([reply]).odd();
    let server = server(&script);
    let (authorization, code) = authorized(&server);
    let record = server.exchange(&authorization, &code).await;
    assert_eq!(script.seen().len(), 1);
    record
}

fn parameter(url: &Url, name: &str) -> String {
    url.query_pairs().find(|(known, _)| known == name).unwrap().1.into_owned()
}

fn auth_error(error: Error) -> AuthError {
    match error {
        Error::Auth(error) => std::sync::Arc::into_inner(error).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_authorization_request_builds_a_url_and_sends_nothing() {
    // AUTHZ-01
    let script = Script::of([]).odd();
    let (authorization, _) = authorized(&server(&script));
    assert_eq!(authorization.url().path(), "/prefix/oauth/authorize");
    assert!(script.seen().is_empty());
}

#[tokio::test]
async fn a_code_is_exchanged_by_one_form_with_its_verifier() {
    // TOK-03, AUTHZ-16
    let script = Script::of([Reply::json(
        200,
        json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900, "refresh_token": "rt", "scope": "emails:send"}),
    )])
    .odd();
    let server = server(&script);
    let (authorization, code) = authorized(&server);
    let record = server.exchange(&authorization, &code).await.unwrap();

    let seen = script.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        (seen[0].method.as_str(), seen[0].url.as_str()),
        ("POST", "http://127.0.0.1:9/prefix/oauth/token")
    );
    assert_eq!(seen[0].header("content-type"), "application/x-www-form-urlencoded");
    assert_eq!(seen[0].header("accept-encoding"), "identity");
    assert_eq!(seen[0].header("authorization"), "", "a public client has no credential");
    let sent: std::collections::BTreeMap<_, _> = form_urlencoded::parse(&seen[0].body).into_owned().collect();
    let names: Vec<_> = sent.keys().map(String::as_str).collect();
    assert_eq!(names, ["client_id", "code", "code_verifier", "grant_type", "redirect_uri"]);
    assert_eq!((sent["code"].as_str(), sent["redirect_uri"].as_str()), ("the-code", REDIRECT));
    assert_eq!(sent["code_verifier"].len(), 86);
    assert_eq!((sent["client_id"].as_str(), record.client_id.as_str()), ("c", "c"));

    assert_eq!(record.generation, 1);
    assert_eq!((record.origin.as_str(), record.scope.as_str()), ("http://127.0.0.1:9", "emails:send"));
    assert_eq!(record.access_token.unwrap().expose(), "at");
    assert_eq!((record.refresh_token.as_ref().unwrap().expose(), record.expires_in.as_secs()), ("rt", 900));
}

#[tokio::test]
async fn the_redirect_uri_is_the_same_text_in_both_requests() {
    // RFC 6749, 4.1.3
    for (redirect, redirected) in [
        // Browsers omit a default port.
        ("http://127.0.0.1:80/callback", "http://127.0.0.1/callback?"),
        ("http://[::1]:80/callback", "http://[::1]/callback?"),
        ("https://App.test:443/a/../cb", "https://app.test/cb?"),
        ("https://app.test", "https://app.test/?"),
        ("https://app.test/cb?", "https://app.test/cb?"),
        ("https://app.test/cb?a=b%20c+d", "https://app.test/cb?a=b%20c+d&"),
        ("com.example.app:/cb", "com.example.app:/cb?"),
    ] {
        let script = Script::of([Reply::json(200, tokens())]).odd();
        let server = server(&script);
        let authorization = server.authorize("c", redirect).build().unwrap();
        assert_eq!(parameter(authorization.url(), "redirect_uri"), redirect);
        // As another process reads it.
        let authorization = AuthorizationRequest::from_json(&authorization.to_json()).unwrap();
        let state = parameter(authorization.url(), "state");
        let code = authorization.code_from_url(&format!("{redirected}code=the-code&state={state}")).unwrap();
        server.exchange(&authorization, &code).await.unwrap();
        let seen = script.seen();
        let sent = form_urlencoded::parse(&seen[0].body).find(|(name, _)| name == "redirect_uri").unwrap().1;
        assert_eq!(sent, redirect);
    }
}

#[tokio::test]
async fn a_token_response_without_a_scope_grants_the_requested_one() {
    assert_eq!(exchanged(Reply::json(200, tokens())).await.unwrap().scope, "emails:send");
}

#[tokio::test]
async fn a_login_without_a_usable_access_token_is_an_error() {
    for (field, value) in
        [("token_type", json!("DPoP")), ("access_token", json!(null)), ("access_token", json!("a b"))]
    {
        let mut tokens = tokens();
        tokens[field] = value;
        let error = auth_error(exchanged(Reply::json(200, tokens)).await.unwrap_err());
        assert!(
            matches!(error, AuthError::UnusableTokens { .. }) && error.to_string().contains(field),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_login_without_a_refresh_token_lasts_as_long_as_its_access_token() {
    // RFC 6749, 5.1
    let tokens = json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900});
    let record = exchanged(Reply::json(200, tokens)).await.unwrap();
    assert!(record.refresh_token.is_none());
    let saved = TokenRecord::from_json(&record.to_json()).unwrap();
    assert!(saved.refresh_token.is_none());

    let passed = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let (clock, start) = (Arc::clone(&passed), record.obtained_at);
    let now = move || start + Duration::from_secs(clock.load(std::sync::atomic::Ordering::Relaxed));
    let session = Session::builder().wall_clock(now).start(MemoryStore::new(), &saved).await.unwrap();
    passed.store(899, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(session.access_token().await.unwrap().expose(), "at");
    passed.store(900, std::sync::atomic::Ordering::Relaxed);
    for _ in 0..2 {
        let error = auth_error(session.access_token().await.unwrap_err());
        assert!(error.to_string().contains("issued no refresh token; log in again"), "{error}");
    }
}

#[tokio::test]
async fn a_grant_is_revoked_by_its_refresh_token() {
    let script =
        Script::of([Reply::json(200, json!({})), Reply::json(400, json!({"error": "invalid_client"}))]).odd();
    let server = server(&script);
    let token = "http://127.0.0.1:9/oauth/token";
    let mut record = TokenRecord::new("http://127.0.0.1:9", token, "c", "rt".to_owned().into());
    assert!(matches!(auth_error(server.revoke(&record).await.unwrap_err()), AuthError::NotRevocable));
    assert!(script.seen().is_empty());

    record.revocation_endpoint = Some("http://127.0.0.1:9/oauth/revoke".to_owned());
    server.revoke(&record).await.unwrap();
    let seen = script.seen();
    assert_eq!(seen[0].url.as_str(), "http://127.0.0.1:9/oauth/revoke");
    assert_eq!(&seen[0].body[..], b"token=rt&token_type_hint=refresh_token&client_id=c");
    assert!(matches!(auth_error(server.revoke(&record).await.unwrap_err()), AuthError::Rejected(_)));
}

#[tokio::test]
async fn a_code_is_sent_once_whatever_the_response() {
    // TOK-33, C-14
    for step in [
        Reply::connection_lost(),
        Reply::bytes(200, "not json"),
        Reply::bytes(500, ""),
        Reply::bytes(302, ""),
    ] {
        let error = auth_error(exchanged(step).await.unwrap_err());
        assert!(matches!(error, AuthError::CodeLost { .. }), "{error:?}");
    }
    let error = auth_error(exchanged(Reply::connection_refused()).await.unwrap_err());
    assert!(matches!(error, AuthError::Unreachable(_)) && error.is_retryable(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn concurrent_exchanges_of_one_code_send_it_once() {
    // TOK-03: a reused code revokes the grant.
    let script = Script::of([Reply::json(200, tokens()).with_delay(Duration::from_secs(1))]).odd();
    let server = server(&script);
    let (authorization, code) = authorized(&server);
    let again = code.clone();
    let (first, second) =
        tokio::join!(server.exchange(&authorization, &code), server.exchange(&authorization, &again));
    assert_eq!(first.unwrap().to_json(), second.unwrap().to_json());
    server.exchange(&authorization, &code).await.unwrap();
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test]
async fn every_rejection_of_a_code_keeps_its_error_status_and_description() {
    // TOK-33, C-14
    for (status, name, code) in [
        (400, "invalid_request", OAuthErrorCode::InvalidRequest),
        (400, "invalid_grant", OAuthErrorCode::InvalidGrant),
        (401, "invalid_client", OAuthErrorCode::InvalidClient),
        (400, "unauthorized_client", OAuthErrorCode::UnauthorizedClient),
    ] {
        let rejection = Reply::json(status, json!({"error": name, "error_description": "why"}));
        match auth_error(exchanged(rejection).await.unwrap_err()) {
            AuthError::Rejected(error) => {
                assert_eq!((error.code, error.status.unwrap().as_u16()), (code, status));
                assert_eq!(error.description.as_deref(), Some("why"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_program_registers_as_a_public_client() {
    let script = Script::of([Reply::json(201, json!({"client_id": "c17", "scope": "emails:send"}))]).odd();
    let asked = NewOAuthClient::new("Mailer", "http://127.0.0.1/callback").scope(&Scope::EmailsSend);
    let client = server(&script).register(&asked).await.unwrap();
    assert_eq!(client.client_id, "c17");
    let body: Value = serde_json::from_slice(&script.seen()[0].body).unwrap();
    assert_eq!(
        body,
        json!({
            "client_name": "Mailer", "redirect_uris": ["http://127.0.0.1/callback"], "scope": "emails:send",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": "none", "application_type": "native",
        })
    );
    let script =
        Script::of([Reply::json(429, json!({"error": "too_many_requests", "error_description": "later"}))])
            .odd();
    let error = auth_error(server(&script).register(&asked).await.unwrap_err());
    assert!(matches!(error, AuthError::Throttled { status: 429, .. }), "{error:?}");
}

#[tokio::test]
async fn one_transport_serves_the_authorization_server_a_session_and_a_client() {
    let tokens = |refresh: &str| json!({"access_token": refresh, "token_type": "Bearer", "expires_in": 900, "refresh_token": refresh, "scope": "emails:send"});
    let script = Script::of([
        Reply::json(200, tokens("one")),
        Reply::json(200, tokens("two")),
        Reply::json(200, json!({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"})),
    ])
    .odd();
    let transport: Arc<dyn Transport> = Arc::new(script.clone());
    let server = AuthorizationServer::new("http://127.0.0.1:9").unwrap().transport(Arc::clone(&transport));
    let (authorization, code) = authorized(&server);
    let mut login = server.exchange(&authorization, &code).await.unwrap();
    login.expires_in = Duration::ZERO;
    let session =
        Session::builder().transport(Arc::clone(&transport)).start(MemoryStore::new(), &login).await.unwrap();
    let client = Client::builder()
        .base_url("http://127.0.0.1:9")
        .session(session)
        .transport(transport)
        .build()
        .unwrap();
    let email = idempost::Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
    client.emails().send(&email).await.unwrap();
    let seen: Vec<_> = script.seen().iter().map(|seen| (seen.url.to_string(), seen.new_connection)).collect();
    let token = ("http://127.0.0.1:9/oauth/token".to_owned(), true);
    assert_eq!(seen, [token.clone(), token, ("http://127.0.0.1:9/emails".to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn an_exchange_whose_caller_was_dropped_returns_its_tokens_to_the_next() {
    // TOK-01: a code can be used only once.
    let delayed = Reply::json(200, tokens()).with_delay(Duration::from_secs(2));
    let script = Script::of([Reply::connection_refused(), delayed]).odd();
    let server = server(&script);
    let (authorization, code) = authorized(&server);
    // A request that wasn't sent doesn't use up the code.
    let error = auth_error(server.exchange(&authorization, &code).await.unwrap_err());
    assert!(matches!(error, AuthError::Unreachable(_)), "{error:?}");
    let limited = tokio::time::timeout(Duration::from_secs(1), server.exchange(&authorization, &code)).await;
    assert!(limited.is_err());
    let login = server.exchange(&authorization, &code.clone()).await.unwrap();
    assert_eq!((login.scope.as_str(), script.seen().len()), ("emails:send", 2));
}
