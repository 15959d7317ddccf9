//! Requests as received by a script.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderMap, Method};
use serde_json::Value;
use url::Url;

use crate::{
    clock::Instant,
    transport::{RequestDelivery, TransportError, TransportErrorKind, TransportRequest},
};

/// A request as the client sent it.
#[derive(Clone)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: Method,
    /// The complete URL.
    pub url: Url,
    /// All headers, including the credential (marked sensitive).
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// When the request was sent, by Tokio's clock.
    pub at: Instant,
    /// Whether the request required a new connection.
    pub new_connection: bool,
}

impl RecordedRequest {
    /// Reads a request with its body.
    pub(super) async fn read(request: &TransportRequest) -> Result<Self, TransportError> {
        let pieces: Vec<Bytes> = request.body.stream().try_collect().await.map_err(|error| {
            TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Body).with_source(error)
        })?;
        Ok(Self {
            method: request.method.clone(),
            url: request.url.clone(),
            headers: request.headers.clone(),
            body: pieces.concat().into(),
            at: Instant::now(),
            new_connection: request.new_connection,
        })
    }

    /// Returns the URL's path, including the base URL's path.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// Returns the first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }

    /// Returns the first value of a header; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Parses the body as JSON.
    ///
    /// # Panics
    /// The body isn't JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("the body of {} {} isn't JSON: {error}", self.method, self.path()),
        }
    }
}

partial_debug! {
    /// `Debug` masks the credential and prints only the length of the body, which contains secrets in token requests.
    RecordedRequest { method, path = [path()], headers, body_bytes = [body.len()] }
}
