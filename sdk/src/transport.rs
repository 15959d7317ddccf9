//! The seam between the client and the network.
//!
//! Everything above this file is about the service; everything below is about HTTP. An application that has its own HTTP
//! stack, or a test that has none, implements [`Transport`].

pub(crate) mod endpoint;
#[cfg(feature = "reqwest")]
mod reqwest;
mod response;

#[cfg(feature = "reqwest")]
pub use self::reqwest::ReqwestTransport;
pub(crate) use response::Collected;
pub use response::ResponseBody;

use std::{error::Error as StdError, fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use url::Url;

use crate::body::Body;

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Is told how many bytes of a body have gone out, and of how many: `(sent, total)`.
pub(crate) type UploadListener = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Sends one request and returns the response as it arrives.
///
/// An implementation must not follow redirects, must not repeat a request on its own, and must end with a time-out when the peer is silent for
/// [`TransportRequest::idle_timeout`]. The future, and later the response body, is dropped when a deadline ends the call.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` once. Resolves when the response head has arrived; the body follows in chunks, after decompression.
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

/// One request, ready for the network.
#[non_exhaustive]
pub struct TransportRequest {
    /// The HTTP method.
    pub method: Method,
    /// The whole URL.
    pub url: Url,
    /// All headers, including the credential (marked sensitive), except `Host` and `Content-Length`.
    pub headers: HeaderMap,
    /// The body; empty for a request without one.
    pub body: Body,
    /// How long the peer may be silent: while it takes the body, before the response, and within it.
    pub idle_timeout: Duration,
    /// Send over a new connection instead of a pooled one. Token requests need it: an idle connection that breaks can lose the response to
    /// a refresh.
    pub new_connection: bool,
    pub(crate) on_upload: Option<UploadListener>,
}

impl TransportRequest {
    /// Reports that `sent` bytes of the body have left. A transport calls it as it sends, for progress bars.
    pub fn uploaded(&self, sent: u64) {
        if let Some(listener) = &self.on_upload {
            listener(sent, self.body.len());
        }
    }
}

/// `Debug` names the method and the host: paths, headers and bodies can hold addresses and secrets.
impl fmt::Debug for TransportRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.host_str().unwrap_or_default();
        f.debug_struct("TransportRequest")
            .field("method", &self.method)
            .field("host", &host)
            .finish_non_exhaustive()
    }
}

/// How far a failed request got. It decides whether the request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestDelivery {
    /// No byte of the request reached the service: sending it again can't do a thing twice.
    NotSent,
    /// Bytes left and no whole answer came: the service may have acted.
    Unknown,
}

/// What went wrong on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The name could not be resolved, or nobody accepted the connection.
    Connect,
    /// The peer is not who it claims to be, or speaks no TLS. Trying again doesn't help.
    Tls,
    /// A time limit passed.
    Timeout,
    /// The connection ended before the whole answer was there.
    Closed,
    /// The answer is larger than the limit.
    TooLarge,
    /// The body could not be read from its file; the service can't have accepted an incomplete request.
    Body,
    /// Anything else.
    Other,
}

/// A request that got no whole answer.
#[derive(Debug)]
pub struct TransportError {
    pub(crate) delivery: RequestDelivery,
    pub(crate) kind: TransportErrorKind,
    pub(crate) host: Option<String>,
    pub(crate) source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TransportError {
    /// Says how far the request got and what stopped it.
    pub fn new(delivery: RequestDelivery, kind: TransportErrorKind) -> Self {
        Self { delivery, kind, host: None, source: None }
    }

    /// Adds the error underneath.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds whom the connection was for: a host, with its port if that isn't the usual one.
    #[must_use]
    pub fn at(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// How far the request got.
    pub fn delivery(&self) -> RequestDelivery {
        self.delivery
    }

    /// What stopped it.
    pub fn kind(&self) -> TransportErrorKind {
        self.kind
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("the service");
        f.write_str(match self.kind {
            TransportErrorKind::Connect => return write!(f, "no connection to {host}"),
            TransportErrorKind::Tls => return write!(f, "no trusted TLS connection to {host}"),
            TransportErrorKind::Timeout => "the service did not answer in time",
            TransportErrorKind::Closed => "the connection ended before the answer was complete",
            TransportErrorKind::TooLarge => "the answer is larger than the limit",
            TransportErrorKind::Body => "the body could not be read",
            TransportErrorKind::Other => "the request failed on its way",
        })
    }
}

impl StdError for TransportError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
