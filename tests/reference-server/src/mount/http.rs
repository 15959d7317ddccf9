//! The HTTP mount for long-running sandboxes, and for faults on the wire: HTTP/1.1 with `hyper`.

mod head_timer;
mod live;
mod writing;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, Version, header};
use http_body_util::{BodyExt as _, Either};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use self::head_timer::HeadTimer;
use self::live::StreamBody;
use self::writing::Writing;
use crate::reply::{Reply, Then};
use crate::route::{Cost, RouteMatch};
use crate::service::{Service, collapse_slashes, outbound};
use crate::state::State;
use crate::state::faults::Wire;
use crate::state::in_flight::{Reservation, UNCOUNTED};
use crate::wire::{Cancellation, Problem};

/// The interval at which due jobs run without requests.
const TICK: Duration = Duration::from_millis(200);
/// The time for open connections to finish after `stop`.
const GRACE: Duration = Duration::from_secs(2);
/// The timeout for a rejected client to read the response.
const REJECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for a client to finish sending a body that isn't read.
const DISCARD: Duration = Duration::from_secs(2);
/// Bodies of at least this size are handled on a blocking thread.
const LARGE: usize = 256 << 10;

/// The memory of a request, as a multiple of its body: the body and its parsed form.
const PROCESSING: usize = 2;

/// Serves until `stop` is ready, then lets running requests finish.
///
/// # Errors
/// Fails if the listener fails permanently. A single failed `accept` (such as too many open files) is retried.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    serve_until(listener, service, pin!(stop)).await
}

async fn serve_until(
    listener: TcpListener,
    service: Arc<Service>,
    mut stop: Pin<&mut (dyn Future<Output = ()> + Send)>,
) -> io::Result<()> {
    if let Ok(address) = listener.local_addr() {
        service.set_base_url(&format!("http://{}", reachable_address(address)));
        if !address.ip().is_loopback() {
            service.state().http_clients.restrict_to_public();
        }
        if address.ip().is_unspecified() {
            service.state().links.allow_any_ip();
        }
    }
    let (stopping, stopped) = watch::channel(false);
    let room = Arc::new(Semaphore::new(service.settings().max_connections));
    let due_work = tokio::spawn(do_due_work(Arc::clone(&service)));
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let service = Arc::clone(&service);
                    match Arc::clone(&room).try_acquire_owned() {
                        Ok(place) => {
                            let stopped = stopped.clone();
                            spawn_connection(stream, Connection { service, stopped, _place: place });
                        }
                        Err(_) => {
                            tokio::spawn(async move {
                                let _ = timeout(REJECT_TIMEOUT, reject(stream, service.reject_connection())).await;
                            });
                        }
                    }
                }
                // Out of file descriptors, or a connection that closed before `accept`: both are transient.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
        }
    }
    due_work.abort();
    drop(stopped);
    // Every connection holds a receiver: the last one to end closes the channel.
    let _ = stopping.send(true);
    let _ = timeout(GRACE, stopping.closed()).await;
    Ok(())
}

/// Runs due jobs on a blocking thread.
async fn do_due_work(service: Arc<Service>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if service.has_due() {
            let service = Arc::clone(&service);
            // The panic was reported; its job is lost, and the others run at the next tick.
            let _ = tokio::task::spawn_blocking(move || service.run_due()).await;
        }
        outbound::run_all(&service);
    }
}

/// The address for programs on this machine: loopback, if the listener is on all addresses.
pub fn reachable_address(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    }
}

