//! HTTP/2: streams and connections that end without a response.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use http::{Method, Response};
use idempost::{Client, ClientBuilder, Outcome, transport::ReqwestTransport};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{email, patient};

/// How the service handles one request.
#[derive(Clone, Copy, Debug)]
enum Act {
    Accept,
    /// Answers pings only.
    Stall,
    ResetStream(Reason),
    EndConnection(Reason),
}

const FAULTS: [Act; 6] = [
    Act::ResetStream(Reason::REFUSED_STREAM),
    Act::ResetStream(Reason::INTERNAL_ERROR),
    Act::ResetStream(Reason::CANCEL),
    Act::ResetStream(Reason::NO_ERROR),
    Act::EndConnection(Reason::NO_ERROR),
    Act::EndConnection(Reason::ENHANCE_YOUR_CALM),
];

/// The connection and the idempotency key of a request.
type Seen = (usize, Option<String>);

/// A service that decides each request by its number and that of its connection, both from 0.
#[derive(Clone)]
struct Service {
    act: fn(&[Act], usize, usize) -> Act,
    acts: Arc<[Act]>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Service {
    /// Performs the acts in order, and repeats the last one.
    async fn acting(acts: impl Into<Arc<[Act]>>) -> (Self, Client) {
        let (service, client) =
            Self::start(acts.into(), |acts, request, _| acts[request.min(acts.len() - 1)]).await;
        (service, client.build().unwrap())
    }

    /// Stalls on the first connection, and accepts all requests on the others.
    async fn stalling() -> (Self, ClientBuilder) {
        Self::start([Act::Stall, Act::Accept].into(), |acts, _, connection| acts[connection.min(1)]).await
    }

    async fn start(acts: Arc<[Act]>, act: fn(&[Act], usize, usize) -> Act) -> (Self, ClientBuilder) {
        let service = Self { act, acts, seen: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let serving = service.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serving.clone().converse(stream, number));
            }
        });
        let transport = ReqwestTransport::with_config(reqwest::ClientBuilder::http2_prior_knowledge);
        (service, patient(&base_url).transport(transport))
    }

    async fn converse(self, stream: TcpStream, number: usize) {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut open = Vec::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let act = {
                let mut seen = self.seen.lock().unwrap();
                let key = request.headers().get("idempotency-key");
                seen.push((number, key.map(|key| key.to_str().unwrap().to_owned())));
                (self.act)(&self.acts, seen.len() - 1, number)
            };
            match act {
                Act::Accept => {
                    let mut body = respond.send_response(Response::new(()), false).unwrap();
                    body.send_data(Bytes::from_static(br#"{"id":"1"}"#), true).unwrap();
                }
                Act::Stall => {}
                Act::ResetStream(reason) => respond.send_reset(reason),
                Act::EndConnection(reason) => connection.abrupt_shutdown(reason),
            }
            // Dropping a body that hasn't arrived, or a response that wasn't sent, would reset its stream.
            open.push((request.into_body(), respond));
        }
    }

    fn keys(&self) -> Vec<Option<String>> {
        self.seen.lock().unwrap().iter().map(|(_, key)| key.clone()).collect()
    }

    fn connections(&self) -> Vec<usize> {
        self.seen.lock().unwrap().iter().map(|(connection, _)| *connection).collect()
    }
}

#[tokio::test]
async fn a_send_whose_http2_stream_ends_without_a_response_is_retried_with_the_same_key() {
    // B-27
    for fault in FAULTS {
        let (service, client) = Service::acting([fault, fault, Act::Accept]).await;
        client.emails().send(&email()).await.unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
        let keys = service.keys();
        assert!(keys.len() == 3 && keys[0].is_some(), "{fault:?}: {keys:?}");
        assert!(keys.iter().all(|key| *key == keys[0]), "{fault:?}: {keys:?}");
    }
}

#[tokio::test]
async fn an_http2_stream_that_ends_without_a_response_leaves_the_outcome_of_a_post_unknown() {
    // B-27
    for fault in FAULTS {
        let (service, client) = Service::acting([fault]).await;
        let error = client.request(Method::POST, "/domains").json(&1).await.unwrap_err();
        assert_eq!(
            (error.outcome(), error.is_retryable()),
            (Outcome::Unknown, false),
            "{fault:?}: {error:?}"
        );
        assert_eq!(service.keys(), [None], "{fault:?}");
    }
}

#[tokio::test]
async fn a_stalled_http2_connection_is_not_used_again() {
    // B-04
    join_all(["attempt", "idle", "call", "dropped"].map(sends_after_a_stall)).await;
}

/// Sends four emails, the first with this limit.
async fn sends_after_a_stall(limited: &str) {
    // Long enough for a connection on a busy machine.
    const LIMIT: Duration = Duration::from_secs(3);
    let (service, client) = Service::stalling().await;
    let client = match limited {
        "attempt" => client.attempt_timeout(LIMIT),
        "idle" => client.idle_timeout(LIMIT),
        _ => client,
    };
    let client = client.build().unwrap();
    let email = email();
    let first = client.emails().send(&email);
    let first = match limited {
        "call" => first.timeout(LIMIT).await.map_err(|error| assert_eq!(error.outcome(), Outcome::Unknown)),
        "dropped" => timeout(LIMIT, first).await.map_err(drop).map(|sent| sent.unwrap()),
        _ => Ok(first.await.unwrap()),
    };
    assert_eq!(first.is_err(), ["call", "dropped"].contains(&limited), "{limited}");
    for _ in 0..3 {
        client.emails().send(&email).await.unwrap();
    }
    let before = usize::from(first.is_ok());
    assert_eq!(service.connections(), [vec![0], vec![1; before + 3]].concat(), "{limited}");
}
