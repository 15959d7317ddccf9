//! The server that receives deliveries: one path, one method, a bounded body, and a valid signature.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use idempost::webhooks::{WebhookPayload, WebhookVerifier};
use jiff::Timestamp;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::delivery_record::DeliveryRecord;
use super::forward::Forward;

/// Maximum body size of a delivery in bytes.
const BODY_LIMIT: usize = 1024 * 1024;
/// The timeout for a request's headers, and then for its body.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The timeout for writing a delivery's line: less than the service's.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A delivery to be printed. Dropping the sender acknowledges it.
pub(super) type Unprinted = (DeliveryRecord, oneshot::Sender<()>);

/// The handling of deliveries.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) path: String,
    /// `None` accepts everything.
    pub(super) verifier: Option<WebhookVerifier>,
    /// The event types to show and forward; all if empty.
    pub(super) events: BTreeSet<String>,
    pub(super) forward: Option<Forward>,
}

/// Serves one connection until it closes or `stopped` is ready.
pub(super) async fn connection(
    stream: TcpStream,
    receiver: Arc<Receiver>,
    records: mpsc::Sender<Unprinted>,
    mut stopped: watch::Receiver<bool>,
) {
    let answer = service_fn(move |request| {
        let (receiver, records) = (Arc::clone(&receiver), records.clone());
        async move {
            let (response, record) = receiver.take(request).await;
            let Some(record) = record else { return Ok::<_, Infallible>(response) };
            // A forwarded delivery must not be sent again.
            let is_repeatable = record.took.is_none() && response.status().is_success();
            let printed = async {
                let (printing, printed) = oneshot::channel();
                // After the program stops, the receiver is gone; ignore that.
                let _ = records.send((record, printing)).await;
                let _ = printed.await;
            };
            let is_printed = tokio::time::timeout(WRITE_TIMEOUT, printed).await.is_ok();
            if is_repeatable && !is_printed {
                return Ok(build_response(StatusCode::SERVICE_UNAVAILABLE, Bytes::new(), None));
            }
            Ok(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    tokio::select! {
        // A sender that disconnects isn't worth reporting.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Receiver {
    async fn take(&self, request: Request<Incoming>) -> (Response<Full<Bytes>>, Option<DeliveryRecord>) {
        let (head, body) = request.into_parts();
        if head.uri.path() != self.path {
            let why = format!("{} {} isn't the endpoint for deliveries", head.method, head.uri.path());
            return reject(StatusCode::NOT_FOUND, &why);
        }
        if head.method != Method::POST {
            let (mut response, record) = reject(
                StatusCode::METHOD_NOT_ALLOWED,
                &format!("a delivery must be a POST (found {})", head.method),
            );
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return (response, record);
        }
        let read = tokio::time::timeout(TIMEOUT, Limited::new(body, BODY_LIMIT).collect()).await;
        let body = match read {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let (mut response, record) =
                    reject(StatusCode::PAYLOAD_TOO_LARGE, "a delivery must have at most 1 MiB");
                // The rest of the body isn't read.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                return (response, record);
            }
            Ok(Err(_)) => return reject(StatusCode::BAD_REQUEST, "the body ended early"),
            Err(_) => return reject(StatusCode::REQUEST_TIMEOUT, "the body took longer than 15 s"),
        };
        let id = match &self.verifier {
            Some(verifier) => match verifier.verify(&head.headers, &body) {
                Ok(delivery) => delivery.id.to_string(),
                Err(refusal) => return reject(StatusCode::UNAUTHORIZED, &refusal.to_string()),
            },
            None => claimed_id(&head.headers),
        };
        let event = WebhookPayload::from_slice(&body);
        let kind = event.as_ref().ok().map(|event| event.kind.as_str().to_owned());
        if !self.events.is_empty() && !kind.as_ref().is_some_and(|kind| self.events.contains(kind)) {
            return (build_response(StatusCode::NO_CONTENT, Bytes::new(), None), None);
        }
        let mut record = DeliveryRecord {
            at: Timestamp::now(),
            id: Some(id),
            kind,
            verified: self.verifier.is_some(),
            status: StatusCode::NO_CONTENT,
            why: None,
            took: None,
            payload: event.map(|event| event.raw().clone()).unwrap_or_default(),
        };
        let Some(forward) = &self.forward else {
            return (build_response(StatusCode::NO_CONTENT, Bytes::new(), None), Some(record));
        };
        let answer = forward.forward(&head.headers, body).await;
        (record.status, record.why, record.took) = (answer.status, answer.error, Some(answer.took));
        (build_response(answer.status, answer.body, answer.content_type), Some(record))
    }
}

/// The ID claimed by an unverified delivery.
fn claimed_id(headers: &HeaderMap) -> String {
    let id = headers.get("svix-id").or_else(|| headers.get("webhook-id"));
    id.map_or_else(|| "(no id)".to_owned(), |id| String::from_utf8_lossy(id.as_bytes()).into_owned())
}

fn reject(status: StatusCode, why: &str) -> (Response<Full<Bytes>>, Option<DeliveryRecord>) {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    (
        build_response(status, format!("{why}\n").into(), Some(text)),
        Some(DeliveryRecord::rejected(status, why)),
    )
}

fn build_response(
    status: StatusCode,
    body: Bytes,
    content_type: Option<HeaderValue>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}
