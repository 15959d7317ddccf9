//! The smallest service that a send needs: it reads the request completely and returns one ID.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use crate::listing;

/// The size of the last request body, in bytes.
static LAST_BODY: AtomicU64 = AtomicU64::new(0);

/// The response to every send.
const ACCEPTED: &[u8] = br#"{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}"#;

/// The response to every batch: it always has 100 emails.
static ACCEPTED_BATCH: LazyLock<Bytes> = LazyLock::new(|| {
    let mut body = String::from(r#"{"data":["#);
    for n in 0..100 {
        let separator = if n > 0 { "," } else { "" };
        let _ = write!(body, r#"{separator}{{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2{n:04}"}}"#);
    }
    body.push_str("]}");
    Bytes::from(body)
});

/// The additional headers of a sandbox, with values of the same length.
const BESIDES: [(&str, &str); 4] = [
    ("ratelimit-limit", "1000000"),
    ("ratelimit-remaining", "999999"),
    ("ratelimit-reset", "1"),
    ("x-request-id", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"),
];

/// How the peer serves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// With the headers of a sandbox.
    pub full: bool,
    /// Over HTTP/2 with prior knowledge instead of HTTP/1.1.
    pub http2: bool,
    /// The time until each response.
    pub delay: Duration,
}

/// Serves until the process ends, with or without TLS. `GET /COUNT/emails` is a list of COUNT emails, `GET /file/SIZE` a file of SIZE bytes; any
/// other `GET` returns the size of the last request body.
///
/// # Errors
/// The listener fails.
pub async fn serve(listener: TcpListener, options: Options, tls: Option<TlsAcceptor>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => connection(stream, options).await,
                Some(tls) => connection(tls.accept(stream).await?, options).await,
            }
        });
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    options: Options,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (stream, answer) = (TokioIo::new(stream), service_fn(move |request| answer(request, options)));
    if options.http2 {
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.max_concurrent_streams(None).serve_connection(stream, answer).await?;
    } else {
        http1::Builder::new().serve_connection(stream, answer).await?;
    }
    Ok(())
}

/// A file of `size` zero bytes in chunks of at most 64 KiB.
fn file(size: usize) -> impl Body<Data = Bytes, Error = Infallible> {
    static CHUNK: [u8; 64 * 1024] = [0; 64 * 1024];
    StreamBody::new(stream::unfold(size, |left| async move {
        let next = Bytes::from_static(&CHUNK[..left.min(CHUNK.len())]);
        (left > 0).then(|| (Ok(Frame::data(next.clone())), left - next.len()))
    }))
}

async fn answer(
    request: Request<Incoming>,
    options: Options,
) -> Result<Response<impl Body<Data = Bytes, Error = Box<dyn Error + Send + Sync>>>, Infallible> {
    if let Some(size) = request.uri().path().strip_prefix("/file/") {
        return Ok(Response::new(Either::Right(Box::pin(file(size.parse().unwrap_or_default())))));
    }
    let batch = request.uri().path() == "/emails/batch";
    let page = listing::answer(request.uri().path(), request.uri().query().unwrap_or_default());
    let body = if let Some(page) = page {
        Bytes::from(page)
    } else if request.method() == http::Method::GET {
        Bytes::from(LAST_BODY.load(Ordering::Relaxed).to_string())
    } else {
        let mut size = 0;
        let mut body = request.into_body();
        while let Some(Ok(frame)) = body.frame().await {
            size += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        LAST_BODY.store(size, Ordering::Relaxed);
        if batch { ACCEPTED_BATCH.clone() } else { Bytes::from_static(ACCEPTED) }
    };
    if !options.delay.is_zero() {
        sleep(options.delay).await;
    }
    let mut response = Response::new(Full::new(body));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    for (name, value) in BESIDES.into_iter().filter(|_| options.full) {
        response.headers_mut().insert(name, http::HeaderValue::from_static(value));
    }
    Ok(response.map(Either::Left))
}
