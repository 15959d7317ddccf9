//! One request to the authorization server: sent once, over a connection of its own.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use url::Url;

use crate::{
    body::Body,
    transport::{RequestDelivery, Transport, TransportError, TransportErrorKind, TransportRequest},
};

/// The longest that a request may take in all.
pub(crate) const TOTAL: Duration = Duration::from_secs(30);
/// The most bytes that an answer may have.
const ANSWER_LIMIT: usize = 64 * 1024;

/// The way to the authorization server.
#[derive(Clone, Default)]
pub(crate) struct Wire(Option<Arc<dyn Transport>>);

impl Wire {
    pub(crate) fn over(transport: Arc<dyn Transport>) -> Self {
        Self(Some(transport))
    }

    pub(crate) async fn get(&self, url: &Url) -> Result<http::Response<Bytes>, TransportError> {
        self.send(Method::GET, url, None, Bytes::new()).await
    }

    pub(crate) async fn post_json(
        &self,
        url: &Url,
        body: Vec<u8>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        self.send(Method::POST, url, Some("application/json"), body.into()).await
    }

    pub(crate) async fn post_form(
        &self,
        url: &Url,
        body: Vec<u8>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        self.send(Method::POST, url, Some("application/x-www-form-urlencoded"), body.into()).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        content_type: Option<&'static str>,
        body: Bytes,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        // What arrives in the clear can be read up to where it broke off.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let agent = concat!("posthaste/", env!("CARGO_PKG_VERSION"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
        if let Some(content_type) = content_type {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let request = TransportRequest {
            method,
            url: url.clone(),
            headers,
            body: if body.is_empty() { Body::default() } else { Body::default().plain(body) },
            idle_timeout: TOTAL,
            new_connection: true,
            on_upload: None,
        };
        let own;
        let transport = if let Some(transport) = &self.0 {
            transport.as_ref()
        } else {
            own = fresh()?;
            own.as_ref()
        };
        let deadline = tokio::time::Instant::now() + TOTAL;
        let attempt = async {
            let (head, body) = transport.send(request).await?.into_parts();
            let body = body.collect(ANSWER_LIMIT, Some(deadline)).await;
            match body.missing {
                Some(error) => Err(error),
                None => Ok(http::Response::from_parts(head, body.bytes)),
            }
        };
        tokio::time::timeout_at(deadline, attempt).await.unwrap_or_else(|_| {
            Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout))
        })
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

/// A transport for one request. Nothing is pooled: a connection that the server has meanwhile closed would leave open whether the request arrived.
#[cfg(feature = "reqwest")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature there is no default transport")]
fn fresh() -> Result<Box<dyn Transport>, TransportError> {
    Ok(Box::new(crate::transport::ReqwestTransport::default()))
}

#[cfg(not(feature = "reqwest"))]
fn fresh() -> Result<Box<dyn Transport>, TransportError> {
    Err(TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other)
        .caused_by("without the feature `reqwest` the application brings its own transport"))
}
