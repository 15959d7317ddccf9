//! A transport with scripted responses, which records the requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderMap, Response};
use idempost::{
    Client, ClientBuilder,
    transport::{
        BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind,
        TransportRequest,
    },
};
use idempost_conformance::contract;
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// How the service handles one request.
pub(crate) enum Step {
    Answer(u16, Value),
    Headers(u16, Value, &'static [(&'static str, &'static str)]),
    Text(u16, &'static str),
    Refused,
    /// The body couldn't be read to its end, before anything was sent.
    Unread,
    Lost,
    Untrusted,
    Silent,
    /// Responds after a delay.
    Slow(Duration, u16, Value),
}

/// A request as sent.
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) at: Instant,
    #[cfg_attr(not(feature = "oauth"), expect(dead_code, reason = "token requests alone set it"))]
    pub(crate) new_connection: bool,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

#[derive(Clone, Default)]
pub(crate) struct Script {
    steps: Arc<Mutex<VecDeque<Step>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    odd: bool,
}

/// Fails the test if a request violates the contract.
fn judge(request: &TransportRequest, body: Bytes) {
    let judged = contract::Request {
        method: request.method.clone(),
        path: request.url.path().trim_start_matches("/prefix").to_owned(),
        query: request.url.query().unwrap_or_default().to_owned(),
        headers: request.headers.clone(),
        body,
    };
    let breaches = contract::Contract::get().breaches_of_request(&judged);
    assert!(breaches.is_empty(), "{} {}: {}", judged.method, judged.path, breaches.join("; "));
}

impl Script {
    pub(crate) fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let script = Self::default();
        script.steps.lock().unwrap().extend(steps);
        script
    }

    /// For tests that violate the contract on purpose.
    pub(crate) fn odd(mut self) -> Self {
        self.odd = true;
        self
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder().base_url("http://127.0.0.1:9/prefix/").api_key("re_test").transport(self.clone())
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Transport for Script {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let pieces: Vec<Bytes> = request.body.stream().try_collect().await.unwrap();
            if !self.odd {
                judge(&request, pieces.concat().into());
            }
            self.seen.lock().unwrap().push(Seen {
                method: request.method.to_string(),
                url: request.url.to_string(),
                headers: request.headers.clone(),
                body: pieces.concat().into(),
                at: Instant::now(),
                new_connection: request.new_connection,
            });
            let step = self.steps.lock().unwrap().pop_front();
            let failed = |reached, kind| Err(TransportError::new(reached, kind));
            match step.unwrap_or_else(|| panic!("an unexpected {} {}", request.method, request.url)) {
                Step::Answer(status, json) => Ok(answer(status, json.to_string(), &[])),
                Step::Headers(status, json, headers) => Ok(answer(status, json.to_string(), headers)),
                Step::Text(status, text) => Ok(answer(status, text, &[])),
                Step::Refused => failed(RequestDelivery::NotSent, TransportErrorKind::Connect),
                Step::Unread => failed(RequestDelivery::NotSent, TransportErrorKind::Body),
                Step::Lost => failed(RequestDelivery::Unknown, TransportErrorKind::Closed),
                Step::Untrusted => failed(RequestDelivery::NotSent, TransportErrorKind::Tls),
                Step::Silent => std::future::pending().await,
                Step::Slow(pause, status, json) => {
                    sleep(pause).await;
                    Ok(answer(status, json.to_string(), &[]))
                }
            }
        })
    }
}

fn answer(
    status: u16,
    body: impl Into<Bytes>,
    headers: &[(&'static str, &'static str)],
) -> Response<ResponseBody> {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    answer.body(ResponseBody::from(body.into())).unwrap()
}
