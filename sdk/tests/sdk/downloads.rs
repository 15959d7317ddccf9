//! Downloads from signed URLs, which may be on another host.

use idempost::{
    Error,
    transport::{
        BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind,
        TransportRequest,
    },
};

use super::script::{Script, Step};

#[tokio::test(start_paused = true)]
async fn no_credential_or_default_header_is_sent_to_a_download_url() {
    // AUTH-08, AUTH-09
    for url in [
        "https://files.other.test/x?signature=1",
        "http://127.0.0.1:9/prefix/_/received/word",
        "http://files.other.test/x",
    ] {
        let script = Script::of([Step::Text(503, "soon"), Step::Text(200, "bytes")]).odd();
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

/// The response to one range request.
struct Files {
    content: Vec<u8>,
    /// The number of bytes after which each connection breaks.
    breaks: std::sync::Mutex<Vec<usize>>,
    ranges: bool,
    asked: std::sync::Mutex<Vec<Option<String>>>,
}

impl Transport for Files {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        let range = request.headers.get("range").map(|range| range.to_str().unwrap().to_owned());
        let start = range.as_deref().filter(|_| self.ranges).map_or(0, |range| {
            range.trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>().unwrap()
        });
        self.asked.lock().unwrap().push(range);
        let rest = self.content[start..].to_vec();
        let end = self.breaks.lock().unwrap().pop().unwrap_or(rest.len()).min(rest.len());
        let mut response = http::Response::builder().status(if start > 0 { 206 } else { 200 });
        if self.ranges {
            response = response.header("accept-ranges", "bytes").header("etag", "\"v1\"");
        }
        if start > 0 {
            let range = format!("bytes {start}-{}/{}", self.content.len() - 1, self.content.len());
            response = response.header("content-range", range);
        }
        let lost = || TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Closed);
        let mut chunks: Vec<_> =
            rest[..end].chunks(7).map(|chunk| Ok(bytes::Bytes::copy_from_slice(chunk))).collect();
        if end < rest.len() {
            chunks.push(Err(lost()));
        }
        let body = ResponseBody::stream(futures_util::stream::iter(chunks));
        Box::pin(std::future::ready(Ok(response.body(body).unwrap())))
    }
}

async fn downloaded(
    breaks: &[usize],
    ranges: bool,
) -> (idempost::Result<u64>, Vec<u8>, Vec<Option<String>>, Vec<u8>) {
    let content: Vec<u8> = (0..=255).cycle().take(1_000).collect();
    let files = std::sync::Arc::new(Files {
        content: content.clone(),
        breaks: std::sync::Mutex::new(breaks.iter().rev().copied().collect()),
        ranges,
        asked: std::sync::Mutex::default(),
    });
    let client = idempost::Client::builder()
        .base_url("http://127.0.0.1:9")
        .api_key("re_x")
        .transport(std::sync::Arc::clone(&files))
        .build()
        .unwrap();
    let mut written = Vec::new();
    let result = client.received().download("http://127.0.0.1:9/file").write_to(&mut written).await;
    let asked = files.asked.lock().unwrap().clone();
    (result, written, asked, content)
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_download_resumes_where_it_stopped() {
    let (result, written, asked, content) = downloaded(&[100, 50], true).await;
    assert_eq!((result.unwrap(), written), (1_000, content));
    assert_eq!(asked, [None, Some("bytes=100-".to_owned()), Some("bytes=150-".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_download_fails_after_its_attempts_and_keeps_written_bytes() {
    let (result, written, asked, content) = downloaded(&[100, 50, 50], true).await;
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)) && error.is_retryable(), "{error:?}");
    assert_eq!((written.as_slice(), asked.len(), error.attempts()), (&content[..200], 3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_range_support_gets_no_range_request() {
    let (result, written, asked, content) = downloaded(&[100], false).await;
    assert!(matches!(result.unwrap_err(), Error::Unreachable(_)));
    assert_eq!((written.as_slice(), asked.len()), (&content[..100], 1));
}
