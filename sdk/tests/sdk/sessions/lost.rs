//! Lost responses, late requests, and processes that end during a refresh.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::{FutureExt as _, TryStreamExt as _};
use http::{Request, Response};
use idempost::{
    auth::{EndReason, SessionEvent},
    testing::{Reply, ScriptedTransport},
    transport::{
        BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind,
        TransportRequest,
    },
};
use tokio::sync::Notify;

use super::*;

/// The network, controlled by the test.
#[derive(Clone)]
struct Network {
    server: Arc<idempost_reference_server::Service>,
    /// The client gives up, and the request stays queued.
    queues: Arc<AtomicBool>,
    queued: Arc<Mutex<Vec<Request<Bytes>>>>,
    /// A request waits here until the test releases it.
    gate: Option<Arc<(Notify, Notify)>>,
}

impl Network {
    fn of(fixture: &Fixture) -> Self {
        Self::to(fixture.server.service())
    }

    fn to(service: &Arc<Service>) -> Self {
        Self { server: Arc::clone(service), queues: Arc::default(), queued: Arc::default(), gate: None }
    }

    /// Holds each request until the test releases it.
    fn gated(self) -> (Self, Arc<(Notify, Notify)>) {
        let gate = Arc::new((Notify::new(), Notify::new()));
        (Self { gate: Some(Arc::clone(&gate)), ..self }, gate)
    }

    fn deliver(&self) {
        for request in self.queued.lock().unwrap().drain(..) {
            self.server.handle(request);
        }
    }
}

impl Transport for Network {
    fn send(
        &self,
        outgoing: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let pieces: Vec<Bytes> = outgoing.body.stream().try_collect().await.unwrap();
            let mut request = Request::new(Bytes::from(pieces.concat()));
            *request.method_mut() = outgoing.method.clone();
            *request.uri_mut() = outgoing.url.path().parse().unwrap();
            *request.headers_mut() = outgoing.headers.clone();
            if self.queues.load(Ordering::SeqCst) {
                self.queued.lock().unwrap().push(request);
                return Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout));
            }
            if let Some(gate) = &self.gate {
                gate.0.notify_one();
                gate.1.notified().await;
            }
            Ok(self.server.handle(request).map(Into::into))
        })
    }
}

#[tokio::test]
async fn a_response_lost_after_execution_ends_the_session_with_that_reason() {
    // D-03
    let fixture = Fixture::expired().await;
    fixture.fault(Action::DropAfter);
    let (builder, heard) = notices(fixture.builder().max_wait(Duration::ZERO));
    let session = builder.open(fixture.store.clone());
    let error = assert_auth!(session.access_token().await, AuthError::OutcomeUnknown { .. });
    assert!(error.is_retryable() && error.retry_after() > Some(Duration::from_secs(50)), "{error:?}");
    assert_eq!(heard.lock().unwrap().len(), 1);

    // No process retries before the settle time has passed.
    for _ in 0..3 {
        assert!(fixture.impatient().access_token().await.is_err());
    }
    assert_eq!(fixture.shown(), 1);
    let began = fixture.record().await.pending.unwrap().since;
    fixture.pass(61);
    let error = fixture.impatient().access_token().await.unwrap_err();
    let AuthError::Ended(ended) = auth(&error) else { panic!("{error:?}") };
    assert_eq!(ended.reason, EndReason::ResponseLost { since: began });
    assert!(error.to_string().contains("authentication failed"), "{error}");
    assert_eq!(fixture.shown(), 2);

    // A tombstone: no process retries from then on.
    for _ in 0..20 {
        assert_auth!(fixture.session().access_token().await, AuthError::Ended(_));
    }
    assert_eq!(fixture.shown(), 2);
}

