//! Requests whose body is slow, and time limits that pass before it is sent.

use std::time::Duration;

use futures_util::future::join_all;
use idempost::{Attachment, Error, Outcome, call::RetryPolicy};
use idempost_conformance::peer::{Act, Peer, answer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    join,
    net::{TcpListener, TcpSocket},
    time::sleep,
};

use super::{connections::resolving, email, patient};

/// A listener whose connections buffer little, and its URL.
fn narrow() -> (TcpListener, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let listener = socket.listen(8).unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    (listener, base_url)
}

#[tokio::test]
async fn an_upload_that_makes_progress_may_take_longer_than_the_idle_timeout() {
    // B-04
    let (listener, base_url) = narrow();
    // Together, the pauses take 8.25 s, however fast the rest is.
    let (parts, part) = (330, 32 * 1024);
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..parts {
            stream.read_exact(&mut vec![0; part]).await.unwrap();
            sleep(Duration::from_millis(25)).await;
        }
        stream.write_all(&answer(200, &[], br#"{"id":"1"}"#)).await.unwrap();
    });
    let client = patient(&base_url).idle_timeout(Duration::from_secs(8)).retry(RetryPolicy::never());
    let text = "x".repeat(part * parts);
    let call = client.build().unwrap().request(http::Method::POST, "/emails").idempotency_key("k");
    call.json(&text).await.unwrap_or_else(|error| panic!("{error:?}"));
    serving.await.unwrap();
}

#[tokio::test]
async fn a_response_before_the_end_of_the_body_is_read() {
    // B-02: the connection is reset, since the rest of the body is unread.
    for size in [300_000, 3_000_000, 20_000_000] {
        let (listener, base_url) = narrow();
        let serving = tokio::spawn(async move {
            let body =
                br#"{"statusCode":413,"name":"validation_error","message":"The request is too large."}"#;
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.read_exact(&mut vec![0; 20_000]).await.unwrap();
                stream.write_all(&answer(413, &[("connection", "close")], body)).await.unwrap();
            }
        });
        let client = patient(&base_url).retry(RetryPolicy::never()).build().unwrap();
        let email = email().attach(Attachment::from_bytes("large.bin", vec![0; size]));
        let mut last = None;
        // The reset can arrive between a read and the next write, and then hides the response.
        for _ in 0..5 {
            let error = client.emails().send(&email).await.unwrap_err();
            if error.status().is_some() {
                assert_eq!((error.status().unwrap().as_u16(), error.outcome()), (413, Outcome::Rejected));
                last = None;
                break;
            }
            last = Some(error);
        }
        assert!(last.is_none(), "{size}: {last:?}");
        serving.abort();
    }
}

#[tokio::test]
async fn a_time_limit_that_passes_without_a_connection_leaves_the_request_unsent() {
    // B-01: a name server that doesn't answer, and a peer that doesn't answer the TLS handshake.
    let silent_names = resolving(None, Duration::from_secs(30));
    let mute = Peer::acting([Act::Silence]).await;
    let mute_tls = patient(&mute.base_url().replace("http:", "https:"));
    let unsent = join_all([silent_names, mute_tls].map(async |client| {
        let client = client.build().unwrap();
        let error = client.emails().send(&email()).timeout(Duration::from_millis(300)).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
        assert_eq!(error.outcome(), Outcome::NotSent, "{error:?}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(error.is_retryable() && cause.starts_with("couldn't connect ("), "{error}: {cause}");
        // A request without a body.
        let error = client.emails().cancel("e1").timeout(Duration::from_millis(300)).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotSent, "{error:?}");
    }));
    // After a byte of the body was sent, the outcome is unknown.
    let client = patient(&mute.base_url()).build().unwrap();
    let email = email();
    let send = client.emails().send(&email).timeout(Duration::from_secs(2)).into_future();
    let cancel = client.emails().cancel("e1").timeout(Duration::from_secs(2)).into_future();
    let (_, first, second) = join!(unsent, send, cancel);
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    }
}

#[tokio::test]
async fn the_longest_idle_timeout_is_none() {
    let peer = Peer::acting([Act::accepted()]).await;
    let client = patient(&peer.base_url()).idle_timeout(Duration::MAX).build().unwrap();
    client.emails().send(&email()).await.unwrap();
}
