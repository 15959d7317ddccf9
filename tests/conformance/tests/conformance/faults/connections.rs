use std::{
    future::pending,
    net::{Ipv6Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use idempost::{Attachment, ClientBuilder, Error, Outcome, call::RetryPolicy, transport::ReqwestTransport};
use idempost_conformance::peer::{Act, Peer, answer};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};

use super::{client, email, patient};

/// A name server: these addresses for every name, or silence.
struct NameServer(Option<Vec<SocketAddr>>);

impl Resolve for NameServer {
    fn resolve(&self, _: Name) -> Resolving {
        let found = self.0.clone();
        Box::pin(async {
            let Some(found) = found else { return pending().await };
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A client of a service whose name resolves to these addresses.
pub(super) fn resolving(addresses: Option<Vec<SocketAddr>>, connect_timeout: Duration) -> ClientBuilder {
    let names = Arc::new(NameServer(addresses));
    let transport = ReqwestTransport::with_config(move |http| {
        http.dns_resolver(Arc::clone(&names)).connect_timeout(connect_timeout)
    });
    patient("http://mail.test").allow_plain_http().transport(transport)
}

#[tokio::test]
async fn a_name_server_that_is_silent_or_finds_nothing_leaves_the_request_unsent() {
    // B-01
    for addresses in [None, Some(Vec::new())] {
        let client = resolving(addresses.clone(), Duration::from_millis(20)).build().unwrap();
        let error = client.emails().send(&email()).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable(_)), "{addresses:?}: {error:?}");
        assert_eq!((error.outcome(), error.attempts()), (Outcome::NotSent, 3), "{error:?}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn an_unreachable_ipv6_address_delays_a_connection_over_ipv4_by_less_than_a_second() {
    // B-01: a full backlog leaves connection requests without any response, like a router that drops them.
    let (mut queued, mut hole) = (Vec::new(), None);
    let mut dead = SocketAddr::from((Ipv6Addr::LOCALHOST, 9));
    let socket = TcpSocket::new_v6().unwrap();
    // On a machine without IPv6, every connection over it fails immediately.
    if socket.bind((Ipv6Addr::LOCALHOST, 0).into()).is_ok() {
        let hole = hole.insert(socket.listen(1).unwrap());
        dead = hole.local_addr().unwrap();
        while let Ok(connected) = timeout(Duration::from_millis(200), TcpStream::connect(dead)).await {
            queued.push(connected.unwrap());
            assert!(queued.len() < 64, "the backlog has no limit");
        }
    }
    let peer = Peer::acting([Act::accepted()]).await;
    let alive = peer.base_url().trim_start_matches("http://").parse().unwrap();
    let client = resolving(Some(vec![dead, alive]), Duration::from_secs(30)).build().unwrap();
    let begun = Instant::now();
    client.emails().send(&email()).await.unwrap();
    // Less than a second without load, and in any case less than the connection's timeout.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn a_pooled_connection_that_was_closed_is_replaced() {
    // B-03
    let accepted = answer(200, &[], br#"{"id":"1"}"#);
    let peer = Peer::acting([Act::AnswerAndClose(accepted)]).await;
    let client = patient(&peer.base_url()).retry(RetryPolicy::never()).build().unwrap();
    for _ in 0..5 {
        client.emails().send(&email()).await.unwrap();
        // Gives the end of the connection time to arrive.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((peer.requests().len(), peer.connections()), (5, 5));
}

#[tokio::test]
async fn a_silent_connection_ends_at_the_idle_timeout() {
    // B-04
    let peer = Peer::acting([Act::Silence]).await;
    let client = patient(&peer.base_url()).idle_timeout(Duration::from_millis(300)).build().unwrap();
    let begun = Instant::now();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!((error.outcome(), error.attempts()), (Outcome::Unknown, 3), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn an_upload_that_stalls_ends_at_the_idle_timeout() {
    // B-04: the service accepts the connection and reads nothing.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.bin");
    std::fs::write(&path, vec![0; 24_000_000]).unwrap();
    for file in [
        Attachment::from_file(&path).await.unwrap(),
        Attachment::from_bytes("large.bin", vec![0; 24_000_000]),
    ] {
        let client = patient(&base_url).idle_timeout(Duration::from_millis(200)).retry(RetryPolicy::never());
        let error = client.build().unwrap().emails().send(&email().attach(file)).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
        assert!(error.idempotency_key().is_some());
    }
}

#[tokio::test]
async fn a_slow_response_ends_at_the_attempt_and_call_timeouts() {
    // B-04
    let slow = Act::Trickle(answer(200, &[], br#"{"id":"1"}"#), Duration::from_millis(40));
    let peer = Peer::acting([slow]).await;
    let client = patient(&peer.base_url()).attempt_timeout(Duration::from_millis(500)).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!((error.outcome(), error.attempts()), (Outcome::Unknown, 3), "{error:?}");

    let begun = Instant::now();
    let error = client.emails().send(&email()).timeout(Duration::from_millis(500)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn an_invalid_tls_handshake_is_reported_and_not_retried() {
    // B-24
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = tokio::spawn(async move {
        let (mut connections, mut limit) = (0, Duration::from_mins(1));
        while let Ok(Ok((mut stream, _))) = timeout(limit, listener.accept()).await {
            connections += 1;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            limit = Duration::from_millis(300);
        }
        connections
    });
    let error = client(&format!("https://{address}")).emails().send(&email()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
    assert_eq!((error.outcome(), error.attempts()), (Outcome::NotSent, 1));
    assert!(!error.is_retryable());
    assert_eq!(accepting.await.unwrap(), 1);
}