#[tokio::test]
async fn while_the_access_token_is_valid_a_lost_response_fails_no_call_and_is_not_retried() {
    // D-03
    let fixture = Fixture::fresh().await;
    fixture.pass(800);
    fixture.fault(Action::DropAfter);
    for _ in 0..3 {
        // Each in its own process; 100 s of the lifetime remain.
        let client = fixture.client(&fixture.session());
        client.emails().send(&email()).await.unwrap();
    }
    assert_eq!(fixture.shown(), 1);
    fixture.pass(70);
    // The settle time has passed, but a retry now would revoke the access token too.
    fixture.client(&fixture.session()).emails().send(&email()).await.unwrap();
    assert_eq!(fixture.shown(), 1);
    assert!(fixture.record().await.pending.is_some());
}

#[tokio::test]
async fn a_late_request_meets_no_second_one() {
    // D-05
    // This is the case that a lock alone doesn't cover: the second process would refresh, and the late original would then be a reuse.
    let fixture = Fixture::expired().await;
    let network = Network::of(&fixture);
    network.queues.store(true, Ordering::SeqCst);
    let first = fixture.builder().transport(network.clone()).open(fixture.store.clone());
    assert!(first.access_token().await.is_err());
    network.queues.store(false, Ordering::SeqCst);
    let second = fixture.impatient();
    assert_auth!(second.access_token().await, AuthError::OutcomeUnknown { .. });
    fixture.pass(40);
    network.deliver();
    assert_eq!(fixture.rotations(), 1, "the service acted, and no other process had sent a request");
    fixture.pass(21);
    assert_auth!(second.access_token().await, AuthError::Ended(_));
}

