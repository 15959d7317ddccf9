//! The three ways of sending.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use idempost::{Client, ClientBuilder, Email, call::RateLimit, transport::ReqwestTransport};
use serde::{Deserialize, Serialize};

/// Any error: these programs only stop.
pub type Failure = Box<dyn Error + Send + Sync>;

const FROM: &str = "Acme <hi@acme.test>";
const TO: &str = "ada@example.com";
const SUBJECT: &str = "Your invoice";
const TEXT: &str = "Thank you for your order. The invoice is attached; please pay it within thirty days.";

#[derive(Serialize)]
struct Mail<'a> {
    from: &'a str,
    to: [&'a str; 1],
    subject: &'a str,
    text: &'a str,
}

#[derive(Deserialize)]
struct Accepted {
    id: String,
}

fn mail() -> Result<Vec<u8>, Failure> {
    Ok(serde_json::to_vec(&Mail { from: FROM, to: [TO], subject: SUBJECT, text: TEXT })?)
}

fn key() -> Result<HeaderValue, Failure> {
    Ok(HeaderValue::try_from(format!("{:032x}", rand::random::<u128>()))?)
}

fn bearer() -> HeaderValue {
    let mut bearer = HeaderValue::from_static("Bearer re_benchmark");
    bearer.set_sensitive(true);
    bearer
}

/// With the SDK.
#[derive(Debug)]
pub struct Sdk(Client);

impl Sdk {
    /// Creates a client of the peer at `base`, without a rate limit: the peer announces none.
    ///
    /// # Errors
    /// The URL is malformed.
    pub fn new(base: &str) -> Result<Self, Failure> {
        Ok(Self(Self::builder(base).build()?))
    }

    /// The same over HTTP/2 with prior knowledge.
    ///
    /// # Errors
    /// The URL is malformed.
    pub fn over_http2(base: &str) -> Result<Self, Failure> {
        let transport = ReqwestTransport::with_config(reqwest::ClientBuilder::http2_prior_knowledge);
        Ok(Self(Self::builder(base).transport(transport).build()?))
    }

    fn builder(base: &str) -> ClientBuilder {
        Client::builder().base_url(base).api_key("re_benchmark").rate_limit(RateLimit::Adaptive)
    }

    /// Sends one email.
    ///
    /// # Errors
    /// It was not accepted.
    pub async fn send(&self) -> Result<String, Failure> {
        let email = Email::new(FROM, TO, SUBJECT).text(TEXT);
        Ok(self.0.emails().send(&email).await?.id.into())
    }
}

/// With reqwest alone.
#[derive(Debug)]
pub struct Reqwest {
    client: reqwest::Client,
    url: String,
}

impl Reqwest {
    /// Creates a client of the peer at `base`.
    ///
    /// # Errors
    /// The client can't be built.
    pub fn new(base: &str) -> Result<Self, Failure> {
        Ok(Self { client: Self::builder().build()?, url: format!("{base}/emails") })
    }

    /// The same over HTTP/2 with prior knowledge.
    ///
    /// # Errors
    /// The client can't be built.
    pub fn over_http2(base: &str) -> Result<Self, Failure> {
        let client = Self::builder().http2_prior_knowledge().build()?;
        Ok(Self { client, url: format!("{base}/emails") })
    }

    fn builder() -> reqwest::ClientBuilder {
        idempost::transport::install_crypto_provider();
        reqwest::Client::builder().user_agent("benchmark/1").no_proxy().tcp_nodelay(true)
    }

    /// Sends one email.
    ///
    /// # Errors
    /// It was not accepted.
    pub async fn send(&self) -> Result<String, Failure> {
        let answer = self
            .client
            .post(&self.url)
            .timeout(Duration::from_mins(1))
            .header(AUTHORIZATION, bearer())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header("idempotency-key", key()?)
            .body(mail()?)
            .send()
            .await?
            .error_for_status()?;
        let body = answer.bytes().await?;
        Ok(serde_json::from_slice::<Accepted>(&body)?.id)
    }
}

/// With hyper alone.
#[derive(Debug)]
pub struct Hyper {
    client: HyperClient<HttpConnector, Full<Bytes>>,
    url: String,
    host: HeaderValue,
}

impl Hyper {
    /// Creates a client of the peer at `base`.
    ///
    /// # Errors
    /// The URL is malformed.
    pub fn new(base: &str) -> Result<Self, Failure> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = HyperClient::builder(TokioExecutor::new()).build(connector);
        let host = HeaderValue::from_str(base.trim_start_matches("http://"))?;
        Ok(Self { client, url: format!("{base}/emails"), host })
    }

    /// Sends one email.
    ///
    /// # Errors
    /// It was not accepted.
    pub async fn send(&self) -> Result<String, Failure> {
        let request = Request::post(&self.url)
            .header(HOST, self.host.clone())
            .header(USER_AGENT, HeaderValue::from_static("benchmark/1"))
            .header(AUTHORIZATION, bearer())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header("idempotency-key", key()?)
            .body(Full::from(mail()?))?;
        let answer = tokio::time::timeout(Duration::from_mins(1), self.client.request(request)).await??;
        if !answer.status().is_success() {
            return Err(answer.status().to_string().into());
        }
        let body = answer.into_body().collect().await?.to_bytes();
        Ok(serde_json::from_slice::<Accepted>(&body)?.id)
    }
}
