//! Faults between client and token endpoint, and their effect on the service.

use std::cell::Cell;
use std::time::{Duration, Instant};

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use idempost_reference_server::{IssuedTokens, OAuthClient, ReferenceServer, Settings, TokenEventKind};
use serde_json::Value;

use super::urlencoded;
use crate::support::{KEY, http_client, wait_until};

const CLIENT: &str = "full";

/// A service over HTTP, with a grant.
async fn server() -> (ReferenceServer, IssuedTokens) {
    let client = OAuthClient::new(CLIENT, "Full", "http://127.0.0.1/callback");
    let server =
        idempost_sandbox::start(Settings { oauth_clients: vec![client], ..Settings::default() }).await;
    let granted = server.service().grant(CLIENT, KEY, "emails:send");
    (server, granted)
}

fn on_token(action: Action) -> Rule {
    Rule::new(action).on_request(Method::POST, "/oauth/token")
}

/// The status and body of a response, or `Err` if it is incomplete.
async fn refresh(server: &ReferenceServer, token: &str) -> Result<(u16, Value), reqwest::Error> {
    let client = http_client();
    let answer = client
        .post(format!("{}/oauth/token", server.base_url()))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(urlencoded(&super::refresh_request(CLIENT, token)))
        .send()
        .await?;
    let status = answer.status().as_u16();
    Ok((status, serde_json::from_slice(&answer.bytes().await?).unwrap_or_default()))
}

fn kinds(server: &ReferenceServer) -> Vec<TokenEventKind> {
    server.service().token_events().into_iter().map(|event| event.kind).collect()
}

const ROTATED: TokenEventKind = TokenEventKind::Rotated { generation: 2 };
const REUSED: TokenEventKind = TokenEventKind::Reused { shown: 1, current: 2 };

#[tokio::test]
async fn a_refresh_dropped_before_processing_leaves_the_token_valid() {
    let (server, granted) = server().await;
    server.service().faults().add(on_token(Action::DropBefore).times(3));
    for _ in 0..3 {
        refresh(&server, &granted.refresh_token).await.unwrap_err();
    }
    assert_eq!(refresh(&server, &granted.refresh_token).await.unwrap().0, 200);
    assert_eq!(kinds(&server), [TokenEventKind::Issued, ROTATED]);
}

#[tokio::test]
async fn a_refresh_with_a_lost_response_consumes_the_token() {
    for action in [Action::DropAfter, Action::Truncate(0), Action::Truncate(1), Action::Truncate(200)] {
        let (server, granted) = server().await;
        server.service().faults().add(on_token(action.clone()));
        refresh(&server, &granted.refresh_token).await.unwrap_err();
        assert_eq!(kinds(&server), [TokenEventKind::Issued, ROTATED], "{action:?}");
        let (status, body) = refresh(&server, &granted.refresh_token).await.unwrap();
        assert_eq!((status, body["error"].as_str()), (400, Some("invalid_grant")), "{action:?}");
        assert_eq!(kinds(&server), [TokenEventKind::Issued, ROTATED, REUSED], "{action:?}");
    }
}

#[tokio::test]
async fn a_delayed_refresh_takes_effect_before_its_response() {
    let (server, granted) = server().await;
    let (delay, answered) = (Duration::from_secs(1), Cell::new(false));
    server.service().faults().add(on_token(Action::Delay(delay)));
    let start = Instant::now();
    let slow = async {
        let answer = refresh(&server, &granted.refresh_token).await;
        answered.set(true);
        answer
    };
    let impatient = async {
        wait_until("the refresh takes effect", || kinds(&server).len() == 2).await;
        assert!(!answered.get(), "the refresh took effect only with its response");
        refresh(&server, &granted.refresh_token).await.unwrap()
    };
    let (slow, (status, body)) = tokio::join!(slow, impatient);
    assert_eq!((status, body["error"].as_str()), (400, Some("invalid_grant")));
    assert!(start.elapsed() >= delay);
    let (status, body) = slow.unwrap();
    assert_eq!(status, 200);
    assert_eq!(kinds(&server), [TokenEventKind::Issued, ROTATED, REUSED]);
    // The delayed tokens belong to a grant that has been revoked meanwhile.
    let (status, _) = refresh(&server, body["refresh_token"].as_str().unwrap()).await.unwrap();
    assert_eq!(status, 400);
}

#[tokio::test]
async fn a_scripted_proxy_response_never_reaches_the_service() {
    let (server, granted) = server().await;
    let answers = [
        Action::http_response(503, "").header("retry-after", "2"),
        Action::http_response(502, "<html>bad gateway"),
        Action::http_response(400, r#"{"error":"invalid_grant"}"#),
        Action::http_response(200, "<html>welcome to the hotel"),
        Action::TooMany { retry_after: Some("1".into()) },
    ];
    for action in answers {
        server.service().faults().add(on_token(action.clone()));
        let (status, body) = refresh(&server, &granted.refresh_token).await.unwrap();
        assert!(body["access_token"].is_null(), "{action:?}");
        if let Action::Answer { status: wanted, .. } = action {
            assert_eq!(status, wanted.as_u16());
        }
    }
    assert_eq!(kinds(&server), [TokenEventKind::Issued]);
    assert_eq!(refresh(&server, &granted.refresh_token).await.unwrap().0, 200);
}

#[tokio::test]
async fn retrying_a_code_exchange_with_a_lost_response_revokes_the_grant() {
    // TOK-06
    let sandbox = super::sandbox();
    let code = super::code_for(&sandbox, "full");
    // The same service, over a socket.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/oauth/token", listener.local_addr().unwrap());
    let service = std::sync::Arc::clone(&sandbox.service);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(idempost_reference_server::mount::http::serve(listener, service, async {
        let _ = stopped.await;
    }));
    sandbox.service.faults().add(on_token(Action::DropAfter));
    let client = http_client();
    let form = urlencoded(&super::code_exchange("full", &code));
    client.post(&url).body(form.clone()).send().await.unwrap_err();
    let again = client.post(&url).body(form).send().await.unwrap();
    assert_eq!(again.status(), 400);
    let kinds: Vec<_> = sandbox.service.token_events().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [TokenEventKind::Issued, TokenEventKind::CodeReused]);
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_token_endpoint_fault_leaves_other_routes_unaffected() {
    let (server, _) = server().await;
    server.service().faults().add(on_token(Action::DropBefore).always());
    let client = http_client();
    for path in ["/.well-known/oauth-authorization-server", "/oauth/authorize", "/_/consent/x"] {
        client.get(format!("{}{path}", server.base_url())).send().await.unwrap();
    }
    let revoke = client.post(format!("{}/oauth/revoke", server.base_url()));
    let answer =
        revoke.body(urlencoded(&[("token", "unknown"), ("client_id", CLIENT)])).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}
