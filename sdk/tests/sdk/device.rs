//! The device flow (RFC 8628), with a scripted server and a moved clock.

use std::time::Duration;

use idempost::{
    Error,
    auth::{
        AuthError, AuthorizationServer, DeviceAuthorization, MemoryStore, NewOAuthClient, OAuthErrorCode,
        Scope, Session,
    },
    testing::{RecordedRequest, Reply, ScriptedTransport},
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use url::form_urlencoded;

const METADATA: &str = "/.well-known/oauth-authorization-server";

fn tokens() -> Reply {
    Reply::json(
        200,
        json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900, "refresh_token": "rt", "scope": "emails:send"}),
    )
}

fn rejected(code: &str) -> Reply {
    Reply::json(400, json!({ "error": code }))
}

fn pending() -> Reply {
    rejected("authorization_pending")
}

fn granted() -> Value {
    json!({
        "device_code": "the-device-code", "user_code": "WDJB-MJHT", "verification_uri": "https://login.example.com/device",
        "verification_uri_complete": "https://login.example.com/device?user_code=WDJB-MJHT",
        "expires_in": 90, "interval": 5,
    })
}

/// A server with this response to the device authorization request, and these of its token endpoint.
async fn server(
    granted: Reply,
    polls: impl IntoIterator<Item = Reply>,
) -> (AuthorizationServer, ScriptedTransport) {
    let metadata = json!({
        "issuer": "https://login.example.com",
        "authorization_endpoint": "https://login.example.com/authorize",
        "token_endpoint": "https://login.example.com/token",
        "revocation_endpoint": "https://login.example.com/revoke",
        "device_authorization_endpoint": "https://login.example.com/device_authorization",
        "code_challenge_methods_supported": ["S256"],
    });
    let script = ScriptedTransport::new(polls)
        .reply_to("GET", METADATA, [Reply::json(200, metadata)])
        .reply_to("POST", "/device_authorization", [granted]);
    let found =
        AuthorizationServer::discovery().transport(script.clone()).issuer("https://login.example.com").await;
    script.take_requests();
    (found.unwrap().for_api("https://api.example.com").unwrap(), script)
}

/// A login in the device flow whose token endpoint responds like this.
async fn begun(
    polls: impl IntoIterator<Item = Reply>,
) -> (AuthorizationServer, DeviceAuthorization, ScriptedTransport) {
    let (server, script) = server(Reply::json(200, granted()), polls).await;
    let device = server.authorize_device("c").scope(Scope::EmailsSend).send().await.unwrap();
    (server, device, script)
}

fn form(request: &RecordedRequest) -> Vec<(String, String)> {
    form_urlencoded::parse(&request.body).into_owned().collect()
}

