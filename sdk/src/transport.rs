//! The interface between the client and the network.
//!
//! The rest of the crate implements the service's API; a transport implements HTTP. Applications with their own HTTP stack implement [`Transport`],
//! and so do tests without a network.

pub(crate) mod endpoint;
#[cfg(all(feature = "reqwest", not(target_family = "wasm")))]
mod proxy;
#[cfg(feature = "reqwest")]
#[cfg_attr(target_family = "wasm", path = "transport/fetch.rs")]
mod reqwest;
mod response;
mod upload;

#[cfg(feature = "reqwest")]
pub use self::reqwest::ReqwestTransport;
#[cfg(all(feature = "rustls", not(target_family = "wasm")))]
pub use self::reqwest::install_crypto_provider;
pub(crate) use response::Collected;
pub use response::ResponseBody;
pub(crate) use upload::{Upload, UploadListener};

use std::{error::Error as StdError, future::Future, pin::Pin, sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use url::Url;

use crate::{
    body::Body,
    clock::{Instant, timeout_at},
    problem::SettingsError,
};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Sends each request once and returns its response as it arrives.
///
/// An implementation must not follow redirects or retry on its own, and must fail with a timeout if the peer makes no progress for
/// [`TransportRequest::idle_timeout`]. Its future, and later the response body, is dropped when a deadline ends the call.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` once. Resolves when the response head has arrived; the body follows in decompressed chunks, without the header
    /// `Content-Encoding`.
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>>;
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        (**self).send(request)
    }
}

/// A request, ready to be sent.
#[non_exhaustive]
pub struct TransportRequest {
    /// The HTTP method.
    pub method: Method,
    /// The complete URL.
    pub url: Url,
    /// All headers, including the credential (marked sensitive), except `Host` and `Content-Length`.
    pub headers: HeaderMap,
    /// The body; empty for a request without one.
    pub body: Body,
    /// The maximum time without progress: while sending the body, while waiting for the response, and while receiving it.
    pub idle_timeout: Duration,
    /// Whether to open a new connection instead of using a pooled one. Token requests require it: if an idle pooled connection breaks, the response
    /// to a refresh may be lost.
    pub new_connection: bool,
    pub(crate) upload: Arc<Upload>,
}

impl TransportRequest {
    /// Creates a request without headers and body, with an idle timeout of 30 s.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Body::default(),
            idle_timeout: Duration::from_secs(30),
            new_connection: false,
            upload: Arc::default(),
        }
    }

    /// Reports that the request has no connection yet, so no byte of it has been sent. If a deadline drops the future of [`send`](Transport::send)
    /// before [`report_uploaded`](Self::report_uploaded) is called, the request counts as [`RequestDelivery::NotSent`]; without this report, it would count as
    /// [`RequestDelivery::Unknown`].
    pub fn report_connecting(&self) {
        self.upload.report_connecting();
    }

    /// Reports the number of body bytes sent so far, for progress bars and to end [`report_connecting`](Self::report_connecting). A transport calls it before it
    /// sends the bytes.
    pub fn report_uploaded(&self, sent: u64) {
        self.upload.report_sent(sent, self.body.len());
    }
}

partial_debug! {
    /// `Debug` prints only the method and the host: paths, headers and bodies can contain addresses and secrets.
    TransportRequest { method, host = [url.host_str().unwrap_or_default()] }
}

/// Sends a request, and returns its response once the head has arrived, or a timeout at `end`.
pub(crate) async fn send_until(
    end: Option<Instant>,
    transport: &dyn Transport,
    request: TransportRequest,
    url: &Url,
) -> Result<http::Response<ResponseBody>, TransportError> {
    let Some(end) = end else { return transport.send(request).await };
    if end < Instant::now() {
        return Err(connect_timeout_error(url));
    }
    let upload = Arc::clone(&request.upload);
    timeout_at(end, transport.send(request)).await.unwrap_or_else(|_| {
        Err(if upload.is_connecting() {
            connect_timeout_error(url)
        } else {
            TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)
        })
    })
}