/// Responds to a connection beyond the limit, and closes it.
async fn reject(mut stream: TcpStream, response: Response<Bytes>) -> io::Result<()> {
    let (parts, body) = response.into_parts();
    let mut head = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n".to_vec();
    for (name, value) in &parts.headers {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    head.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
    stream.write_all(&head).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await?;
    // Closing a connection with unread input resets it, and the client may lose the response.
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(drop)
}

/// The state that all requests of a connection share.
struct Connection {
    service: Arc<Service>,
    /// Whether the mount is stopping.
    stopped: watch::Receiver<bool>,
    /// Counts toward [`max_connections`](crate::Settings::max_connections) until the connection ends, even as a websocket.
    _place: OwnedSemaphorePermit,
}

/// Not generic and not async, so that the connection and `hyper` are compiled with this crate and its optimization level, rather than those of the
/// program that calls [`serve`].
fn spawn_connection(stream: TcpStream, shared: Connection) {
    tokio::spawn(serve_connection(stream, shared));
}

async fn serve_connection(stream: TcpStream, shared: Connection) {
    // Responses are written immediately; delaying them to combine packets has no benefit.
    let _ = stream.set_nodelay(true);
    let mut stopped = shared.stopped.clone();
    let settings = shared.service.settings();
    let (header_timeout, stream) = (settings.header_timeout, Writing::new(stream, settings.body_timeout));
    let shared = Arc::new(shared);
    let connection = http1::Builder::new()
        .timer(HeadTimer::default())
        .header_read_timeout(header_timeout)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| handle_request(Arc::clone(&shared), request)),
        )
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        // A connection that was dropped on purpose, or by the client, isn't an error.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The scripted loss of a connection, as an error for `hyper`.
#[derive(Debug, thiserror::Error)]
#[error("the connection was closed on purpose")]
struct ConnectionCut;

async fn handle_request(
    connection: Arc<Connection>,
    mut request: Request<Incoming>,
) -> Result<Response<Either<CuttableBody, StreamBody>>, ConnectionCut> {
    let service = &connection.service;
    collapse_slashes(request.uri_mut());
    let (reply, upgrade) = match read(service, request).await {
        Read::Complete(mut request, found, body) => {
            let wants_upgrade = request.headers().contains_key(header::UPGRADE);
            let upgrade = wants_upgrade.then(|| hyper::upgrade::on(&mut request));
            let reply = handle(service, request, found).await;
            drop(body);
            (reply, upgrade)
        }
        Read::Rejected(head) => (close_after(service.reply(head)), None),
        Read::Refused(head, problem) => (close_after(service.reject_unread(&head, problem).into()), None),
    };
    outbound::run_all(service);
    let state = service.state();
    let stopped = || connection.stopped.clone();
    let Reply { response, then } = reply;
    match then {
        Then::Send(Wire { stalled: true, .. }) => {
            // `hyper` drops this future when the client disconnects.
            let _ = stopped().wait_for(|stopped| *stopped).await;
            Err(ConnectionCut)
        }
        Then::Send(Wire { delay, cut, .. }) => {
            if !delay.is_zero() {
                sleep(delay).await;
            }
            match cut {
                None => Ok(with_ending(state, response, Ending::Complete)),
                Some(Some(bytes)) => Ok(with_ending(state, response, Ending::CutAfter(bytes))),
                Some(None) => Err(ConnectionCut),
            }
        }
        Then::Wait(task) => {
            let mut stopped = stopped();
            let found = tokio::select! {
                biased;
                found = task(Arc::clone(state)) => found,
                _ = stopped.wait_for(|stopped| *stopped) => Problem::shutting_down().into_response(),
            };
            Ok(with_ending(state, replace_response(response, found), Ending::Complete))
        }
        Then::Perform(task) => {
            let done = tokio::spawn(task(Arc::clone(state))).await;
            let done = done.unwrap_or_else(|error| Problem::application(error.to_string()).into_response());
            Ok(with_ending(state, replace_response(response, done), Ending::Complete))
        }
        Then::Stream(start) => {
            Ok(response.map(|_| Either::Right(StreamBody(start(Arc::clone(state), stopped())))))
        }
        Then::Upgrade(serve) => {
            let Some(upgrade) = upgrade else { return Err(ConnectionCut) };
            let response = with_ending(state, response, Ending::Complete);
            let (state, stopped, connection) = (Arc::clone(state), stopped(), Arc::clone(&connection));
            tokio::spawn(async move {
                serve(state, upgrade, stopped).await;
                drop(connection);
            });
            Ok(response)
        }
    }
}

