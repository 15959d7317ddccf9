//! Responses of the token endpoint, and their effect on the login.

use std::{
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Response;
use idempost::{
    Attachment,
    auth::{EndReason, Scope},
    transport::{BoxFuture, ReqwestTransport, ResponseBody, Transport, TransportError, TransportRequest},
};
use serde_json::{Value, json};

use super::*;

/// A response of the token endpoint.
fn tokens() -> Value {
    json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900, "refresh_token": "rt"})
}

#[tokio::test]
async fn an_error_that_does_not_concern_the_token_leaves_it_unchanged() {
    // TOK-33, D-09
    let refusals = [
        (401, "invalid_client"),
        (400, "unauthorized_client"),
        (400, "invalid_scope"),
        (400, "invalid_request"),
        (400, "unsupported_grant_type"),
        (400, "slow_down"),
    ];
    for (status, name) in refusals {
        let fixture = Fixture::expired().await;
        let before = fixture.record().await.to_json();
        fixture.fault(Action::http_response(status, json!({"error": name}).to_string()));
        let error = fixture.session().access_token().await.unwrap_err();
        let AuthError::Rejected(rejected) = auth(&error) else { panic!("{error:?}") };
        assert_eq!(rejected.code.as_str(), name);
        assert_eq!(fixture.record().await.to_json(), before, "{name}");
        fixture.session().access_token().await.unwrap();
    }
}

#[tokio::test]
async fn a_refresh_can_ask_for_a_narrower_scope() {
    // TOK-36
    let narrow = || RefreshRequest::with_scope([Scope::EmailsSend]);
    let fixture = Fixture::fresh().await;
    let both = "full_access emails:send";
    let record = grant_with(fixture.server.service(), &fixture.server.base_url(), both);
    let session = fixture.builder().start(fixture.store.clone(), &record).await.unwrap();
    let whole = session.access_token().await.unwrap();
    session.refresh(narrow()).await.unwrap();
    assert_eq!((fixture.record().await.scope.as_str(), fixture.shown()), ("emails:send", 1));
    let client = fixture.client(&session);
    assert_ne!(session.access_token().await.unwrap().expose(), whole.expose());
    client.emails().send(&email()).await.unwrap();
    assert_eq!(client.domains().list().await.unwrap_err().response().unwrap().name, "invalid_permission");
    // The next refresh gets the scopes of the grant.
    fixture.pass(901);
    client.domains().list().await.unwrap();
    assert_eq!((fixture.record().await.scope.as_str(), fixture.rotations()), (both, 2));

    // Another process was faster: the request is sent with the tokens that it saved.
    fixture.session().refresh(narrow()).await.unwrap();
    session.refresh(narrow()).await.unwrap();
    assert_eq!((fixture.record().await.scope.as_str(), fixture.rotations()), ("emails:send", 4));

    // A scope beyond the grant leaves the tokens valid.
    let wide = RefreshRequest::with_scope([Scope::from("admin")]);
    let error = session.refresh(wide).await.unwrap_err();
    assert!(
        matches!(auth(&error), AuthError::Rejected(rejected) if rejected.code.as_str() == "invalid_scope")
    );
    client.emails().send(&email()).await.unwrap();
    assert_eq!(fixture.rotations(), 4);
}