/// Returns the error of a request that got no connection within its time limit.
fn connect_timeout_error(url: &Url) -> TransportError {
    let error = TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Connect)
        .with_source("no connection could be established within the time limit");
    match authority(url) {
        Some(host) => error.with_host(host),
        None => error,
    }
}

/// Returns the host of a URL, with its port if that isn't the default.
fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// How far a failed request got, which decides whether it may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    any(test, feature = "testing"),
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum RequestDelivery {
    /// No byte of the request reached the service: a retry can't act twice.
    NotSent,
    /// Bytes were sent but no complete response arrived: the service may have acted.
    Unknown,
}

/// The kind of a transport failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    any(test, feature = "testing"),
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The host name couldn't be resolved, or the connection was refused.
    Connect,
    /// The peer's certificate isn't trusted, or it doesn't support TLS. A retry doesn't help.
    Tls,
    /// A proxy refused to connect to the service. A retry rarely helps.
    Proxy,
    /// The request timed out.
    Timeout,
    /// The connection was closed before the response was complete.
    Closed,
    /// The response is larger than the limit.
    TooLarge,
    /// The body couldn't be read from its file; the service can't have accepted the incomplete request.
    Body,
    /// The proxy is malformed, isn't an HTTP proxy, or requires a password; or the transport can't be built, for example because the system has no
    /// certificates. A retry doesn't help.
    Settings,
    /// Any other failure.
    Other,
}

impl TransportErrorKind {
    /// Returns whether the same request may succeed later without other changes.
    pub(crate) fn is_transient(self) -> bool {
        !matches!(self, Self::Tls | Self::Proxy | Self::TooLarge | Self::Body | Self::Settings)
    }
}

/// The failure of a request without a complete response.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.describe())]
pub struct TransportError {
    pub(crate) delivery: RequestDelivery,
    pub(crate) kind: TransportErrorKind,
    pub(crate) host: Option<String>,
    /// Whether the head of the response had arrived.
    pub(crate) in_body: bool,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TransportError {
    /// Creates an error from how far the request got and the kind of failure.
    pub fn new(delivery: RequestDelivery, kind: TransportErrorKind) -> Self {
        Self { delivery, kind, host: None, in_body: false, source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds the peer's host, with its port if that isn't the default.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Returns how far the request got.
    pub fn delivery(&self) -> RequestDelivery {
        self.delivery
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }

    /// Describes the failure without its host, for a text that names the host elsewhere.
    pub fn reason(&self) -> &'static str {
        match self.kind {
            TransportErrorKind::Connect => "couldn't connect",
            TransportErrorKind::Proxy => "the proxy refused the connection",
            TransportErrorKind::Tls => "couldn't establish a trusted TLS connection",
            TransportErrorKind::Timeout => "the service didn't respond in time",
            TransportErrorKind::Closed => "the connection was closed before the response was complete",
            TransportErrorKind::TooLarge => "the response is larger than the limit",
            TransportErrorKind::Body => "the body couldn't be read",
            TransportErrorKind::Settings => "the transport's settings are invalid",
            TransportErrorKind::Other => "the request failed in transit",
        }
    }

    fn describe(&self) -> String {
        let (host, reason) = (self.host.as_deref().unwrap_or("the service"), self.reason());
        match self.kind {
            TransportErrorKind::Connect | TransportErrorKind::Tls => format!("{reason} to {host}"),
            TransportErrorKind::Proxy => format!("couldn't connect to {host}: {reason}"),
            _ => reason.to_owned(),
        }
    }

    /// Returns the invalid setting, or the error itself if it has another cause.
    pub(crate) fn into_settings(mut self) -> Result<SettingsError, Self> {
        match self.source.take().map(<dyn StdError + Send + Sync>::downcast) {
            Some(Ok(error)) => Ok(*error),
            Some(Err(source)) => Err(self.with_source(source)),
            None => Err(self),
        }
    }
}