/// A response to a request whose body isn't read.
fn close_after(mut reply: Reply) -> Reply {
    reply.response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// A response whose body counts as memory in flight until it is written, or 503.
fn with_ending(
    state: &State,
    mut response: Response<Bytes>,
    ending: Ending,
) -> Response<Either<CuttableBody, StreamBody>> {
    let Some(held) = state.in_flight.try_reserve(response.body().len()) else {
        let (parts, body) = Problem::memory_in_use().into_response().into_parts();
        let headers = response.headers_mut();
        for other in [header::CONTENT_DISPOSITION, header::ETAG] {
            headers.remove(other);
        }
        headers.insert(header::RETRY_AFTER, HeaderValue::from(1));
        headers.extend(parts.headers);
        *response.status_mut() = parts.status;
        return response.map(|_| Either::Left(CuttableBody { body, ending: Ending::Complete }));
    };
    // `hyper` still has the bytes when the body has ended.
    response.map(|body| {
        Either::Left(CuttableBody {
            body: if body.len() > UNCOUNTED { held.guard_bytes(body) } else { body },
            ending,
        })
    })
}

/// Combines the status and body of a later response with the headers of the original one.
fn replace_response(mut response: Response<Bytes>, later: Response<Bytes>) -> Response<Bytes> {
    *response.status_mut() = later.status();
    *response.body_mut() = later.into_body();
    response
}

/// The result of reading a request.
enum Read {
    /// With its route, and the memory that the body and its processing take.
    Complete(Request<Bytes>, RouteMatch, Reservation),
    /// Only the head, which is enough to reject the request.
    Rejected(Request<Bytes>),
    /// Only the head: the body exceeds the limit or the memory, or timed out.
    Refused(Request<Bytes>, Problem),
}

async fn read(service: &Service, request: Request<Incoming>) -> Read {
    let (settings, in_flight) = (service.settings(), &service.state().in_flight);
    let (mut parts, mut incoming) = request.into_parts();
    let refused = |parts: Parts, incoming, problem| {
        discard(&parts.headers, incoming);
        Read::Refused(Request::from_parts(parts, Bytes::new()), problem)
    };
    if parts.version == Version::HTTP_11 && parts.headers.get_all(header::HOST).iter().count() != 1 {
        return refused(
            parts,
            incoming,
            Problem::bad_request("An HTTP/1.1 request must have one `Host` header."),
        );
    }
    let found = service.find(&parts.method, parts.uri.path());
    let limit = found.route.as_ref().map_or(settings.body_limit, |route| route.body_limit(settings));
    let announced = incoming.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let mut reserved = Reservation::default();
    if announced == Some(0) {
        return Read::Complete(Request::from_parts(parts, Bytes::new()), found, reserved);
    }
    if announced.is_none_or(|bytes| bytes > UNCOUNTED) {
        // The service reads no large body for a client without access.
        let head = Request::from_parts(parts, Bytes::new());
        if service.is_rejected(&head) {
            discard(head.headers(), incoming);
            return Read::Rejected(head);
        }
        parts = head.into_parts().0;
        if announced.is_some_and(|bytes| bytes > limit) {
            return refused(parts, incoming, Problem::too_large(limit));
        }
        match in_flight.reserve(PROCESSING * announced.unwrap_or_default(), settings.body_timeout).await {
            Some(memory) => reserved = memory,
            None => return refused(parts, incoming, Problem::memory_in_use()),
        }
    } else if announced.is_some_and(|bytes| bytes > limit) {
        return refused(parts, incoming, Problem::too_large(limit));
    }
    let mut body = Vec::with_capacity(announced.unwrap_or_default());
    while !incoming.is_end_stream() {
        let next = tokio::select! {
            biased;
            next = incoming.frame() => next,
            // A frame that has already arrived starts no timer.
            () = async { sleep(settings.body_timeout).await } => {
                return refused(parts, incoming, Problem::body_timeout(settings.body_timeout));
            }
        };
        match next {
            None => break,
            // Other frames are trailers.
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                if body.len() + data.len() > limit {
                    return refused(parts, incoming, Problem::too_large(limit));
                }
                if !in_flight.extend(&mut reserved, PROCESSING * (body.len() + data.len())) {
                    return refused(parts, incoming, Problem::memory_in_use());
                }
                body.extend_from_slice(&data);
            }
            // A client that disconnected doesn't read the response.
            Some(Err(_)) => {
                let message = "The request body is incomplete, or its chunks are malformed.";
                return refused(parts, incoming, Problem::bad_request(message));
            }
        }
    }
    if body.len() >= LARGE {
        // It may be stored, and its memory is counted by length.
        body.shrink_to_fit();
    }
    Read::Complete(Request::from_parts(parts, body.into()), found, reserved)
}

