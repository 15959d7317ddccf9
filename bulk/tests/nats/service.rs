//! A service that sends once per idempotency key, behind a client's transport.

use std::{
    collections::HashMap,
    future::pending,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Response;
use idempost::{
    Client,
    call::RateLimit,
    transport::{BoxFuture, ResponseBody, Transport, TransportError, TransportRequest},
    types::RecipientGuard,
};
use serde_json::{Value, json};

/// The service's reaction to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is executed after this time.
    Accept(Duration),
    /// It is executed, and no response arrives.
    Hang,
    /// It is executed, and the response is a 503.
    FailAfter,
    /// It isn't executed, and the response is a 429.
    Throttle,
    /// It isn't executed, and the response is a 429 of a quota.
    Quota,
    /// The response is a 401.
    Unauthorized,
    /// The response is a 403.
    Forbidden,
    /// The response is a 422.
    Invalid,
    /// The process fails while it sends.
    Panic,
}

/// Selects the reaction to the nth request, by its first recipient.
type Script = Box<dyn FnMut(u64, &str) -> Action + Send>;

/// A simulated service.
#[derive(Clone)]
pub(crate) struct Service(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    script: Mutex<Script>,
}

#[derive(Default)]
struct State {
    requests: u64,
    /// The body and the response of each key.
    keys: HashMap<String, (Bytes, Value)>,
    /// The key of each recipient, and the number of emails.
    deliveries: HashMap<String, (String, u32)>,
    /// Requests with the key of an earlier one.
    repeated: u64,
    /// Recipients that were sent to under more than one key.
    other_keys: u64,
    arrivals: Vec<Instant>,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self::with(|_, _| Action::Accept(Duration::from_millis(2)))
    }

    pub(crate) fn with(script: impl FnMut(u64, &str) -> Action + Send + 'static) -> Self {
        Self(Arc::new(Inner { state: Mutex::default(), script: Mutex::new(Box::new(script)) }))
    }

    pub(crate) fn set_script(&self, script: impl FnMut(u64, &str) -> Action + Send + 'static) {
        *self.0.script.lock().expect("no panic") = Box::new(script);
    }

    /// A new client: each worker has its own.
    pub(crate) fn client(&self) -> Client {
        self.client_with("re_test", RecipientGuard::new())
    }

    /// A client with a recipient guard.
    pub(crate) fn guarded_client(&self, guard: RecipientGuard) -> Client {
        self.client_with("re_test", guard)
    }

    /// A client of another account.
    pub(crate) fn other_client(&self) -> Client {
        self.client_with("re_other", RecipientGuard::new())
    }

    fn client_with(&self, key: &str, guard: RecipientGuard) -> Client {
        Client::builder()
            .base_url("http://127.0.0.1:9")
            .api_key(key)
            .rate_limit(RateLimit::Off)
            .recipient_guard(guard)
            .transport(self.clone())
            .build()
            .expect("valid settings")
    }

    pub(crate) fn requests(&self) -> u64 {
        self.0.state.lock().expect("no panic").requests
    }

    pub(crate) fn repeated(&self) -> u64 {
        self.0.state.lock().expect("no panic").repeated
    }

    pub(crate) fn arrivals(&self) -> Vec<Instant> {
        self.0.state.lock().expect("no panic").arrivals.clone()
    }

    pub(crate) fn delivered(&self) -> usize {
        self.0.state.lock().expect("no panic").deliveries.len()
    }

    /// Asserts that this many recipients got one email each, under one key each.
    pub(crate) fn assert_delivered_once(&self, recipients: usize) {
        let state = self.0.state.lock().expect("no panic");
        let twice = state.deliveries.iter().filter(|(_, (_, emails))| *emails > 1).count();
        assert_eq!((state.deliveries.len(), twice, state.other_keys), (recipients, 0, 0));
    }

    fn execute(&self, key: &str, body: &Bytes) -> Value {
        let mut state = self.0.state.lock().expect("no panic");
        if let Some((first, response)) = state.keys.get(key) {
            assert_eq!(first, body, "the key {key} has another body");
            let response = response.clone();
            state.repeated += 1;
            return response;
        }
        let parsed: Value = serde_json::from_slice(body).expect("JSON");
        let (emails, batch) = match parsed {
            Value::Array(emails) => (emails, true),
            email => (vec![email], false),
        };
        let mut ids = Vec::new();
        for email in &emails {
            let to = recipient(email);
            let (first, count) = state.deliveries.entry(to.clone()).or_insert_with(|| (key.to_owned(), 0));
            *count += 1;
            let other = u64::from(first != key);
            state.other_keys += other;
            ids.push(json!({ "id": format!("id-of-{to}") }));
        }
        let response = if batch { json!({ "data": ids }) } else { ids.remove(0) };
        state.keys.insert(key.to_owned(), (body.clone(), response.clone()));
        response
    }
}

fn recipient(email: &Value) -> String {
    let to = &email["to"];
    to.get(0).unwrap_or(to).as_str().expect("a recipient").to_owned()
}

impl Transport for Service {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let parts: Vec<Bytes> = request.body.stream().try_collect().await.expect("a body");
            let body = Bytes::from(parts.concat());
            let key = request.headers["idempotency-key"].to_str().expect("text").to_owned();
            let parsed: Value = serde_json::from_slice(&body).expect("JSON");
            let first = recipient(parsed.get(0).unwrap_or(&parsed));
            let n = {
                let mut state = self.0.state.lock().expect("no panic");
                state.requests += 1;
                state.arrivals.push(Instant::now());
                state.requests
            };
            let action = (self.0.script.lock().expect("no panic"))(n, &first);
            let error = |status: u16, name: &str| {
                respond(status, &json!({ "statusCode": status, "name": name, "message": name }))
            };
            Ok(match action {
                Action::Accept(delay) => {
                    tokio::time::sleep(delay).await;
                    respond(200, &self.execute(&key, &body))
                }
                Action::Hang => {
                    self.execute(&key, &body);
                    pending().await
                }
                Action::FailAfter => {
                    self.execute(&key, &body);
                    error(503, "service_unavailable")
                }
                Action::Throttle => error(429, "rate_limit_exceeded"),
                Action::Quota => error(429, "daily_quota_exceeded"),
                Action::Invalid => error(422, "validation_error"),
                Action::Forbidden => error(403, "invalid_permission"),
                Action::Unauthorized => error(401, "invalid_api_key"),
                Action::Panic => panic!("a simulated failure of the process"),
            })
        })
    }
}

fn respond(status: u16, body: &Value) -> Response<ResponseBody> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(ResponseBody::from(Bytes::from(body.to_string())))
        .expect("a response")
}