fn auth(error: Error) -> AuthError {
    match error {
        Error::Auth(error) => std::sync::Arc::into_inner(error).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The error of a device flow whose polls get these replies, all of them.
async fn failed(polls: impl IntoIterator<Item = Reply>) -> AuthError {
    let (server, device, script) = begun(polls).await;
    let error = auth(server.exchange_device(&device).await.unwrap_err());
    script.finish();
    error
}

#[tokio::test(start_paused = true)]
async fn a_login_on_another_device_polls_at_the_interval_until_it_is_allowed() {
    let (server, device, script) = begun([pending(), rejected("slow_down"), pending(), tokens()]).await;
    assert_eq!(device.user_code(), "WDJB-MJHT");
    assert_eq!(device.verification_uri().as_str(), "https://login.example.com/device");
    assert!(device.verification_uri_complete().unwrap().as_str().ends_with("?user_code=WDJB-MJHT"));
    assert_eq!(device.expires_in(), Duration::from_secs(90));
    assert!(!format!("{device:?}").contains("the-device-code"), "{device:?}");

    let start = Instant::now();
    let record = server.exchange_device(&device).await.unwrap();
    let requests = script.finish();
    assert_eq!(
        form(&requests[0]),
        [("client_id".into(), "c".into()), ("scope".into(), "emails:send".into())]
    );
    let polled: Vec<_> = requests[1..].iter().map(|request| (request.at - start).as_secs()).collect();
    assert_eq!(polled, [5, 10, 20, 30], "`slow_down` adds five seconds for good");
    let expected = [
        ("grant_type".to_owned(), "urn:ietf:params:oauth:grant-type:device_code".to_owned()),
        ("device_code".to_owned(), "the-device-code".to_owned()),
        ("client_id".to_owned(), "c".to_owned()),
    ];
    assert_eq!(form(&requests[1]), expected);
    assert!(requests.iter().all(|request| request.new_connection) && !requests.is_empty());

    // The record is the same as for any other login.
    assert_eq!((record.origin.as_str(), record.scope.as_str()), ("https://api.example.com", "emails:send"));
    assert_eq!(record.issuer.as_deref(), Some("https://login.example.com"));
    assert_eq!(record.revocation_endpoint.as_deref(), Some("https://login.example.com/revoke"));
    let session = Session::start(MemoryStore::new(), &record).await.unwrap();
    assert_eq!(session.access_token().await.unwrap().expose(), "at");
}

#[tokio::test(start_paused = true)]
async fn each_end_of_the_device_flow_has_its_error() {
    let error = failed([rejected("access_denied")]).await;
    assert!(
        matches!(&error, AuthError::Rejected(error) if error.code == OAuthErrorCode::AccessDenied),
        "{error:?}"
    );

    let error = failed([pending(), rejected("expired_token")]).await;
    assert!(matches!(error, AuthError::DeviceCodeExpired), "{error:?}");

    // The client's own clock also ends it.
    let (server, device, script) = begun([pending().repeat()]).await;
    let start = Instant::now();
    for _ in 0..2 {
        let error = auth(server.exchange_device(&device).await.unwrap_err());
        assert!(matches!(error, AuthError::DeviceCodeExpired), "{error:?}");
    }
    assert!(start.elapsed() <= Duration::from_secs(90), "{:?}", start.elapsed());
    assert_eq!(script.finish().len(), 1 + 17);

    let error = failed([Reply::bytes(404, "<html>")]).await;
    assert!(matches!(error, AuthError::NotOAuthEndpoint { status: 404, .. }), "{error:?}");

    let dpop = json!({"access_token": "at", "token_type": "DPoP", "expires_in": 900});
    let error = failed([Reply::json(200, dpop)]).await;
    assert!(matches!(error, AuthError::UnusableTokens { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_oauth_error_counts_even_in_a_200() {
    let ok = |code: &str| Reply::json(200, json!({ "error": code, "interval": 10 }));
    let (server, device, script) = begun([ok("authorization_pending"), ok("slow_down"), tokens()]).await;
    let start = Instant::now();
    server.exchange_device(&device).await.unwrap();
    let polled: Vec<_> = script.finish()[1..].iter().map(|request| (request.at - start).as_secs()).collect();
    assert_eq!(polled, [5, 10, 20]);

    let error = failed([ok("access_denied")]).await;
    assert!(
        matches!(&error, AuthError::Rejected(_)) && error.to_string().contains("access_denied"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn times_of_the_device_flow_may_be_sent_as_text() {
    let mut body = granted();
    (body["expires_in"], body["interval"]) = (json!("90"), json!("7"));
    let (server, script) = server(Reply::json(200, body), [tokens()]).await;
    let start = Instant::now();
    let device = server.authorize_device("c").send().await.unwrap();
    assert_eq!(device.expires_in(), Duration::from_secs(90));
    server.exchange_device(&device).await.unwrap();
    assert_eq!((script.finish()[1].at - start).as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_network_and_the_server_only_slow_the_polling_down() {
    let busy = Reply::json(429, json!({})).header("retry-after", "12");
    let (server, device, script) =
        begun([Reply::connection_refused(), Reply::bytes(502, ""), busy, tokens()]).await;
    let start = Instant::now();
    server.exchange_device(&device).await.unwrap();
    let at: Vec<_> = script.finish()[1..].iter().map(|request| (request.at - start).as_secs()).collect();
    // 5 s, doubled twice; then five seconds more than that, which is longer than `Retry-After`.
    assert_eq!(at, [5, 15, 35, 60]);

    let (server, device, script) = begun([Reply::connection_refused().repeat()]).await;
    let error = auth(server.exchange_device(&device).await.unwrap_err());
    assert!(matches!(error, AuthError::Unreachable(_)), "{error:?}");
    assert_eq!(script.finish().len(), 1 + 4);
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_explains_why_the_device_code_is_no_longer_valid() {
    let error = failed([Reply::connection_lost(), rejected("invalid_grant")]).await;
    assert!(matches!(error, AuthError::CodeLost { .. }), "{error:?}");
    // The server still waits for the user, so nothing was lost.
    let error = failed([Reply::connection_lost(), pending(), rejected("invalid_grant")]).await;
    assert!(matches!(error, AuthError::Rejected(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_whose_caller_was_dropped_returns_its_tokens_to_the_next() {
    let (server, device, script) = begun([pending(), tokens().with_delay(Duration::from_secs(2))]).await;
    assert!(timeout(Duration::from_secs(11), server.exchange_device(&device)).await.is_err());
    tokio::time::sleep(Duration::from_secs(30)).await;
    let (first, second) = (device.clone(), device);
    let (first, second) = tokio::join!(server.exchange_device(&first), server.exchange_device(&second));
    assert_eq!(first.unwrap().access_token.unwrap().expose(), "at");
    assert_eq!(second.unwrap().access_token.unwrap().expose(), "at");
    assert_eq!(script.finish().len(), 3, "the device code was exchanged once");
}

#[tokio::test(start_paused = true)]
async fn the_next_caller_keeps_to_the_interval() {
    let (server, device, script) = begun([pending(), tokens()]).await;
    let start = Instant::now();
    assert!(timeout(Duration::from_secs(6), server.exchange_device(&device)).await.is_err());
    server.exchange_device(&device).await.unwrap();
    let at: Vec<_> = script.finish()[1..].iter().map(|request| (request.at - start).as_secs()).collect();
    assert_eq!(at, [5, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_pending_answer_after_a_failure_means_that_the_user_has_not_decided() {
    for trouble in [Reply::connection_refused(), Reply::connection_lost()] {
        let error = failed([trouble, rejected("slow_down").repeat()]).await;
        assert!(matches!(error, AuthError::DeviceCodeExpired), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_device_flow_is_used_only_where_the_metadata_offers_it() {
    let script = ScriptedTransport::new([]);
    let server = AuthorizationServer::new("https://api.example.com").unwrap().transport(script.clone());
    assert!(!server.supports_device_flow());
    let error = auth(server.authorize_device("c").send().await.unwrap_err());
    assert!(matches!(error, AuthError::NoDeviceFlow), "{error:?}");
    assert!(script.finish().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_unusable_device_authorization_response_is_rejected_with_its_reason() {
    let with = |field: &str, value: Value| {
        let mut body = granted();
        body[field] = value;
        Reply::json(200, body)
    };
    for (reply, reason) in [
        (rejected("invalid_client"), "invalid_client"),
        (Reply::json(200, json!({"error": "device_flow_disabled"})), "device_flow_disabled"),
        (Reply::json(429, json!({"error": "slow_down"})), "overloaded"),
        (Reply::bytes(500, ""), "/device_authorization returned 500, not the expected JSON"),
        (Reply::bytes(404, "<html>"), "404"),
        (Reply::bytes(200, "<html>"), "/device_authorization returned 200, an HTML page"),
        (with("verification_uri", json!("http://login.example.com/device")), "must use https"),
        (with("verification_uri_complete", json!("javascript:alert(1)")), "verification_uri"),
        (with("user_code", json!("\u{1b}[2J")), "user_code"),
        (with("user_code", json!("")), "user_code"),
        (with("device_code", Value::Null), "device authorization response"),
    ] {
        let shown = format!("{reply:?}");
        let (server, _) = server(reply, []).await;
        let error = auth(server.authorize_device("c").send().await.unwrap_err()).to_string();
        assert!(error.contains(reason), "{shown}: {error}");
        assert!(!error.contains("the-device-code") && !error.contains('\u{1b}'), "{error:?}");
    }
    // Values that may be missing or out of bounds.
    let (server, script) = server(with("interval", json!(0)), [tokens()]).await;
    let device = server.authorize_device("c").send().await.unwrap();
    server.exchange_device(&device).await.unwrap();
    assert_eq!(form(&script.finish()[0]), [("client_id".to_owned(), "c".to_owned())]);
}

#[test]
fn a_client_registers_for_the_device_flow() {
    let client = NewOAuthClient::new("Mailer", "http://127.0.0.1/callback").device_flow();
    assert_eq!(
        serde_json::to_value(client).unwrap()["grant_types"],
        json!(["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"])
    );
}
