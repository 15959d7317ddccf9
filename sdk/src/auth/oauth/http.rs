//! One request to the authorization server: sent once, over a new connection.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::de::DeserializeOwned;
use url::Url;

use crate::{
    body::Body,
    clock::Instant,
    error::{AuthError, date, is_markup, printable, retry_after},
    transport::{Collected, Transport, TransportError, TransportRequest, send_until},
};

/// The timeout for a whole request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;

/// Sends requests to the authorization server.
#[derive(Clone)]
pub(crate) struct HttpClient(Arc<dyn Transport>);

/// A response whose head has arrived, with the part of the body received so far: even an incomplete body can contain the only copy of a token.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Collected,
    /// When the request was sent, according to the server's clock (`Date`).
    pub(crate) served_at: Option<SystemTime>,
}

impl HttpResponse {
    /// Returns the body if it is complete.
    pub(crate) fn complete(self) -> Result<Bytes, TransportError> {
        match self.body.missing {
            None => Ok(self.body.bytes),
            Some(error) => Err(error),
        }
    }

    /// Returns the error for a response without a defined meaning at the endpoint `url`.
    pub(crate) fn unexpected(&self, url: &Url) -> AuthError {
        let (status, retry_after) = (self.status.as_u16(), retry_after(&self.headers));
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            return AuthError::Throttled { status, retry_after };
        }
        let url = printable(url.as_str(), 200);
        AuthError::UnexpectedResponse { url, status, is_html: self.is_html(), retry_after }
    }

    /// Parses the body. `what` names the response in the error for JSON with other content.
    pub(crate) fn json<T: DeserializeOwned>(self, url: &Url, what: &str) -> Result<T, AuthError> {
        let unexpected = self.unexpected(url);
        let body = self.complete().map_err(AuthError::Unreachable)?;
        serde_json::from_slice(&body).map_err(|error| {
            if !error.is_data() {
                return unexpected;
            }
            AuthError::Metadata(format!("{what}{}", printable(&error.to_string(), 200)))
        })
    }

    /// Returns whether the body is an HTML page, which comes from a proxy, a captive portal or another server.
    pub(crate) fn is_html(&self) -> bool {
        is_markup(&self.body.bytes)
    }
}

impl HttpClient {
    pub(crate) fn new(transport: impl Transport) -> Self {
        Self(Arc::new(transport))
    }

    pub(crate) async fn get(&self, url: &Url) -> Result<HttpResponse, TransportError> {
        self.send(Method::GET, url, None, Bytes::new()).await
    }

    pub(crate) async fn post_json(&self, url: &Url, body: Vec<u8>) -> Result<HttpResponse, TransportError> {
        self.send(Method::POST, url, Some("application/json"), body.into()).await
    }

    pub(crate) async fn post_form(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
    ) -> Result<HttpResponse, TransportError> {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(Method::POST, url, Some("application/x-www-form-urlencoded"), form.into()).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        content_type: Option<&'static str>,
        body: Bytes,
    ) -> Result<HttpResponse, TransportError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        // An uncompressed body is readable up to the point where it was cut off.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let agent = concat!("idempost/", env!("CARGO_PKG_VERSION"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        if let Some(content_type) = content_type {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let request = TransportRequest {
            headers,
            body: if body.is_empty() { Body::default() } else { Body::default().with_bytes(body) },
            idle_timeout: TIMEOUT,
            new_connection: true,
            ..TransportRequest::new(method, url.clone())
        };
        let sent = Instant::now();
        let deadline = sent + TIMEOUT;
        // The timeout applies to the head, and later to the body; the part of the body received by then is kept.
        let response = send_until(Some(deadline), &*self.0, request, url).await?;
        let (head, body) = response.into_parts();
        let served_at = date(&head.headers).and_then(|date| date.checked_sub(sent.elapsed()));
        let body = body.collect(MAX_RESPONSE, Some(deadline)).await;
        Ok(HttpResponse { status: head.status, headers: head.headers, body, served_at })
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        #[cfg(feature = "reqwest")]
        return Self::new(crate::transport::ReqwestTransport::default());
        #[cfg(not(feature = "reqwest"))]
        return Self::new(NoTransport);
    }
}

partial_debug!(HttpClient = "HttpClient");

/// A placeholder for the transport that the application must provide.
#[cfg(not(feature = "reqwest"))]
struct NoTransport;

#[cfg(not(feature = "reqwest"))]
impl Transport for NoTransport {
    fn send(
        &self,
        _: TransportRequest,
    ) -> crate::transport::BoxFuture<'_, Result<http::Response<crate::transport::ResponseBody>, TransportError>>
    {
        let error = TransportError::new(
            crate::transport::RequestDelivery::NotSent,
            crate::transport::TransportErrorKind::Other,
        )
        .with_source("no transport: without the feature `reqwest` the application brings its own");
        Box::pin(async { Err(error) })
    }
}
