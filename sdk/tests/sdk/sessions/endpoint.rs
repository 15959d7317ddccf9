//! Responses of a server that is not a token endpoint, or that is overloaded.

use std::sync::atomic::{AtomicUsize, Ordering};

use idempost::transport::{
    BoxFuture, ReqwestTransport, ResponseBody, Transport, TransportError, TransportRequest,
};

use super::{
    super::script::{Reply, Script},
    *,
};

/// Counts the token requests that it sends.
#[derive(Default)]
struct Counted {
    http: ReqwestTransport,
    token_requests: AtomicUsize,
}

impl Counted {
    fn sent(&self) -> usize {
        self.token_requests.load(Ordering::Relaxed)
    }
}

impl Transport for Counted {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        self.token_requests.fetch_add(usize::from(request.url.path() == "/oauth/token"), Ordering::Relaxed);
        self.http.send(request)
    }
}

#[tokio::test]
async fn a_session_uses_the_transport_of_its_first_client_or_its_own() {
    let transports = || [(); 3].map(|()| Arc::new(Counted::default()));
    let used = |transports: &[Arc<Counted>; 3]| transports.each_ref().map(|transport| transport.sent());
    for own in [false, true] {
        let fixture = Fixture::expired().await;
        let given = transports();
        let session = if own {
            fixture.builder().transport(Arc::clone(&given[0])).open(fixture.store.clone())
        } else {
            fixture.session()
        };
        let [first, second] = [1, 2].map(|n| {
            let builder = Client::builder().base_url(fixture.server.base_url()).session(session.clone());
            builder.transport(Arc::clone(&given[n])).build().unwrap()
        });
        second.emails().send(&email()).await.unwrap();
        first.emails().send(&email()).await.unwrap();
        assert_eq!(used(&given), if own { [1, 0, 0] } else { [0, 1, 0] });
        // The revocation of the grant is handled in the same way.
        session.logout().await.unwrap();
        assert_eq!(fixture.rotations(), 1);
    }
}

#[tokio::test]
async fn a_client_error_without_an_oauth_error_leaves_the_refresh_token_unchanged() {
    // D-09
    let page = "<html><h1>Not Found</h1></html>";
    for (status, body) in [
        (404, page),
        (404, ""),
        (405, ""),
        (400, page),
        (403, page),
        (410, ""),
        (404, r#"{"name":"not_found","message":"no such route"}"#),
        (404, r#"{"error":"Not Found"}"#),
        (410, r#"{"error":"server_error"}"#),
        (421, "[]"),
    ] {
        let fixture = Fixture::expired().await;
        let before = fixture.record().await;
        fixture.fault(Action::http_response(status, body));
        let error = fixture.impatient().access_token().await.unwrap_err();
        let text = auth(&error).to_string();
        assert!(
            text.contains(&status.to_string()) && text.contains("/oauth/token"),
            "{status} {body}: {text}"
        );
        assert!(!error.is_retryable(), "{status} {body}: {error:?}");
        let after = fixture.record().await;
        assert_eq!(after.to_json(), before.to_json(), "{status} {body}");
        // Nothing was spent, so the next attempt needs no delay.
        fixture.impatient().access_token().await.unwrap();
    }
}

#[tokio::test]
async fn an_overloaded_token_endpoint_is_not_mistaken_for_a_wrong_address() {
    // D-06
    for retry_after in [None, Some("3600")] {
        let fixture = Fixture::expired().await;
        let busy = Action::http_response(429, "<html>busy</html>");
        let busy = retry_after.into_iter().fold(busy, |busy, pause| busy.header("retry-after", pause));
        for _ in 0..3 {
            fixture.fault(busy.clone());
        }
        let error = fixture.impatient().access_token().await.unwrap_err();
        assert!(matches!(auth(&error), AuthError::Throttled { .. }), "{retry_after:?}: {error:?}");
        assert!(error.is_retryable() && fixture.record().await.pending.is_none(), "{retry_after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_call_limits_its_wait_for_a_lost_refresh() {
    let (_, store) = login_without_address().await;
    let lost = Script::of([Reply::connection_lost()]).odd();
    let session = || stopped_in(901).transport(lost.clone()).open(store.clone());
    assert!(session().access_token().await.is_err());
    let client = Client::builder().base_url(ADDRESS).session(session()).timeout(Duration::from_secs(3));
    let client = client.build().unwrap();
    let began = tokio::time::Instant::now();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!(began.elapsed().as_secs(), 3, "{error:?}");
    assert!(error.is_retryable(), "{error:?}");
    assert_eq!(error.outcome(), idempost::Outcome::NotSent);
}

#[tokio::test]
async fn a_rejected_token_carries_the_responses_status_name_message_and_request_id() {
    let fixture = Fixture::fresh().await;
    let reject =
        Action::error(401, "invalid_access_token", "the token was revoked").header("x-request-id", "req_17");
    fixture.server.service().faults().add(Rule::new(reject).on_request(Method::POST, "/emails").always());
    let client = fixture.client(&fixture.session());
    // The second call gets a token that was rejected when it had just been issued.
    for _ in 0..2 {
        let error = client.emails().send(&email()).await.unwrap_err();
        let response = auth(&error).response().unwrap();
        assert_eq!((response.status.as_u16(), response.name.as_str()), (401, "invalid_access_token"));
        assert_eq!(response.message, "the token was revoked");
        assert_eq!(error.status().map(|status| status.as_u16()), Some(401));
        assert_eq!(error.request_id(), Some("req_17"));
        assert!(auth(&error).to_string().contains("the token was revoked"), "{error:?}");
    }
    assert_eq!(fixture.rotations(), 1);
}