/// Receives the rest of a body and drops it. Many clients read the response only after they have sent the request, and never get it if the connection
/// is closed before.
fn discard(headers: &HeaderMap, mut rest: Incoming) {
    // A client that waits for `100 Continue` reads the response first.
    if !headers.contains_key(header::EXPECT) {
        tokio::spawn(timeout(DISCARD, async move { while let Some(Ok(_)) = rest.frame().await {} }));
    }
}

async fn handle(service: &Arc<Service>, mut request: Request<Bytes>, found: RouteMatch) -> Reply {
    let is_quick = found.route.as_ref().map_or(true, |route| route.cost == Cost::Quick);
    // `try_reply` returns `None` for a request that would wait for the disk or for a slow request; it must not delay others.
    if is_quick
        && request.body().len() < LARGE
        && let Some(reply) = service.try_reply(&request, &found)
    {
        return reply;
    }
    // The semaphore is never closed.
    let _slot = service.state().in_flight.slow.acquire().await;
    let service = Arc::clone(service);
    // This future is dropped with its connection, unlike the thread.
    let cancellation = Cancellation::default();
    let _gone = cancellation.on_drop();
    request.extensions_mut().insert(cancellation);
    tokio::task::spawn_blocking(move || service.reply_to_match(&request, &found))
        .await
        .unwrap_or_else(|error| Problem::application(error.to_string()).into_response().into())
}

/// A body that may end with a dropped connection.
struct CuttableBody {
    body: Bytes,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    /// After this number of bytes.
    CutAfter(usize),
    /// Once the preceding data has been written: `hyper` discards its buffer when a body fails.
    CutSoon,
    CutNow,
}

impl Body for CuttableBody {
    type Data = Bytes;
    type Error = ConnectionCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionCut>>> {
        match self.ending {
            Ending::Complete => {
                let body = std::mem::take(&mut self.body);
                Poll::Ready((!body.is_empty()).then(|| Ok(Frame::data(body))))
            }
            Ending::CutAfter(bytes) if bytes > 0 => {
                self.ending = Ending::CutSoon;
                let bytes = bytes.min(self.body.len());
                Poll::Ready(Some(Ok(Frame::data(self.body.slice(..bytes)))))
            }
            Ending::CutAfter(_) | Ending::CutSoon => {
                self.ending = Ending::CutNow;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ending::CutNow => Poll::Ready(Some(Err(ConnectionCut))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_empty() && self.ending == Ending::Complete
    }

    fn size_hint(&self) -> SizeHint {
        // Even for a body that will be cut: the headers promise all of it.
        SizeHint::with_exact(self.body.len() as u64)
    }
}

impl From<Infallible> for ConnectionCut {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
