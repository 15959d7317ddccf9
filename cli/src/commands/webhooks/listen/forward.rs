//! Passing a delivery on to an application, as it came.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::redirect;
use url::Url;

use crate::diagnostics::Fail;

/// How long the application may take. The service waits 15 seconds for an answer, and should get this one.
const PATIENCE: Duration = Duration::from_secs(14);
/// How much of an answer goes back: the service keeps less.
const MOST_OF_AN_ANSWER: usize = 64 * 1024;
/// What concerns one connection only (RFC 9110, 7.6.1), or is made anew.
const NOT_PASSED: [HeaderName; 10] = [
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

/// Where deliveries go.
#[derive(Debug)]
pub(super) struct Forward {
    client: reqwest::Client,
    url: Url,
    patience: Duration,
}

/// What the application said.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its status; 502 or 504 if there was none.
    pub(super) status: StatusCode,
    pub(super) content_type: Option<HeaderValue>,
    /// Its beginning, or why there was no answer.
    pub(super) body: Bytes,
    pub(super) took: Duration,
    /// Why there was no answer.
    pub(super) error: Option<String>,
}

impl Forward {
    /// To this address. Neither proxies nor redirects come between: the application is meant, and nobody else.
    pub(super) fn to(url: Url) -> Result<Self, Fail> {
        Self::within(url, PATIENCE)
    }

    fn within(url: Url, patience: Duration) -> Result<Self, Fail> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(patience)
            .build()
            .map_err(|error| Fail::local("nothing can be passed on", error))?;
        Ok(Self { client, url, patience })
    }

    /// Passes one on, and gives back what was answered.
    pub(super) async fn pass(&self, headers: &HeaderMap, body: Bytes) -> Answer {
        let begun = Instant::now();
        let mut passed = HeaderMap::new();
        for (name, value) in headers.iter().filter(|(name, _)| !NOT_PASSED.contains(name)) {
            passed.append(name, value.clone());
        }
        let sent = self.client.post(self.url.clone()).headers(passed).body(body).send().await;
        let answered = match sent {
            Ok(answer) => read(answer).await,
            Err(error) => Err(error),
        };
        let took = begun.elapsed();
        let error = match answered {
            Ok((status, content_type, body)) => {
                return Answer { status, content_type, body, took, error: None };
            }
            Err(error) => error,
        };
        let (status, why) = if error.is_timeout() {
            (
                StatusCode::GATEWAY_TIMEOUT,
                format!("{} did not answer in {} ms", self.url, self.patience.as_millis()),
            )
        } else {
            (StatusCode::BAD_GATEWAY, format!("{} cannot be reached: {}", self.url, root(&error)))
        };
        Answer { status, content_type: None, body: why.clone().into(), took, error: Some(why) }
    }
}

async fn read(mut answer: reqwest::Response) -> reqwest::Result<(StatusCode, Option<HeaderValue>, Bytes)> {
    let (status, content_type) = (answer.status(), answer.headers().get(header::CONTENT_TYPE).cloned());
    let mut body = BytesMut::new();
    while body.len() < MOST_OF_AN_ANSWER
        && let Some(chunk) = answer.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(MOST_OF_AN_ANSWER);
    Ok((status, content_type, body.freeze()))
}

/// What went wrong at the bottom: `Connection refused (os error 111)`.
fn root(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// An application that reads a request and writes this much of an answer and then nothing; what is said of it within that time.
    async fn pass(written: Vec<u8>, patience: u64) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(&written).await;
            // It is held open until nobody listens any more.
            std::future::pending::<()>().await;
        });
        let forward = Forward::within(url, Duration::from_millis(patience)).unwrap();
        let answer = forward.pass(&HeaderMap::new(), Bytes::from_static(b"{}")).await;
        serving.abort();
        answer
    }

    #[tokio::test]
    async fn an_application_that_never_answers_or_never_ends_is_given_up() {
        for written in [&b""[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal"]
        {
            let answer = pass(written.to_vec(), 100).await;
            assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT, "{answer:?}");
            assert!(answer.error.unwrap().contains("did not answer in 100 ms"));
        }
    }

    #[tokio::test]
    async fn of_a_huge_answer_only_the_beginning_is_read() {
        let mut written = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n".to_vec();
        written.resize(1_000_000, b'x');
        let answer = pass(written, 10_000).await;
        assert_eq!(
            (answer.status, answer.body.len(), answer.error),
            (StatusCode::OK, MOST_OF_AN_ANSWER, None)
        );
    }
}
