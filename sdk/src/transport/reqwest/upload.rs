//! A request as sent by reqwest: its body is split into pieces, so that progress is visible and an early response is read.

use std::{
    convert::Infallible,
    future::Future as _,
    io,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{stream, task::AtomicWaker};
use http_body::{Body, Frame, SizeHint};
use tokio::{
    task::yield_now,
    time::{Instant, timeout_at},
};

use super::{
    super::{TransportError, TransportRequest, Upload, connect_timeout_error},
    failure::transport_error,
    idle_timeout_error,
};

/// An in-memory body up to this size is sent as one piece.
const MAX_SINGLE_WRITE: usize = 128 * 1024;
/// The maximum number of bytes that the operating system may still buffer after the connection has taken a body.
const IN_TRANSIT: u64 = 4 * 1024 * 1024;
/// The speed of the slowest network that can send those bytes within the time limit.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// The number of runtime turns between two pieces: a service on the same runtime needs one to read and respond, and the connection needs another.
const MAX_YIELDS: u8 = 3;
/// Longer than any request takes.
const NEVER: Duration = Duration::from_secs(24 * 365 * 10 * 60 * 60);

/// Sends a request and returns its response once the head has arrived. The total time isn't limited, only the time without progress.
pub(super) async fn send(
    client: &reqwest::Client,
    request: &mut TransportRequest,
) -> Result<reqwest::Response, TransportError> {
    let (idle, total) = (request.idle_timeout, request.body.len());
    let progress = Arc::new(Progress::new(total));
    let mut outgoing = reqwest::Request::new(request.method.clone(), request.url.clone());
    request.report_connecting();
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
        if let Ok(answer) = timeout_at(progress.stalls_at(idle), &mut answer).await {
            return answer.map_err(|error| transport_error(error, progress.take_failure()));
        }
        if progress.stalls_at(idle) <= Instant::now() {
            let is_connecting = request.upload.is_connecting();
            return Err(if is_connecting {
                connect_timeout_error(&request.url)
            } else {
                idle_timeout_error()
            });
        }
    }
}

fn body(request: &TransportRequest, progress: &Arc<Progress>) -> reqwest::Body {
    let (upload, progress) = (Arc::clone(&request.upload), Arc::clone(progress));
    match request.body.as_bytes().filter(|bytes| bytes.len() <= MAX_SINGLE_WRITE) {
        Some(bytes) => reqwest::Body::wrap(Pieces::new(stream::iter([Ok(bytes)]), upload, progress)),
        None => reqwest::Body::wrap(Pieces::new(Box::pin(request.body.stream()), upload, progress)),
    }
}

/// The body of a request without one. Nothing reads it, but the connection polls it for its end when it sends the head.
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
        self.0.record_connected();
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}

/// The pieces of a body as the connection takes them. Their end is known in advance, so HTTP/2 needs no separate frame for it.
struct Pieces<S> {
    /// Never locked; required only because reqwest demands `Sync`.
    stream: Mutex<S>,
    upload: Arc<Upload>,
    progress: Arc<Progress>,
    /// The number of runtime turns since the last piece, in which the connection can read.
    turns: u8,
    pause: Option<Arc<Pause>>,
}

impl<S> Pieces<S> {
    fn new(stream: S, upload: Arc<Upload>, progress: Arc<Progress>) -> Self {
        Self { stream: Mutex::new(stream), upload, progress, turns: 0, pause: None }
    }
}

impl<S: Stream<Item = io::Result<Bytes>> + Unpin> Body for Pieces<S> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        // A service that rejects a request early closes the connection after its response, and hyper doesn't read any more once a write has failed.
        let taken = this.progress.taken.load(Ordering::Relaxed);
        if taken > 0 && taken < this.progress.total {
            while this.turns < MAX_YIELDS {
                let pause = this.pause.get_or_insert_with(Pause::begin);
                // Over HTTP/2, the task changes.
                pause.connection.register(context.waker());
                if !pause.over.load(Ordering::Acquire) {
                    return Poll::Pending;
                }
                this.turns += 1;
                this.pause = None;
            }
        }
        let stream = this.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Poll::Ready(piece) = Pin::new(stream).poll_next(context) else { return Poll::Pending };
        this.turns = 0;
        Poll::Ready(piece.map(|piece| match piece {
            Ok(piece) => {
                this.upload.report_sent(this.progress.take(piece.len()), this.progress.total);
                Ok(Frame::data(piece))
            }
            Err(error) => {
                *this.progress.lock_failure() = Some(error);
                Err(io::Error::other("the body couldn't be read"))
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.progress.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.progress.remaining())
    }
}

/// A turn of the runtime, after which it has checked for newly arrived data. hyper polls a body twice before it reads again, so a single poll isn't
/// enough.
#[derive(Default)]
struct Pause {
    over: AtomicBool,
    connection: AtomicWaker,
}

impl Pause {
    fn begin() -> Arc<Self> {
        let pause = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&pause));
        if pin!(yield_now()).poll(&mut Context::from_waker(&waker)).is_ready() {
            waker.wake();
        }
        pause
    }
}

impl Wake for Pause {
    fn wake(self: Arc<Self>) {
        self.over.store(true, Ordering::Release);
        self.connection.wake();
    }
}

/// How much of a body the connection has taken, and when it took the last piece.
struct Progress {
    begun: Instant,
    /// In milliseconds since the start.
    latest: AtomicU64,
    /// In bytes, like the total.
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

    /// Counts a piece and returns the number of bytes taken so far.
    fn take(&self, bytes: usize) -> u64 {
        let age = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.latest.store(age, Ordering::Relaxed);
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64
    }

    /// Returns the number of bytes that the connection hasn't taken yet.
    fn remaining(&self) -> u64 {
        self.total.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Returns when the request counts as stalled unless it makes progress: after the idle time and, once the body is complete, after the additional
    /// time that the network needs for the last bytes.
    fn stalls_at(&self, idle: Duration) -> Instant {
        let taken = self.taken.load(Ordering::Relaxed);
        let in_transit = if taken == self.total { taken.min(IN_TRANSIT) } else { 0 };
        let latest = Duration::from_millis(self.latest.load(Ordering::Relaxed));
        let sending = Duration::from_millis(in_transit * 1_000 / MIN_BYTES_PER_SECOND);
        let never = self.begun + NEVER;
        (self.begun + latest + sending).checked_add(idle).map_or(never, |end| end.min(never))
    }

    fn take_failure(&self) -> Option<io::Error> {
        self.lock_failure().take()
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, io::Write as _, net::TcpListener};

    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_response_is_read_before_the_next_piece_of_a_body_is_sent() {
        // B-02: hyper polls a body twice in a row, over HTTP/2 from two tasks, and doesn't read any more once a write has failed.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connection = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut service, _) = listener.accept().unwrap();
        let pieces = stream::iter(["first", "second"].map(|piece| Ok(piece.into())));
        let mut body = Pieces::new(pieces, Upload::new(None), Arc::new(Progress::new(11)));
        let mut next = async || {
            let twice = |context: &mut Context<'_>| match Pin::new(&mut body)
                .poll_frame(&mut Context::from_waker(Waker::noop()))
            {
                Poll::Pending => Pin::new(&mut body).poll_frame(context),
                ready @ Poll::Ready(_) => ready,
            };
            poll_fn(twice).await.unwrap().unwrap().into_data().unwrap()
        };
        assert_eq!(next().await, "first");
        service.write_all(b"413").unwrap();
        assert_eq!(next().await, "second");
        assert_eq!(connection.try_read(&mut [0; 3]).unwrap(), 3);
    }
}
