//! The transport over the reqwest crate: the only file that names it.

use std::{
    error::Error as StdError,
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::{BoxFuture, RequestDelivery, Transport, TransportError, TransportErrorKind, TransportRequest};

/// Bytes of an answer that says no which are kept; what follows is cut off.
const REFUSAL_LIMIT: usize = 1024 * 1024;

/// Sends over one pool of connections.
///
/// Defaults of reqwest that are switched off, each for a reason: redirects (a 307 repeats the body at another origin), its own
/// repeats (only the layer above knows whether a request may go out twice), the proxy of the environment for loopback addresses
/// (it would carry a local service's credentials elsewhere).
pub(crate) struct ReqwestTransport {
    /// Built at the first request: reading the system's certificates takes longer than starting a small program.
    client: OnceLock<reqwest::Client>,
    loopback: bool,
    /// Nothing is encrypted: plain http to a loopback address, past every proxy.
    plain: bool,
    /// Over HTTP/1.1, one connection a request.
    single: bool,
    connect_timeout: Duration,
}

impl ReqwestTransport {
    pub(crate) fn new(loopback: bool, https: bool, connect_timeout: Duration) -> Self {
        Self { client: OnceLock::new(), loopback, plain: loopback && !https, single: false, connect_timeout }
    }

    /// A transport that keeps no connection: for the one request after which it is dropped.
    pub(crate) fn for_one(url: &url::Url) -> Self {
        let loopback = super::endpoint::is_loopback(url);
        Self { single: true, ..Self::new(loopback, url.scheme() == "https", Duration::from_secs(10)) }
    }

    fn client(&self) -> Result<&reqwest::Client, TransportError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout);
        if self.loopback {
            builder = builder.no_proxy();
        }
        if self.plain {
            // Nobody's certificate will be looked at, so none is read: the system's take as long as two hundred emails.
            builder = builder.tls_certs_only([]);
        }
        if self.single {
            builder = builder.http1_only().pool_max_idle_per_host(0);
        }
        let client = builder.build().map_err(|error| {
            TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other).caused_by(error)
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl Transport for ReqwestTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let client = self.client()?;
            let (idle, limit) = (request.idle, request.answer_limit);
            let response = match request.body.as_bytes() {
                Some(bytes) => send_bytes(client, request, bytes).await?,
                None => send_stream(client, request).await?,
            };
            read(response, idle, limit).await
        })
    }
}

async fn send_bytes(
    client: &reqwest::Client,
    request: TransportRequest,
    bytes: Bytes,
) -> Result<reqwest::Response, TransportError> {
    let listener = request.on_upload.clone().filter(|_| !bytes.is_empty());
    let (total, idle) = (bytes.len() as u64, request.idle);
    let outgoing = prepare(request, (!bytes.is_empty()).then(|| bytes.into()));
    let answer = timeout(idle, client.execute(outgoing)).await.map_err(|_| silent())?;
    if let Some(listener) = listener {
        listener(total, total);
    }
    answer.map_err(|error| failed(error, None))
}

/// Sends a body in pieces. The peer may take as long as it wants over the whole, as long as it keeps taking pieces.
async fn send_stream(
    client: &reqwest::Client,
    request: TransportRequest,
) -> Result<reqwest::Response, TransportError> {
    let (total, idle, listener) = (request.body.len(), request.idle, request.on_upload.clone());
    let taken = Arc::new(AtomicU64::new(0));
    let broken = Arc::new(Mutex::new(None));
    let pieces = request.body.stream().map({
        let (taken, broken) = (Arc::clone(&taken), Arc::clone(&broken));
        move |piece| match piece {
            Ok(piece) => {
                let sent = taken.fetch_add(piece.len() as u64, Ordering::Relaxed) + piece.len() as u64;
                if let Some(listener) = &listener {
                    listener(sent, total);
                }
                Ok(piece)
            }
            Err(error) => {
                *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(io::Error::other("the body could not be read"))
            }
        }
    });
    let mut outgoing = prepare(request, Some(reqwest::Body::wrap_stream(pieces)));
    outgoing.headers_mut().insert(http::header::CONTENT_LENGTH, total.into());
    let mut answer = std::pin::pin!(client.execute(outgoing));
    let mut before = 0;
    loop {
        if let Ok(answer) = timeout(idle, &mut answer).await {
            let broken = broken.lock().unwrap_or_else(PoisonError::into_inner).take();
            return answer.map_err(|error| failed(error, broken));
        }
        let now = taken.load(Ordering::Relaxed);
        if now == before {
            return Err(silent());
        }
        before = now;
    }
}

fn prepare(request: TransportRequest, body: Option<reqwest::Body>) -> reqwest::Request {
    let mut outgoing = reqwest::Request::new(request.method, request.url);
    *outgoing.headers_mut() = request.headers;
    *outgoing.body_mut() = body;
    outgoing
}

async fn read(
    mut response: reqwest::Response,
    idle: Duration,
    limit: usize,
) -> Result<http::Response<Bytes>, TransportError> {
    let success = response.status().is_success();
    let limit = if success { limit } else { limit.min(REFUSAL_LIMIT) };
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    loop {
        let piece = match timeout(idle, response.chunk()).await {
            Err(_) => return Err(silent()),
            Ok(Err(error)) => return Err(failed(error, None)),
            Ok(Ok(None)) => break,
            Ok(Ok(Some(piece))) => piece,
        };
        let room = limit - first.len() - rest.len();
        if piece.len() > room {
            if success {
                return Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::TooLarge));
            }
            rest.extend_from_slice(&first);
            first.clear();
            rest.extend_from_slice(&piece[..room]);
            break;
        }
        // Most answers come in one piece, which then needs no copy.
        if first.is_empty() && rest.is_empty() {
            first = piece;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
                first.clear();
            }
            rest.extend_from_slice(&piece);
        }
    }
    let mut answer = http::Response::new(if rest.is_empty() { first } else { rest.freeze() });
    *answer.status_mut() = response.status();
    std::mem::swap(answer.headers_mut(), response.headers_mut());
    Ok(answer)
}

fn silent() -> TransportError {
    TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)
}

fn failed(error: reqwest::Error, broken: Option<io::Error>) -> TransportError {
    let host = error.url().and_then(|url| {
        let host = url.host_str()?;
        Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    });
    // A path can hold an address, so it has no place in an error's text.
    let error = error.without_url();
    if let Some(broken) = broken {
        // The length was announced: a service can't take an incomplete body for a whole one.
        return TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Body).caused_by(broken);
    }
    let (reached, kind) = if error.is_connect() {
        let untrusted = causes(&error).any(is_tls);
        (
            RequestDelivery::NotSent,
            if untrusted { TransportErrorKind::Tls } else { TransportErrorKind::Connect },
        )
    } else if error.is_builder() {
        (RequestDelivery::NotSent, TransportErrorKind::Other)
    } else if error.is_timeout() {
        (RequestDelivery::Unknown, TransportErrorKind::Timeout)
    } else {
        (RequestDelivery::Unknown, TransportErrorKind::Closed)
    };
    let failed = TransportError::new(reached, kind).caused_by(error);
    match host {
        Some(host) => failed.at(host),
        None => failed,
    }
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}

/// What TLS objects to arrives as an I/O error over invalid data, often within another I/O error, which hides it from its
/// `source`; a connection that was merely refused does not.
fn is_tls(cause: &(dyn StdError + 'static)) -> bool {
    let Some(error) = cause.downcast_ref::<io::Error>() else { return false };
    error.kind() == io::ErrorKind::InvalidData || error.get_ref().is_some_and(|inner| is_tls(inner))
}