#[tokio::test(start_paused = true)]
async fn a_refresh_waits_for_the_settle_time_and_then_succeeds() {
    // D-05
    let (service, store) = login_without_address().await;
    let network = Network::to(&service);
    let session = || stopped_in(901).transport(network.clone()).open(store.clone());
    network.queues.store(true, Ordering::SeqCst);
    assert!(session().access_token().await.is_err());
    network.queued.lock().unwrap().clear();
    network.queues.store(false, Ordering::SeqCst);
    let began = tokio::time::Instant::now();
    session().access_token().await.unwrap();
    // A minute after the lost attempt, which ended just before.
    assert!((59..75).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(store.read().await.unwrap().unwrap().generation, 2);
}

#[tokio::test]
async fn the_settle_time_doubles_with_each_attempt() {
    let fixture = Fixture::expired().await;
    fixture.server.service().clock().freeze();
    let network = Network::of(&fixture);
    network.queues.store(true, Ordering::SeqCst);
    for (pause, attempts) in [(0, 1), (60, 2), (120, 3), (240, 4), (480, 5), (600, 6), (600, 7)] {
        let session = || {
            fixture.builder().max_wait(Duration::ZERO).transport(network.clone()).open(fixture.store.clone())
        };
        if pause > 0 {
            fixture.pass(pause - 1);
            let error = session().access_token().await.unwrap_err();
            assert!(error.retry_after().is_some_and(|left| left <= Duration::from_secs(1)), "{error:?}");
            fixture.pass(1);
        }
        assert!(session().access_token().await.is_err());
        assert_eq!(fixture.record().await.pending.unwrap().attempts, attempts);
        assert_eq!(network.queued.lock().unwrap().len(), attempts as usize);
    }
}

#[tokio::test]
async fn the_settle_time_can_be_set() {
    let fixture = Fixture::expired().await;
    fixture.server.service().clock().freeze();
    let network = Network::of(&fixture);
    let session = || {
        let builder = fixture.builder().settle_time(Duration::from_secs(10)).max_wait(Duration::ZERO);
        builder.transport(network.clone()).open(fixture.store.clone())
    };
    network.queues.store(true, Ordering::SeqCst);
    assert!(session().access_token().await.is_err());
    network.queues.store(false, Ordering::SeqCst);
    fixture.pass(9);
    let error = session().access_token().await.unwrap_err();
    assert!(error.retry_after().is_some_and(|left| left <= Duration::from_secs(1)), "{error:?}");
    fixture.pass(1);
    session().access_token().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refresh_retries_a_failed_connection_but_no_untrusted_certificate() {
    for (kind, attempts) in [(TransportErrorKind::Connect, 3), (TransportErrorKind::Tls, 1)] {
        let (_, store) = login_without_address().await;
        let down = ScriptedTransport::new([Reply::failure(RequestDelivery::NotSent, kind).repeat()]);
        let session = stopped_in(901).transport(down.clone()).open(store);
        assert_auth!(session.access_token().await, AuthError::Unreachable(_));
        assert_eq!(down.finish().len(), attempts, "{kind:?}");
    }
}

#[tokio::test]
async fn a_login_error_keeps_the_unknown_outcome_of_an_earlier_attempt() {
    let fixture = Fixture::fresh().await;
    let (builder, wall) = fixture.movable_clock();
    let session = builder.open(fixture.store.clone());
    let lose = Rule::new(Action::DropAfter).on_request(Method::POST, "/emails");
    fixture.server.service().faults().add(lose);
    fixture.fault(Action::http_response(401, r#"{"error":"invalid_client"}"#));
    let client = fixture.client(&session);
    let later = move |_: &idempost::call::RetryEvent| *wall.lock().unwrap() += Duration::from_mins(16);
    let error = client.emails().send(&email()).on_retry(later).await.unwrap_err();
    assert_eq!(error.outcome(), idempost::Outcome::Unknown);
    assert!(error.idempotency_key().is_some() && error.is_retryable(), "{error:?}");
    assert_eq!(fixture.server.service().mails(&fixture.server.api_key()).len(), 1);
}

#[tokio::test]
async fn within_a_grace_period_a_lost_refresh_is_retried_immediately() {
    let fixture = Fixture::expired().await;
    fixture.fault(Action::DropBefore);
    let session = fixture.builder().grace_period(Duration::from_secs(30)).open(fixture.store.clone());
    session.access_token().await.unwrap();
    assert_eq!((fixture.shown(), fixture.rotations()), (2, 1));
}

#[tokio::test]
async fn a_dropped_caller_does_not_cancel_the_refresh() {
    // D-14
    let fixture = Fixture::expired().await;
    let (network, gate) = Network::of(&fixture).gated();
    let session = fixture.builder().transport(network).open(fixture.store.clone());
    let caller = spawn_request(&session);
    gate.0.notified().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    gate.1.notify_one();
    session.close().await;
    assert_eq!(fixture.record().await.generation, 2);
    session.access_token().await.unwrap();
    assert_eq!(fixture.rotations(), 1);
}

#[tokio::test]
async fn a_caller_dropped_at_any_await_point_loses_no_token() {
    // D-14
    const MOST: usize = 40;
    let mut refreshed = 0;
    for polls in 0..MOST {
        let fixture = Fixture::expired().await;
        let session = fixture.builder().transport(Network::of(&fixture)).open(fixture.store.clone());
        let mut call = Box::pin(session.access_token());
        for _ in 0..polls {
            if (&mut call).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(call);
        session.close().await;
        let (record, rotations) = (fixture.record().await, fixture.rotations());
        assert!(record.pending.is_none() && record.ended.is_none(), "{polls} polls");
        assert_eq!(record.generation, 1 + rotations as u64, "{polls} polls");
        refreshed += rotations;
        session.access_token().await.unwrap();
        assert_eq!((fixture.record().await.generation, fixture.rotations()), (2, 1), "{polls} polls");
    }
    assert!((1..MOST).contains(&refreshed), "{refreshed}");
}

#[tokio::test(start_paused = true)]
async fn with_a_valid_access_token_a_slow_refresh_delays_no_call() {
    let (service, store) = login_without_address().await;
    let (network, gate) = Network::to(&service).gated();
    let session = stopped_in(800).transport(network).open(store.clone());
    let began = tokio::time::Instant::now();
    session.access_token().await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 5, "the first call waits briefly");
    session.access_token().await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 5, "later calls don't wait");
    gate.1.notify_one();
    session.close().await;
    assert_eq!(store.read().await.unwrap().unwrap().generation, 2);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_expires_during_a_slow_refresh_is_not_used() {
    let service = Service::new(Settings::default());
    let store = MemoryStore::new();
    let mut record = grant(&service, ADDRESS);
    record.expires_in = Duration::from_secs(40);
    let later = record.obtained_at + Duration::from_millis(35_500);
    Session::start(store.clone(), &record).await.unwrap();
    let (network, gate) = Network::to(&service).gated();
    let session = Session::builder().wall_clock(move || later).transport(network).open(store.clone());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(8)).await;
        gate.1.notify_one();
    });
    let token = session.access_token().await.unwrap();
    let refreshed = store.read().await.unwrap().unwrap();
    assert_eq!((refreshed.generation, refreshed.access_token.unwrap().expose()), (2, token.expose()));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_wall_clock_makes_no_expired_token_valid_again() {
    // D-16
    let service = Service::new(Settings::default());
    let store = MemoryStore::new();
    let record = grant(&service, ADDRESS);
    let stopped = record.obtained_at;
    Session::start(store.clone(), &record).await.unwrap();
    let network = Network::to(&service);
    let session = Session::builder().wall_clock(move || stopped).transport(network).open(store.clone());
    session.access_token().await.unwrap();
    tokio::time::advance(Duration::from_secs(901)).await;
    session.access_token().await.unwrap();
    assert_eq!(store.read().await.unwrap().unwrap().generation, 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_time_to_wait_uses_the_current_token() {
    let (service, store) = login_without_address().await;
    let (network, _gate) = Network::to(&service).gated();
    let session = stopped_in(800).transport(network).open(store);
    let client = Client::builder()
        .base_url(ADDRESS)
        .session(session)
        .transport(Network::to(&service))
        .timeout(Duration::from_secs(1));
    client.build().unwrap().emails().send(&email()).await.unwrap();
}

#[test]
fn a_runtime_that_ends_during_a_refresh_leaves_a_mark() {
    // D-15
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (outer, inner) = (runtime(), runtime());
    let fixture = outer.block_on(Fixture::expired());
    let (network, gate) = Network::of(&fixture).gated();
    let session = fixture.builder().transport(network).open(fixture.store.clone());
    inner.spawn(async move { session.access_token().await.map(drop) });
    inner.block_on(gate.0.notified());
    drop(inner);
    outer.block_on(async {
        assert!(fixture.record().await.pending.is_some());
        assert!(fixture.impatient().access_token().await.is_err());
        fixture.pass(61);
        fixture.impatient().access_token().await.unwrap();
    });
    assert_eq!(fixture.rotations(), 1);
}

#[tokio::test]
async fn an_event_reports_the_lost_response_and_shows_no_token() {
    // AUTH-08, C-16
    let fixture = Fixture::expired().await;
    fixture.fault(Action::http_response(500, "oops"));
    let reported = Arc::new(Mutex::new(None));
    let heard = Arc::clone(&reported);
    let listener = move |notice: &SessionEvent| *heard.lock().unwrap() = Some(format!("{notice:?}"));
    let session = fixture.builder().max_wait(Duration::ZERO).on_event(listener).open(fixture.store.clone());
    let error = session.access_token().await.unwrap_err();
    let shown = format!("{error:?} {session:?} {:?}", reported.lock().unwrap());
    assert!(shown.contains("500"), "{shown}");
    let record = fixture.record().await;
    assert!(!shown.contains(refresh_token(&record)));
}

#[tokio::test]
async fn close_does_not_wait_for_a_lost_response_to_settle() {
    // D-14
    let fixture = Fixture::expired().await;
    fixture.fault(Action::DropAfter);
    fixture.impatient().access_token().await.unwrap_err();
    let session = fixture.builder().max_wait(Duration::from_secs(75)).open(fixture.store.clone());
    let mut waiting = Box::pin(session.access_token());
    assert!((&mut waiting).now_or_never().is_none());
    tokio::time::timeout(Duration::from_secs(30), session.close()).await.unwrap();
    assert!(fixture.record().await.pending.is_some() && waiting.now_or_never().is_none());
}
