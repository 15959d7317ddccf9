use std::io::Write as _;

use idempost::{Error, Outcome, call::RetryPolicy};
use idempost_conformance::peer::{Act, Peer, answer};

use super::{email, patient, send};

async fn send_with_limit(peer: &Peer, bytes: usize) -> Result<idempost::Accepted, idempost::Error> {
    patient(&peer.base_url()).response_limit(bytes).build().unwrap().emails().send(&email()).await
}

fn padded(length: usize) -> String {
    format!(r#"{{"id":"1","padding":"{}"}}"#, "x".repeat(length - 23))
}

#[tokio::test]
async fn a_response_up_to_the_size_limit_is_accepted() {
    // B-17
    let body = padded(1_000);
    assert_eq!(body.len(), 1_000);
    let peer = Peer::acting([Act::json(200, &body)]).await;
    send_with_limit(&peer, 1_000).await.unwrap();
    let error = send_with_limit(&peer, 999).await.unwrap_err();
    assert_eq!((error.outcome(), error.is_retryable()), (Outcome::Accepted, false), "{error:?}");
    assert_eq!(peer.requests().len(), 2, "the retry gets the same response");
}

#[tokio::test]
async fn a_decompressed_body_is_limited_in_size() {
    // B-17
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(padded(50_000_000).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 100_000);
    let peer = Peer::acting([Act::answer(
        200,
        &[("content-encoding", "gzip"), ("content-type", "application/json")],
        packed,
    )])
    .await;
    assert_eq!(send_with_limit(&peer, 1_000_000).await.unwrap_err().outcome(), Outcome::Accepted);
}

#[tokio::test]
async fn a_wrong_content_length_is_a_transport_failure() {
    // B-17
    let body = r#"{"id":"1"}"#;
    for (head, holds) in [
        ("content-length: 100", "too high"),
        ("content-length: 5", "too low"),
        ("content-length: -1", "negative"),
        ("content-length: 10\r\ncontent-length: 11", "two"),
        ("content-length: 99999999999999999999999", "no number"),
        ("transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF", "a chunk beyond all numbers"),
        ("transfer-encoding: chunked\r\n\r\nzz", "a chunk of no number"),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes();
        let peer = Peer::acting([Act::AnswerAndClose(bytes)]).await;
        let error = send(&peer).await.expect_err(holds);
        assert!(matches!(error.outcome(), Outcome::Unknown | Outcome::Accepted), "{holds}: {error:?}");
        assert!(error.idempotency_key().is_some(), "{holds}");
    }
}

#[tokio::test]
async fn oversized_response_headers_are_a_transport_failure() {
    // B-18
    let long = "x".repeat(1_000_000);
    let many = "x-many: y\r\n".repeat(10_000);
    for head in [format!("x-long: {long}\r\n"), many, "x-nul: a\0b\r\n".into(), "x-cr: a\rb\r\n".into()] {
        let bytes =
            format!("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n{head}\r\n{{\"id\":\"1\"}}").into_bytes();
        let peer = Peer::acting([Act::AnswerAndClose(bytes)]).await;
        let client = patient(&peer.base_url()).retry(RetryPolicy::never()).build().unwrap();
        let error = client.emails().send(&email()).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    }
}

#[tokio::test]
async fn a_response_that_is_not_http_is_a_transport_failure() {
    // B-18
    for bytes in
        [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], b"\0\0\0\0", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 abc OK\r\n\r\n"]
    {
        let peer = Peer::acting([Act::AnswerAndClose(bytes.to_vec())]).await;
        assert_eq!(send(&peer).await.unwrap_err().outcome(), Outcome::Unknown);
    }
    let peer = Peer::acting([Act::Answer(answer(99, &[], b""))]).await;
    assert!(send(&peer).await.is_err(), "a status below 100");
}

#[tokio::test]
async fn an_error_body_of_10_mb_is_truncated() {
    // B-07
    let peer = Peer::acting([Act::answer(400, &[], vec![b'x'; 10_000_000])]).await;
    let Error::Api(error) = send(&peer).await.unwrap_err() else { panic!("no response") };
    assert_eq!(error.status, 400);
    assert!(error.body.len() <= 1024 * 1024, "{}", error.body.len());
}
