//! The server that takes deliveries: one path, one method, a bounded body, and a signature that fits.

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
use jiff::Timestamp;
use posthaste::{WebhookPayload, WebhookVerifier};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use super::forward::Forward;
use super::told::Told;

/// The most that a delivery may have.
const BODY_LIMIT: usize = 1024 * 1024;
/// How long a request may take to arrive: its headers, and then its body.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is done with deliveries.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) path: String,
    /// None takes everything.
    pub(super) verifier: Option<WebhookVerifier>,
    /// The types that are shown and passed on; all if there are none.
    pub(super) events: BTreeSet<String>,
    pub(super) forward: Option<Forward>,
}

/// Serves one connection until it ends, or until `stopped`.
pub(super) async fn connection(
    stream: TcpStream,
    receiver: Arc<Receiver>,
    telling: mpsc::Sender<Told>,
    mut stopped: watch::Receiver<bool>,
) {
    let answer = service_fn(move |request| {
        let (receiver, telling) = (Arc::clone(&receiver), telling.clone());
        async move {
            let (response, told) = receiver.take(request).await;
            if let Some(told) = told {
                // Nobody shows anything any more once the program ends.
                let _ = telling.send(told).await;
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    tokio::select! {
        // A sender that hangs up is no news.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Receiver {
    async fn take(&self, request: Request<Incoming>) -> (Response<Full<Bytes>>, Option<Told>) {
        let (head, body) = request.into_parts();
        if head.uri.path() != self.path {
            let why = format!("{} {} is not where deliveries arrive", head.method, head.uri.path());
            return refuse(StatusCode::NOT_FOUND, &why);
        }
        if head.method != Method::POST {
            let (mut response, told) = refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                &format!("a delivery is a POST (found {})", head.method),
            );
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return (response, told);
        }
        let read = tokio::time::timeout(PATIENCE, Limited::new(body, BODY_LIMIT).collect()).await;
        let body = match read {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let (mut response, told) =
                    refuse(StatusCode::PAYLOAD_TOO_LARGE, "a delivery has at most 1 MiB");
                // What is left of the body is not read.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                return (response, told);
            }
            Ok(Err(_)) => return refuse(StatusCode::BAD_REQUEST, "the body ended early"),
            Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT, "the body took longer than 15 s"),
        };
        let id = match &self.verifier {
            Some(verifier) => match verifier.verify(&head.headers, &body) {
                Ok(delivery) => delivery.id.to_string(),
                Err(refusal) => return refuse(StatusCode::UNAUTHORIZED, &refusal.to_string()),
            },
            None => claimed_id(&head.headers),
        };
        let event = WebhookPayload::from_slice(&body);
        let kind = event.as_ref().ok().map(|event| event.kind.as_str().to_owned());
        if !self.events.is_empty() && !kind.as_ref().is_some_and(|kind| self.events.contains(kind)) {
            return (plain(StatusCode::NO_CONTENT, Bytes::new(), None), None);
        }
        let mut told = Told {
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
            return (plain(StatusCode::NO_CONTENT, Bytes::new(), None), Some(told));
        };
        let answer = forward.pass(&head.headers, body).await;
        (told.status, told.why, told.took) = (answer.status, answer.error, Some(answer.took));
        (plain(answer.status, answer.body, answer.content_type), Some(told))
    }
}

/// The id that something claims to have which nobody verifies.
fn claimed_id(headers: &HeaderMap) -> String {
    let id = headers.get("svix-id").or_else(|| headers.get("webhook-id"));
    id.map_or_else(|| "(no id)".to_owned(), |id| String::from_utf8_lossy(id.as_bytes()).into_owned())
}

fn refuse(status: StatusCode, why: &str) -> (Response<Full<Bytes>>, Option<Told>) {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    (plain(status, format!("{why}\n").into(), Some(text)), Some(Told::refused(status, why)))
}

fn plain(status: StatusCode, body: Bytes, content_type: Option<HeaderValue>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    if let Some(content_type) = content_type {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}
