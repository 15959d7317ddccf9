//! HTTP/2: streams and connections that end without a response.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use http::{Method, Response};
use idempost::{Client, Outcome, transport::ReqwestTransport};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use super::{email, patient};

/// How the service handles one request.
#[derive(Clone, Copy, Debug)]
enum Act {
    Accept,
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

/// A service that performs the acts in order, and repeats the last one.
#[derive(Clone)]
struct Service {
    acts: Arc<[Act]>,
    /// The idempotency keys of the requests.
    keys: Arc<Mutex<Vec<Option<String>>>>,
}

impl Service {
    async fn acting(acts: impl Into<Arc<[Act]>>) -> (Self, Client) {
        let service = Self { acts: acts.into(), keys: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let serving = service.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().converse(stream));
            }
        });
        let transport = ReqwestTransport::with_config(reqwest::ClientBuilder::http2_prior_knowledge);
        (service, patient(&base_url).transport(transport).build().unwrap())
    }

    async fn converse(self, stream: TcpStream) {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut open = Vec::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let act = {
                let mut keys = self.keys.lock().unwrap();
                let key = request.headers().get("idempotency-key");
                keys.push(key.map(|key| key.to_str().unwrap().to_owned()));
                self.acts[(keys.len() - 1).min(self.acts.len() - 1)]
            };
            match act {
                Act::Accept => {
                    let mut body = respond.send_response(Response::new(()), false).unwrap();
                    body.send_data(Bytes::from_static(br#"{"id":"1"}"#), true).unwrap();
                }
                Act::ResetStream(reason) => respond.send_reset(reason),
                Act::EndConnection(reason) => connection.abrupt_shutdown(reason),
            }
            // Dropping a body that hasn't arrived would reset its stream.
            open.push(request.into_body());
        }
    }

    fn keys(&self) -> Vec<Option<String>> {
        self.keys.lock().unwrap().clone()
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

/// A service that answers pings but no request on its first connection, and every request on the others. For each request, it sends its
/// connection's number to the test.
async fn stalling() -> (String, UnboundedReceiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let (requests, seen) = unbounded_channel();
    tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            let requests = requests.clone();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                let mut open = Vec::new();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let _ = requests.send(number);
                    if number > 1 {
                        let mut body = respond.send_response(Response::new(()), false).unwrap();
                        body.send_data(Bytes::from_static(br#"{"id":"1"}"#), true).unwrap();
                    }
                    open.push((request, respond));
                }
            });
        }
    });
    (base_url, seen)
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
    let (base_url, mut seen) = stalling().await;
    let transport = ReqwestTransport::with_config(reqwest::ClientBuilder::http2_prior_knowledge);
    let client = patient(&base_url).transport(transport);
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
    let (mut used, before) = (Vec::new(), usize::from(first.is_ok()));
    while let Ok(connection) = seen.try_recv() {
        used.push(connection);
    }
    assert_eq!(used, [vec![1], vec![2; before + 3]].concat(), "{limited}");
}
