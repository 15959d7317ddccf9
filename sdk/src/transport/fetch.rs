//! The transport over `fetch`, which the reqwest crate calls in WebAssembly.

use std::{pin::pin, time::Duration};

use bytes::BytesMut;
use futures_util::{TryStreamExt as _, stream};
use send_wrapper::SendWrapper;

use super::{
    BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind, TransportRequest,
};
use crate::clock::timeout;

/// The speed of the slowest network on which a body can be sent within the time limit.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;

/// The default transport: reqwest, which in WebAssembly calls the host's `fetch`.
///
/// The host provides connections, TLS and proxies, and doesn't report how far a request got: a failed request counts as [`RequestDelivery::Unknown`],
/// even if the host couldn't connect. `fetch` follows redirects and may resend the body to the new URL; the call then fails. A body is held in memory
/// while it is sent.
#[derive(Debug, Default)]
pub struct ReqwestTransport {
    client: reqwest::Client,
}

impl ReqwestTransport {
    /// Creates a transport with default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ignores the timeout: the host has its own.
    pub(crate) fn with_connect_timeout(_: Duration) -> Self {
        Self::default()
    }
}

/// Uses an existing client.
impl From<reqwest::Client> for ReqwestTransport {
    fn from(client: reqwest::Client) -> Self {
        Self { client }
    }
}

impl Transport for ReqwestTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        // JavaScript values stay on their thread, which is the only one unless the application starts others.
        Box::pin(SendWrapper::new(send(&self.client, request)))
    }
}

async fn send(
    client: &reqwest::Client,
    request: TransportRequest,
) -> Result<http::Response<ResponseBody>, TransportError> {
    let (idle, total) = (request.idle_timeout, request.body.len());
    let mut body = BytesMut::new();
    let mut pieces = pin!(request.body.stream());
    while let Some(piece) = pieces.try_next().await.map_err(|error| {
        TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Body).with_source(error)
    })? {
        body.extend_from_slice(&piece);
    }
    let mut outgoing = reqwest::Request::new(request.method.clone(), request.url.clone());
    *outgoing.headers_mut() = request.headers.clone();
    *outgoing.body_mut() = (total > 0).then(|| body.freeze().into());
    request.report_uploaded(total);
    // Upload progress isn't visible here.
    let limit = idle.saturating_add(Duration::from_secs(total / MIN_BYTES_PER_SECOND));
    let answer = timeout(limit, client.execute(outgoing)).await;
    let mut response = answer.map_err(|_| timeout_error())?.map_err(fetch_error)?;
    if request.url != *response.url() {
        return Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Other)
            .with_source("the service redirected the request"));
    }
    let mut head = http::Response::new(());
    *head.status_mut() = response.status();
    std::mem::swap(head.headers_mut(), response.headers_mut());
    // The host decodes the body, and a range counts encoded bytes.
    if head.headers_mut().remove(http::header::CONTENT_ENCODING).is_some() {
        head.headers_mut().remove(http::header::ACCEPT_RANGES);
    }
    let chunks = stream::try_unfold(Box::pin(response.bytes_stream()), move |mut chunks| async move {
        let next = timeout(idle, chunks.try_next()).await.map_err(|_| timeout_error())?;
        Ok(next.map_err(fetch_error)?.map(|chunk| (chunk, chunks)))
    });
    Ok(head.map(|()| ResponseBody::stream(SendWrapper::new(Box::pin(chunks)))))
}

fn timeout_error() -> TransportError {
    TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)
}

fn fetch_error(error: reqwest::Error) -> TransportError {
    let delivery = if error.is_builder() { RequestDelivery::NotSent } else { RequestDelivery::Unknown };
    TransportError::new(delivery, TransportErrorKind::Other).with_source(error.without_url())
}
