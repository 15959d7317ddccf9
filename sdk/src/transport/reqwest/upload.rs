//! The request as reqwest sends it: its body in pieces, so that progress is visible and an early response is read.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, timeout_at};

use super::{
    super::{TransportError, TransportRequest, Upload, unconnected},
    failure::failed,
    silent,
};

/// A body in memory of at most this size is sent as one piece.
const ONE_PIECE: usize = 128 * 1024;
/// How many bytes the operating system holds at most after the connection has taken a body.
const IN_TRANSIT: u64 = 4 * 1024 * 1024;
/// The slowest network that sends them within the time limit.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// Longer than any request takes.
const NEVER: Duration = Duration::from_secs(24 * 365 * 10 * 60 * 60);

/// Sends a request, and returns its response once the head has arrived. There is no time limit for the whole, only for the time without
/// progress.
pub(super) async fn send(
    client: &reqwest::Client,
    request: &mut TransportRequest,
) -> Result<reqwest::Response, TransportError> {
    let (idle, total) = (request.idle_timeout, request.body.len());
    let progress = Arc::new(Progress::new(total));
    let mut outgoing = reqwest::Request::new(request.method.clone(), request.url.clone());
    request.connecting();
    *outgoing.body_mut() = Some(match total {
        0 => reqwest::Body::wrap(NoBody(Arc::clone(&request.upload))),
        _ => body(request, &progress),
    });
    *outgoing.headers_mut() = std::mem::take(&mut request.headers);
    if total > 0 {
        outgoing.headers_mut().insert(http::header::CONTENT_LENGTH, total.into());
    }
    let mut answer = pin!(client.execute(outgoing));
    loop {
        if let Ok(answer) = timeout_at(progress.silent_at(idle), &mut answer).await {
            return answer.map_err(|error| failed(error, progress.broken()));
        }
        if progress.silent_at(idle) <= Instant::now() {
            let is_connecting = request.upload.is_connecting();
            return Err(if is_connecting { unconnected(&request.url) } else { silent() });
        }
    }
}

fn body(request: &TransportRequest, progress: &Arc<Progress>) -> reqwest::Body {
    let (upload, progress) = (Arc::clone(&request.upload), Arc::clone(progress));
    match request.body.as_bytes().filter(|bytes| bytes.len() <= ONE_PIECE) {
        Some(bytes) => reqwest::Body::wrap_stream(Pieces {
            stream: stream::iter([Ok(bytes)]),
            upload,
            progress,
            paused: false,
        }),
        None => reqwest::Body::wrap_stream(Pieces {
            stream: Box::pin(request.body.stream()),
            upload,
            progress,
            paused: false,
        }),
    }
}

/// The body of a request without one. Nothing reads it, but a connection asks for its end when it sends the head.
struct NoBody(Arc<Upload>);

impl Body for NoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.0.started();
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}

/// The pieces of a body, as they are taken by the connection.
struct Pieces<S> {
    stream: S,
    upload: Arc<Upload>,
    progress: Arc<Progress>,
    /// Whether the connection had the time to read since the last piece.
    paused: bool,
}

impl<S: Stream<Item = io::Result<Bytes>> + Unpin> Stream for Pieces<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // A service that rejects a request early closes the connection after its response, and hyper reads nothing once it failed to write.
        if !this.paused && this.progress.taken.load(Ordering::Relaxed) > 0 {
            this.paused = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Poll::Ready(piece) = Pin::new(&mut this.stream).poll_next(context) else { return Poll::Pending };
        this.paused = false;
        Poll::Ready(piece.map(|piece| match piece {
            Ok(piece) => {
                this.upload.sent(this.progress.take(piece.len()), this.progress.total);
                Ok(piece)
            }
            Err(error) => {
                *this.progress.lock_broken() = Some(error);
                Err(io::Error::other("the body couldn't be read"))
            }
        }))
    }
}

/// How much of a body the connection has taken, and when it last took some.
struct Progress {
    begun: Instant,
    /// In milliseconds since the beginning.
    latest: AtomicU64,
    /// In bytes, as the total.
    taken: AtomicU64,
    total: u64,
    broken: Mutex<Option<io::Error>>,
}

impl Progress {
    fn new(total: u64) -> Self {
        Self {
            total,
            begun: Instant::now(),
            latest: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            broken: Mutex::default(),
        }
    }

    /// Counts a piece, and returns the bytes taken so far.
    fn take(&self, bytes: usize) -> u64 {
        let age = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.latest.store(age, Ordering::Relaxed);
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64
    }

    /// Returns when the request counts as stalled unless there is progress before: after the idle time, and once the body is complete, after
    /// the time that the network needs for its last bytes.
    fn silent_at(&self, idle: Duration) -> Instant {
        let taken = self.taken.load(Ordering::Relaxed);
        let in_transit = if taken == self.total { taken.min(IN_TRANSIT) } else { 0 };
        let latest = Duration::from_millis(self.latest.load(Ordering::Relaxed));
        let sending = Duration::from_millis(in_transit * 1_000 / MIN_BYTES_PER_SECOND);
        let never = self.begun + NEVER;
        (self.begun + latest + sending).checked_add(idle).map_or(never, |end| end.min(never))
    }

    fn broken(&self) -> Option<io::Error> {
        self.lock_broken().take()
    }

    fn lock_broken(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
