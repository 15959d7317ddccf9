//! Passing a delivery on to an application, as it came.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::redirect;
use url::Url;

use crate::fail::Fail;

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
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .map_err(|error| Fail::local("nothing can be passed on", error))?;
        Ok(Self { client, url })
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
            (StatusCode::GATEWAY_TIMEOUT, format!("no answer in {} s", PATIENCE.as_secs()))
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
