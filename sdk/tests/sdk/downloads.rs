//! Downloads from signed URLs, which may be on another host.

use std::{collections::VecDeque, time::Duration};

use idempost::{Client, Error, Outcome, testing::ScriptedTransport, transport::TransportErrorKind};
use tokio::time::timeout;

use super::script::{Reply, Script, email};

#[tokio::test(start_paused = true)]
async fn no_credential_or_default_header_is_sent_to_a_download_url() {
    // AUTH-08, AUTH-09
    for url in [
        "https://files.other.test/x?signature=1",
        "http://127.0.0.1:9/prefix/_/received/word",
        "http://files.other.test/x",
    ] {
        let script = Script::of([Reply::bytes(503, "soon"), Reply::bytes(200, "bytes")]).odd();
        let bytes = script.client().received().download(url).await.unwrap();
        assert_eq!(bytes, "bytes");
        for seen in script.seen() {
            assert_eq!((seen.method.as_str(), seen.url.as_str()), ("GET", url));
            let names: Vec<_> = seen.headers.keys().map(http::HeaderName::as_str).collect();
            assert_eq!(names, ["user-agent"], "{url}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_url_is_rejected_and_not_repeated() {
    let script = Script::of([]);
    let over_https = script.builder().base_url("https://api.test").build().unwrap();
    let over_http = script.client();
    for (client, url) in [
        (&over_https, "http://files.test/sentinel"),
        (&over_https, "file:///sentinel"),
        (&over_http, "ftp://files.test/sentinel"),
        (&over_http, "/sentinel"),
        (&over_http, "sentinel"),
        (&over_http, ""),
    ] {
        let error = client.received().download(url).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert!(!format!("{error} {error:?}").contains("sentinel"), "{error}");
    }
    assert!(script.seen().is_empty());
}

/// A file that is sent from the start of each range request up to the next of the `breaks`, after which the connection breaks.
fn files(content: Vec<u8>, breaks: &[usize], ranges: bool) -> ScriptedTransport {
    let mut breaks: VecDeque<usize> = breaks.iter().copied().collect();
    ScriptedTransport::from_fn(move |request| {
        let start = request.header("range").trim_start_matches("bytes=").trim_end_matches('-');
        let start = if ranges { start.parse().unwrap_or(0) } else { 0 };
        let rest = content[start..].to_vec();
        let end = breaks.pop_front().unwrap_or(rest.len()).min(rest.len());
        let mut reply = Reply::bytes(if start > 0 { 206 } else { 200 }, rest[..end].to_vec());
        if ranges {
            reply = reply.header("accept-ranges", "bytes").header("etag", "\"v1\"");
        }
        if start > 0 {
            let range = format!("bytes {start}-{}/{}", content.len() - 1, content.len());
            reply = reply.header("content-range", &range);
        }
        if end < rest.len() { reply.cut_off(TransportErrorKind::Closed) } else { reply }
    })
}

/// Downloads a file into memory.
async fn download(client: &Client) -> (idempost::Result<u64>, Vec<u8>) {
    let mut written = Vec::new();
    let result = client.received().download("https://files.test/file").write_to(&mut written).await;
    (result, written)
}

async fn downloaded(
    breaks: &[usize],
    ranges: bool,
) -> (idempost::Result<u64>, Vec<u8>, Vec<String>, Vec<u8>) {
    let content: Vec<u8> = (0..=255).cycle().take(1_000).collect();
    let script = files(content.clone(), breaks, ranges);
    let (result, written) = download(&script.client()).await;
    let asked = script.finish().iter().map(|request| request.header("range").to_owned()).collect();
    (result, written, asked, content)
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_download_resumes_where_it_stopped() {
    let (result, written, asked, content) = downloaded(&[100, 50], true).await;
    assert_eq!((result.unwrap(), written), (1_000, content));
    assert_eq!(asked, ["", "bytes=100-", "bytes=150-"]);
}

#[tokio::test(start_paused = true)]
async fn a_range_that_isn_t_the_rest_of_the_same_content_is_not_appended() {
    let first = |name: &str, value: &str| {
        let reply =
            Reply::bytes(200, "12345").header("accept-ranges", "bytes").header("content-length", "10");
        reply.header(name, value).cut_off(TransportErrorKind::Closed)
    };
    let rest = |range: &str| Reply::bytes(206, "67890").header("content-range", range);
    let modified = "Thu, 01 Jan 2026 00:00:00 GMT";
    for (name, value, second, complete) in [
        ("etag", "\"1\"", rest("bytes 5-9/10").header("etag", "\"1\""), true),
        ("etag", "\"1\"", rest("bytes 5-9/*"), true),
        ("last-modified", modified, rest("bytes 5-9/10").header("etag", "\"1\""), true),
        ("etag", "\"1\"", rest("bytes 5-9/10").header("etag", "\"2\""), false),
        ("last-modified", modified, rest("bytes 5-9/10").header("last-modified", "x"), false),
        ("etag", "\"1\"", rest("bytes 5-6/10"), false),
        ("etag", "\"1\"", rest("bytes 5-6/7"), false),
        ("etag", "\"1\"", rest("bytes 5-6/*"), false),
        ("etag", "\"1\"", rest("bytes 4-9/10"), false),
        ("etag", "\"1\"", rest("bytes 5"), false),
    ] {
        let script = Script::of([first(name, value), second]).odd();
        let (result, written) = download(&script.client()).await;
        let expected: &[u8] = if complete { b"1234567890" } else { b"12345" };
        assert_eq!((result.is_ok(), written.as_slice()), (complete, expected), "{result:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_range_whose_body_has_another_length_does_not_complete_a_download() {
    let first = Reply::bytes(200, "12345").header("accept-ranges", "bytes").header("etag", "\"1\"");
    let first = first.cut_off(TransportErrorKind::Closed);
    let rest = |body: &'static str, range: &str| Reply::bytes(206, body).header("content-range", range);
    let short = rest("678", "bytes 5-9/10");
    for (replies, result, expected) in [
        (vec![short.clone(), rest("90", "bytes 8-9/10")], Some(10), "1234567890"),
        (vec![short.clone(), short], None, "12345678"),
        (vec![rest("67890XX", "bytes 5-9/10"), Reply::bytes(416, "")], None, "1234567890XX"),
    ] {
        let script = Script::of([vec![first.clone()], replies].concat()).odd();
        let (found, written) = download(&script.client()).await;
        assert_eq!(
            (found.as_ref().ok().copied(), written.as_slice()),
            (result, expected.as_bytes()),
            "{found:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_range_of_the_caller_is_not_resumed_from_another_offset() {
    let first = Reply::bytes(206, "678").header("content-range", "bytes 5-9/10");
    let first = first.header("accept-ranges", "bytes").header("etag", "\"1\"");
    let rest = Reply::bytes(206, "4567890").header("content-range", "bytes 3-9/10");
    let script = Script::of([first.cut_off(TransportErrorKind::Closed), rest]).odd();
    let mut written = Vec::new();
    let call = script.client().received().download("https://files.test/file").header("range", "bytes=5-");
    let error = call.write_to(&mut written).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
    assert_eq!((written.as_slice(), script.seen().len()), (&b"678"[..], 1));
}

#[tokio::test(start_paused = true)]
async fn only_the_response_to_a_read_is_written_as_it_arrives() {
    let script = Script::of([]);
    let mut written = Vec::new();
    let send = script.client().emails().send(&email()).bytes();
    let error = send.write_to(&mut written).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid(_)) && error.reason().contains("`write_to`"), "{error:?}");
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_part_or_an_encoded_form_that_wasn_t_requested_is_not_the_file() {
    for (reply, reason) in [
        (Reply::bytes(206, "67890").header("content-range", "bytes 5-9/10"), "a part of the content"),
        (Reply::bytes(200, "\u{1f}").header("content-encoding", "gzip"), "the encoding \"gzip\""),
    ] {
        let script = Script::of([reply.repeat()]).odd();
        let client = script.client();
        let (result, written) = download(&client).await;
        let error = result.unwrap_err();
        assert!(error.reason().contains(reason) && matches!(error, Error::Decode(_)), "{error:?}");
        assert_eq!(
            (written.as_slice(), error.outcome(), script.seen().len()),
            (&b""[..], Outcome::Rejected, 1)
        );
        let whole = client.received().download("https://files.test/file").await;
        // Without `write_to`, the transport may have decoded the content.
        assert_eq!(whole.is_ok(), reason.contains("encoding"), "{whole:?}");
        client.received().download("https://files.test/file").header("range", "bytes=5-").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_whose_rest_is_gone_fails_because_it_was_interrupted() {
    let first = Reply::bytes(200, "12345").header("accept-ranges", "bytes").header("etag", "\"1\"");
    let script = Script::of([first.cut_off(TransportErrorKind::Closed), Reply::bytes(416, "")]).odd();
    let (result, written) = download(&script.client()).await;
    let error = result.unwrap_err();
    assert!(error.reason().starts_with("the response from the service is incomplete: "), "{error:?}");
    assert_eq!((written.as_slice(), error.attempts()), (&b"12345"[..], 2));
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_file_storage_states_its_reason() {
    let body = r#"<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"#;
    let script = Script::of([Reply::bytes(403, body).header("content-type", "application/xml")]).odd();
    let error = script.client().received().download("https://files.test/file").await.unwrap_err();
    assert_eq!(error.to_string(), "the service returned 403: Request has expired");
}

#[tokio::test(start_paused = true)]
async fn a_download_fails_after_its_attempts_and_keeps_written_bytes() {
    let (result, written, asked, content) = downloaded(&[100, 50, 50], true).await;
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)) && error.is_retryable(), "{error:?}");
    assert_eq!((written.as_slice(), asked.len(), error.attempts()), (&content[..200], 3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_stalls_ends_the_download_at_its_timeout() {
    let script = Script::of([Reply::bytes(200, "1234567890")]).odd();
    let (mut writer, _reader) = tokio::io::duplex(5);
    let call = script.client().received().download("https://files.test/file").timeout(Duration::from_secs(5));
    let result = timeout(Duration::from_secs(6), call.write_to(&mut writer)).await.unwrap();
    assert!(matches!(result.unwrap_err(), Error::Write(_)));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_range_support_gets_no_range_request() {
    let (result, written, asked, content) = downloaded(&[100], false).await;
    assert!(matches!(result.unwrap_err(), Error::Unreachable(_)));
    assert_eq!((written.as_slice(), asked.len()), (&content[..100], 1));
}