#[tokio::test]
async fn a_meaningless_response_counts_as_lost_and_costs_a_delay_and_no_session() {
    // D-04, D-06, D-09
    let respond = Action::http_response;
    for fault in [
        Action::DropBefore,
        respond(200, ""),
        respond(200, "[]"),
        respond(200, r#"{"token_type":"Bearer","expires_in":900}"#),
        respond(307, ""),
        respond(400, r#"{"error":"server_error"}"#),
        respond(408, ""),
        respond(408, "<html>"),
        respond(500, r#"{"error":"invalid_grant"}"#),
        respond(502, ""),
        respond(504, "<html>"),
        // A 503 or 401 without an OAuth error can come from a proxy that lost the response.
        respond(401, "<html>log in</html>"),
        respond(401, r#"{"message":"no"}"#),
        respond(503, ""),
        respond(503, "<html>busy</html>").header("retry-after", "1"),
    ] {
        let fixture = Fixture::expired().await;
        let before = fixture.record().await;
        fixture.fault(fault.clone());
        let error = fixture.impatient().access_token().await.unwrap_err();
        assert!(matches!(auth(&error), AuthError::OutcomeUnknown { .. }), "{fault:?}: {error:?}");
        let after = fixture.record().await;
        assert_eq!(refresh_token(&after), refresh_token(&before), "{fault:?}");
        assert!(after.pending.is_some() && after.ended.is_none(), "{fault:?}");
        assert_eq!(fixture.rotations(), 0, "{fault:?}");
        fixture.pass(61);
        fixture.client(&fixture.impatient()).emails().send(&email()).await.unwrap();
        assert_eq!(fixture.rotations(), 1, "{fault:?}");
        assert!(fixture.record().await.pending.is_none(), "{fault:?}");
    }
}

const BUSY: &str = r#"{"error":"temporarily_unavailable"}"#;

#[tokio::test]
async fn throttling_is_waited_out_and_leaves_no_mark() {
    // D-06
    let fixture = Fixture::expired().await;
    fixture.fault(Action::http_response(503, BUSY).header("retry-after", "0"));
    fixture.fault(Action::TooMany { retry_after: Some("0".to_owned()) });
    fixture.session().access_token().await.unwrap();
    assert_eq!((fixture.shown(), fixture.rotations()), (3, 1));

    // Longer than any timeout.
    let fixture = Fixture::expired().await;
    fixture.fault(Action::http_response(503, BUSY).header("retry-after", "3600"));
    let error = fixture.session().access_token().await.unwrap_err();
    assert!(error.is_retryable() && error.retry_after() == Some(Duration::from_hours(1)), "{error:?}");
    assert!(fixture.record().await.pending.is_none());
}

#[tokio::test]
async fn an_unsent_request_leaves_no_mark() {
    let fixture = Fixture::expired().await;
    let mut record = fixture.grant();
    // No server can listen on port 0.
    record.token_endpoint = "http://127.0.0.1:0/oauth/token".to_owned();
    record.expires_in = Duration::ZERO;
    let session = fixture.builder().start(fixture.store.clone(), &record).await.unwrap();
    let error = assert_auth!(session.access_token().await, AuthError::Unreachable(_));
    assert!(error.is_retryable() && fixture.record().await.pending.is_none());
}

#[tokio::test]
async fn invalid_grant_is_recorded_and_not_retried() {
    // D-08
    let fixture = Fixture::expired().await;
    fixture.pass(61 * 24 * 60 * 60);
    let before = fixture.record().await;
    let error = fixture.session().access_token().await.unwrap_err();
    let AuthError::Ended(ended) = auth(&error) else { panic!("{error:?}") };
    assert_eq!(ended.reason, EndReason::Rejected);
    assert!(auth(&error).to_string().contains("log in again"), "{}", auth(&error));
    for _ in 0..20 {
        let client = fixture.client(&fixture.session());
        assert!(matches!(auth(&client.emails().send(&email()).await.unwrap_err()), AuthError::Ended(_)));
    }
    assert_eq!(fixture.shown(), 1);
    assert_eq!(fixture.record().await.refresh_token.unwrap().expose(), refresh_token(&before));

    // A new login resolves it, even for a process that has seen the end.
    let session = fixture.session();
    assert!(session.access_token().await.is_err());
    fixture.builder().start(fixture.store.clone(), &fixture.grant()).await.unwrap();
    fixture.client(&session).emails().send(&email()).await.unwrap();
}

#[tokio::test]
async fn a_new_refresh_token_is_saved_whatever_else_is_invalid() {
    // TOK-28, D-10
    let mut whole = tokens();
    whole["scope"] = json!("full_access");
    let odd: [(&str, Value, bool); 16] = [
        ("access_token", Value::Null, false),
        ("access_token", json!("not a header"), false),
        ("access_token", json!("opaque"), true),
        ("access_token", json!("two.parts"), true),
        ("expires_in", Value::Null, true),
        ("expires_in", json!(0), true),
        ("expires_in", json!(-1), true),
        ("expires_in", json!("900"), true),
        ("expires_in", json!(366 * 86_400), true),
        ("expires_in", json!(366 * 86_400 + 1), true),
        ("expires_in", json!(1e30), true),
        ("token_type", json!("mac"), false),
        ("token_type", json!("bearer"), true),
        ("token_type", Value::Null, true),
        ("scope", Value::Null, true),
        ("more", json!({"deep": [1]}), true),
    ];
    for (field, value, usable) in odd {
        let fixture = Fixture::expired().await;
        let mut answer = whole.clone();
        answer[field] = value.clone();
        fixture.fault(Action::http_response(200, answer.to_string()));
        let token = fixture.session().access_token().await;
        let record = fixture.record().await;
        assert_eq!((refresh_token(&record), record.generation), ("rt", 2), "{field} {value}");
        assert!(record.pending.is_none());
        assert_eq!(token.is_ok(), usable, "{field} {value}: {token:?}");
        if field == "expires_in" {
            let plausible = [("900", 900), ("31622400", 366 * 86_400)];
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let seconds =
                plausible.iter().find(|(given, _)| *given == text).map_or(60, |(_, seconds)| *seconds);
            assert_eq!(record.expires_in, Duration::from_secs(seconds), "{value}");
        }
    }
}

#[tokio::test]
async fn a_refresh_without_a_usable_access_token_fails_the_call_before_it_is_sent() {
    let fixture = Fixture::expired().await;
    fixture.fault(Action::http_response(
        200,
        r#"{"token_type": "Bearer", "expires_in": 900, "refresh_token": "rt"}"#,
    ));
    let client = fixture.client(&fixture.session());
    assert_auth!(client.emails().send(&email()).await, AuthError::NoAccessToken);
    assert!(!fixture.server.service().requests().iter().any(|request| request.path == "/emails"));
}

#[tokio::test]
async fn a_changed_scope_is_saved_and_reported() {
    // C-17
    for replaced in [true, false] {
        let fixture = Fixture::expired().await;
        let (builder, heard) = notices(fixture.builder());
        let session = builder.open(fixture.store.clone());
        for (scope, events) in
            [("emails:send", 1), ("emails:send full_access", 2), ("full_access  emails:send", 2)]
        {
            let mut answer = tokens();
            answer["scope"] = json!(scope);
            answer["refresh_token"] =
                if replaced { json!(format!("rt{}", scope.len())) } else { Value::Null };
            fixture.fault(Action::http_response(200, answer.to_string()));
            session.access_token().await.unwrap();
            assert_eq!(fixture.record().await.scope, scope, "{replaced}");
            assert_eq!(heard.lock().unwrap().len(), events, "{heard:?}");
            fixture.pass(901);
        }
        assert!(heard.lock().unwrap()[0].contains("`emails:send`"), "{heard:?}");
    }
}

#[tokio::test]
async fn without_a_new_refresh_token_the_access_token_is_used_and_the_old_one_is_not_sent() {
    // D-11
    for refresh in [Value::Null, json!(""), json!("same")] {
        let fixture = Fixture::expired().await;
        fixture.session().access_token().await.unwrap();
        fixture.pass(901);
        let before = fixture.record().await;
        let same = refresh == json!("same");
        let refresh = if same { json!(refresh_token(&before)) } else { refresh };
        let answer = json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900, "refresh_token": refresh});
        fixture.fault(Action::http_response(200, answer.to_string()));
        for _ in 0..3 {
            assert_eq!(fixture.impatient().access_token().await.unwrap().expose(), "at");
            fixture.pass(250);
        }
        assert_eq!(fixture.shown(), 2);
        let record = fixture.record().await;
        assert!(record.pending.is_some() && record.generation == 2);
        // Refreshed long after the settle time: the service had not acted.
        fixture.pass(200);
        fixture.impatient().access_token().await.unwrap();
        assert_eq!(fixture.rotations(), 2);
    }
}

#[tokio::test]
async fn a_server_that_replaces_no_refresh_token_is_refreshed_without_a_pause() {
    // RFC 6749, 6
    for repeated in [true, false] {
        let fixture = Fixture::expired().await;
        let before = fixture.record().await;
        let (builder, heard) = notices(fixture.builder().max_wait(Duration::ZERO));
        let session = builder.open(fixture.store.clone());
        for n in 0..5 {
            let token = format!("at{n}");
            let mut answer = json!({"access_token": token, "token_type": "Bearer", "expires_in": 2});
            if repeated {
                answer["refresh_token"] = json!(refresh_token(&before));
            }
            fixture.fault(Action::http_response(200, answer.to_string()));
            assert_eq!(session.access_token().await.unwrap().expose(), token);
            fixture.pass(3);
        }
        let after = fixture.record().await;
        assert_eq!(after.refresh_token.unwrap().expose(), before.refresh_token.unwrap().expose());
        assert!(after.pending.is_none() && heard.lock().unwrap().is_empty(), "{heard:?}");
        assert_eq!(fixture.shown(), 5);
    }
}

#[tokio::test]
async fn no_redirect_is_followed() {
    // D-13
    let trap = Fixture::fresh().await;
    for status in [301, 302, 303, 307, 308] {
        let fixture = Fixture::expired().await;
        let location = format!("{}/oauth/token", trap.server.base_url());
        fixture.fault(Action::http_response(status, "").header("location", &location));
        assert!(fixture.impatient().access_token().await.is_err());
        assert!(trap.server.service().requests().is_empty());
    }
}

#[tokio::test]
async fn an_endless_response_is_truncated() {
    // D-13
    let fixture = Fixture::expired().await;
    fixture.fault(Action::http_response(200, vec![b' '; 1 << 20]));
    assert!(matches!(
        auth(&fixture.impatient().access_token().await.unwrap_err()),
        AuthError::OutcomeUnknown { .. }
    ));

    let fixture = Fixture::expired().await;
    fixture.fault(Action::http_response(200, tokens().to_string()).header("x-long", &"x".repeat(1 << 20)));
    assert_auth!(fixture.impatient().access_token().await, AuthError::OutcomeUnknown { .. });
    assert!(fixture.record().await.pending.is_some());
}

#[tokio::test]
async fn a_token_that_expires_in_flight_is_refreshed_and_the_request_retried() {
    // TOK-34, B-13, D-17
    let fixture = Fixture::fresh().await;
    let stands = fixture.now();
    let session = Session::builder().wall_clock(move || stands).open(fixture.store.clone());
    fixture.pass(901);
    fixture.client(&session).emails().send(&email()).idempotency_key("one-key").await.unwrap();
    let requests = fixture.server.service().requests();
    let sends: Vec<_> = requests.iter().filter(|request| request.path == "/emails").collect();
    assert_eq!(sends.iter().map(|send| send.status.as_u16()).collect::<Vec<_>>(), [401, 200]);
    assert_eq!(sends[0].body, sends[1].body);
    assert!(sends.iter().all(|send| send.headers["idempotency-key"] == "one-key"));
    assert_ne!(sends[0].headers["authorization"], sends[1].headers["authorization"]);
    assert_eq!(fixture.rotations(), 1);
}

/// Accepts an email, while its access token expires by the session's clock.
struct SlowUpload {
    wall: Arc<Mutex<SystemTime>>,
    pieces: Arc<AtomicUsize>,
}

impl Transport for SlowUpload {
    fn send(
        &self,
        outgoing: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let mut body = pin!(outgoing.body.stream());
            while body.try_next().await.unwrap().is_some() {
                *self.wall.lock().unwrap() += Duration::from_mins(5);
                self.pieces.fetch_add(1, Ordering::SeqCst);
            }
            Ok(Response::new(Bytes::from_static(br#"{"id":"e1"}"#).into()))
        })
    }
}

#[tokio::test]
async fn an_upload_that_outlives_its_access_token_is_not_interrupted() {
    // D-18
    let fixture = Fixture::fresh().await;
    let (builder, wall) = fixture.movable_clock();
    let pieces = Arc::new(AtomicUsize::new(0));
    let session = builder.transport(ReqwestTransport::new()).open(fixture.store.clone());
    let transport = SlowUpload { wall, pieces: Arc::clone(&pieces) };
    let client =
        Client::builder().base_url(fixture.server.base_url()).session(session).transport(transport).build();
    let client = client.unwrap();
    let large = email().attach(Attachment::from_bytes("large.bin", vec![0; 1_000_000]));
    client.emails().send(&large).await.unwrap();
    assert!(pieces.load(Ordering::SeqCst) > 3, "the token has expired during the upload");
    assert_eq!(fixture.shown(), 0);
    // The next call refreshes first.
    client.emails().send(&email()).await.unwrap();
    assert_eq!(fixture.rotations(), 1);
}

#[tokio::test]
async fn a_second_401_is_final_and_causes_no_other_refresh() {
    // TOK-34, B-13
    let fixture = Fixture::fresh().await;
    let refuse = Action::error(401, "missing_api_key", "no");
    fixture.server.service().faults().add(Rule::new(refuse).on_request(Method::POST, "/emails").always());
    let client = fixture.client(&fixture.session());
    for _ in 0..3 {
        let error = assert_auth!(client.emails().send(&email()).await, AuthError::TokenRejected { .. });
        assert_eq!(error.outcome(), idempost::Outcome::Rejected);
    }
    assert_eq!(fixture.rotations(), 1);
}

#[tokio::test]
async fn a_rejected_token_of_another_process_shows_that_the_login_has_ended() {
    // TOK-34, B-13
    let fixture = Fixture::fresh().await;
    let (builder, _wall) = fixture.movable_clock();
    let (ours, other) =
        (fixture.client(&builder.open(fixture.store.clone())), fixture.client(&fixture.session()));
    ours.emails().send(&email()).await.unwrap();
    fixture.pass(901);
    other.emails().send(&email()).await.unwrap();
    let grants = other.oauth_grants().list().await.unwrap();
    other.oauth_grants().revoke(&grants.data[0].id).await.unwrap();
    // The old token and the other process's are both rejected.
    assert_auth!(ours.emails().send(&email()).await, AuthError::TokenRejected { .. });
    assert_auth!(ours.emails().send(&email()).await, AuthError::Ended(_));
    fixture.builder().start(fixture.store.clone(), &fixture.grant()).await.unwrap();
    ours.emails().send(&email()).await.unwrap();
}

#[tokio::test]
async fn a_rejected_token_that_the_delegate_found_shows_that_the_login_has_ended() {
    // TOK-34, B-13
    let fixture = Fixture::fresh().await;
    let other = fixture.session();
    let helper = fixture.session();
    let renew = move |request| refresh_by(helper.clone(), request);
    let ours = fixture.client(&fixture.builder().refresh_with(renew).open(fixture.store.clone()));
    ours.emails().send(&email()).await.unwrap();
    other.refresh(RefreshRequest { generation: 1, rejected: true, scope: None }).await.unwrap();
    let other = fixture.client(&other);
    let grants = other.oauth_grants().list().await.unwrap();
    other.oauth_grants().revoke(&grants.data[0].id).await.unwrap();
    fixture.pass(1);
    // The old token and the other process's are both rejected.
    assert_auth!(ours.emails().send(&email()).await, AuthError::TokenRejected { .. });
    assert_auth!(ours.emails().send(&email()).await, AuthError::Ended(_));
}

#[tokio::test]
async fn a_missing_permission_causes_no_refresh() {
    // B-13
    for (status, name) in [(403, "invalid_permission"), (401, "restricted_api_key")] {
        let fixture = Fixture::fresh().await;
        let refuse = Action::error(status, name, "no");
        fixture.server.service().faults().add(Rule::new(refuse).on_request(Method::POST, "/emails").always());
        let error = fixture.client(&fixture.session()).emails().send(&email()).await.unwrap_err();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(status));
        assert_eq!((fixture.shown(), error.recovery()), (0, idempost::error::Recovery::Act));
    }
}

#[tokio::test]
async fn clock_jumps_cause_at_most_one_refresh() {
    // D-16
    let fixture = Fixture::fresh().await;
    let (builder, wall) = fixture.movable_clock();
    let session = builder.open(fixture.store.clone());
    let client = fixture.client(&session);
    let hour = Duration::from_hours(1);
    client.emails().send(&email()).await.unwrap();
    // The clock goes back, forward, far forward, and back: a token is refreshed when the clock says that it has expired.
    for (jump, rotations) in [(-1_i32, 0), (1, 0), (1, 1), (61 * 24, 2), (-61 * 24, 2)] {
        let by = hour * jump.unsigned_abs();
        let now = *wall.lock().unwrap();
        *wall.lock().unwrap() = if jump < 0 { now - by } else { now + by };
        client.emails().send(&email()).await.unwrap();
        assert_eq!(fixture.rotations(), rotations, "{jump}");
    }
}

#[tokio::test]
async fn tokens_are_sent_to_no_other_origin() {
    // D-19
    let (fixture, other) = (Fixture::expired().await, Fixture::fresh().await);
    let client = other.client(&fixture.session());
    let error = assert_auth!(client.emails().send(&email()).await, AuthError::OriginMismatch { .. });
    let (stored, requested) = (fixture.server.base_url(), other.server.base_url());
    assert_eq!(error.reason(), format!("authentication failed: the login is for {stored}, not {requested}"));
    assert_eq!(error.outcome(), idempost::Outcome::NotSent);
    assert!(other.server.service().requests().is_empty() && fixture.shown() == 0);
}

#[tokio::test]
async fn api_keys_and_access_tokens_are_accepted() {
    // AUTH-05
    let fixture = Fixture::fresh().await;
    let token = fixture.session().access_token().await.unwrap();
    let with = || Client::builder().base_url(fixture.server.base_url());
    let clients = [
        with().api_key(fixture.server.api_key()).build().unwrap(),
        with().access_token(token.expose()).build().unwrap(),
        fixture.client(&fixture.session()),
    ];
    for client in clients {
        client.emails().send(&email()).await.unwrap();
    }
}
