//! Forwards a delivery to an application, unchanged.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use idempost::transport::install_crypto_provider;
use reqwest::redirect;
use url::Url;

use crate::diagnostics::Fail;
use crate::output::report::innermost_cause;

/// The application's timeout, shorter than the service's 15 seconds, so that the service gets a response.
const TIMEOUT: Duration = Duration::from_secs(14);
/// Maximum bytes of a response that are returned: the service stores fewer.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// Headers that apply to a single connection (RFC 9110, 7.6.1), or that are regenerated.
const DROPPED_HEADERS: [HeaderName; 10] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// The application that receives deliveries.
#[derive(Debug)]
pub(super) struct Forward {
    client: reqwest::Client,
    url: Url,
    timeout: Duration,
}

/// The application's response.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its status; 502 or 504 without a response.
    pub(super) status: StatusCode,
    pub(super) content_type: Option<HeaderValue>,
    /// The beginning of its body, or the reason for having no response.
    pub(super) body: Bytes,
    pub(super) took: Duration,
    /// Why there is no response.
    pub(super) error: Option<String>,
}

impl Forward {
    /// Forwards to this URL. Ignores proxies and redirects, to reach only this application.
    pub(super) fn new(url: Url) -> Result<Self, Fail> {
        Self::with_timeout(url, TIMEOUT)
    }

    fn with_timeout(url: Url, timeout: Duration) -> Result<Self, Fail> {
        install_crypto_provider();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(timeout)
            .build()
            .map_err(|error| Fail::local("couldn't create the HTTP client", error))?;
        Ok(Self { client, url, timeout })
    }

    /// Forwards a delivery and returns the response.
    pub(super) async fn forward(&self, headers: &HeaderMap, body: Bytes) -> Answer {
        let started = Instant::now();
        let mut passed = HeaderMap::new();
        for (name, value) in headers.iter().filter(|(name, _)| !DROPPED_HEADERS.contains(name)) {
            passed.append(name, value.clone());
        }
        let sent = self.client.post(self.url.clone()).headers(passed).body(body).send().await;
        let answered = match sent {
            Ok(answer) => read(answer).await,
            Err(error) => Err(error),
        };
        let took = started.elapsed();
        let error = match answered {
            Ok((status, content_type, body)) => {
                return Answer { status, content_type, body, took, error: None };
            }
            Err(error) => error,
        };
        let (status, why) = if error.is_timeout() {
            (
                StatusCode::GATEWAY_TIMEOUT,
                format!("{} didn't respond within {} ms", self.url, self.timeout.as_millis()),
            )
        } else {
            (StatusCode::BAD_GATEWAY, format!("couldn't reach {}: {}", self.url, innermost_cause(&error)))
        };
        Answer { status, content_type: None, body: why.clone().into(), took, error: Some(why) }
    }
}

async fn read(mut answer: reqwest::Response) -> reqwest::Result<(StatusCode, Option<HeaderValue>, Bytes)> {
    let (status, content_type) = (answer.status(), answer.headers().get(header::CONTENT_TYPE).cloned());
    let mut body = BytesMut::new();
    while body.len() < MAX_RESPONSE_BYTES
        && let Some(chunk) = answer.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(MAX_RESPONSE_BYTES);
    Ok((status, content_type, body.freeze()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// An application that reads a request, writes these bytes and then stalls; returns the forwarder's response with this timeout in milliseconds.
    async fn pass(written: Vec<u8>, timeout: u64) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(&written).await;
            // Held open until the client closes the connection.
            std::future::pending::<()>().await;
        });
        let forward = Forward::with_timeout(url, Duration::from_millis(timeout)).unwrap();
        let answer = forward.forward(&HeaderMap::new(), Bytes::from_static(b"{}")).await;
        serving.abort();
        answer
    }

    #[tokio::test]
    async fn an_application_that_stalls_times_out() {
        // H-06
        for written in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal"]
        {
            let answer = pass(written.to_vec(), 100).await;
            assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT, "{answer:?}");
            assert!(answer.error.unwrap().contains("didn't respond within 100 ms"));
        }
    }

    #[tokio::test]
    async fn a_huge_response_is_truncated() {
        let mut written = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n".to_vec();
        written.resize(1_000_000, b'x');
        let answer = pass(written, 60_000).await;
        assert_eq!(
            (answer.status, answer.body.len(), answer.error),
            (StatusCode::OK, MAX_RESPONSE_BYTES, None)
        );
    }
}
