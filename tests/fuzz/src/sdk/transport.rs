//! A transport that returns one response to every request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Response, StatusCode};
use idempost::transport::{
    BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind, TransportRequest,
};

use crate::text;

/// The response, and the number of requests that received it.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the connection breaks at the end of the body.
    pub(crate) breaks: bool,
    pub(crate) sent: Arc<AtomicU32>,
}

impl Answer {
    /// Reads a line with the status, and `broken` if the connection breaks, and the headers and body that follow it.
    pub(crate) fn read(line: &[u8], rest: &[u8]) -> Self {
        let (status, flag) = text::number(line);
        let (fields, body) = text::head(rest);
        let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
        Self {
            status: status.unwrap_or(StatusCode::OK),
            headers: text::headers(&fields),
            body: Bytes::copy_from_slice(body),
            breaks: flag == b"broken",
            sent: Arc::default(),
        }
    }
}

impl Transport for Answer {
    fn send(&self, _: TransportRequest) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        self.sent.fetch_add(1, Ordering::SeqCst);
        let body = if self.breaks {
            let lost = TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Closed);
            ResponseBody::stream(stream::iter([Ok(self.body.clone()), Err(lost)]))
        } else {
            ResponseBody::from(self.body.clone())
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        response.headers_mut().clone_from(&self.headers);
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// Runs a future with a clock that passes without waiting.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O starts").block_on(future)
}
