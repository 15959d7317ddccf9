//! The transport over the reqwest crate; no other file uses reqwest.

use std::{
    error::Error as StdError,
    future::Future as _,
    io,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use tokio::time::{Sleep, sleep, timeout};

use super::{
    BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind,
    TransportRequest, endpoint::is_loopback, proxy::ProxyVariables,
};

/// The default transport: reqwest with its connection pool.
///
/// Three of reqwest's defaults are off: redirects (a 307 would repeat the body at another origin), its own retries (only the call knows whether
/// a retry is safe), and the environment's proxy for loopback addresses (it would leak a local service's credential).
///
/// Proxies come from `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, also in lower case; `NO_PROXY` lists the exceptions. If the value that applies
/// to a request isn't the URL of an HTTP proxy, the request isn't sent and its call fails with [`Error::Settings`](crate::Error::Settings).
///
/// One transport can serve a client, its session and an authorization server: wrap it in an [`Arc`] and give a clone to each.
///
/// ```
/// # #[cfg(feature = "rustls")]
/// # fn example(ca: reqwest::Certificate) -> idempost::Result<()> {
/// use std::sync::Arc;
///
/// use idempost::{Client, transport::ReqwestTransport};
///
/// let transport = Arc::new(ReqwestTransport::configured(move |http| {
///     http.add_root_certificate(ca.clone()).pool_max_idle_per_host(4)
/// }));
/// let client = Client::builder()
///     .base_url("https://mail.internal")
///     .api_key("re_…")
///     .transport(Arc::clone(&transport))
///     .build();
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct ReqwestTransport {
    /// Built at the first request that needs it, since loading the system's certificates is slower than starting a small program.
    clients: [OnceLock<reqwest::Client>; 6],
    proxy_variables: OnceLock<ProxyVariables>,
    configure: Option<Configure>,
    connect_timeout: Option<Duration>,
    /// A client built by the application, whose redirect policy is unknown.
    given: Option<reqwest::Client>,
}

type Configure = Box<dyn Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync>;

/// How the peer is reached. Loopback addresses are never proxied; plain http needs no certificates, which take as long to load as sending two
/// hundred emails.
#[derive(Clone, Copy)]
enum Route {
    Remote,
    Loopback,
    LoopbackPlain,
}

impl Route {
    fn to(url: &url::Url) -> Self {
        match is_loopback(url) {
            false => Self::Remote,
            true if url.scheme() == "http" => Self::LoopbackPlain,
            true => Self::Loopback,
        }
    }
}

impl ReqwestTransport {
    /// Creates a transport with custom reqwest settings: a proxy, a CA, limits of the connection pool. `configure` runs once per internal client
    /// (pooled or not, remote or loopback); redirects and retries are turned off afterwards. A malformed proxy variable of the environment is an
    /// error even if `configure` sets another proxy.
    pub fn configured(
        configure: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        Self { configure: Some(Box::new(configure)), ..Self::default() }
    }

    pub(crate) fn with_connect_timeout(limit: Duration) -> Self {
        Self { connect_timeout: Some(limit), ..Self::default() }
    }

    fn client(&self, url: &url::Url, new_connection: bool) -> Result<&reqwest::Client, TransportError> {
        if let Some(client) = &self.given {
            return Ok(client);
        }
        let route = Route::to(url);
        if matches!(route, Route::Remote) {
            self.proxy_variables.get_or_init(ProxyVariables::from_env).check(url).map_err(|error| {
                TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Settings).caused_by(error)
            })?;
        }
        let slot = &self.clients[2 * route as usize + usize::from(new_connection)];
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        #[cfg(feature = "rustls")]
        install_crypto_provider();
        let mut builder = reqwest::Client::builder()
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout.unwrap_or(Duration::from_secs(10)));
        if let Some(configure) = &self.configure {
            builder = configure(builder);
        }
        builder =
            builder.redirect(reqwest::redirect::Policy::none()).retry(reqwest::retry::never()).referer(false);
        if !matches!(route, Route::Remote) {
            builder = builder.no_proxy();
        }
        #[cfg(any(feature = "rustls", feature = "rustls-no-provider"))]
        if matches!(route, Route::LoopbackPlain) {
            builder = builder.tls_certs_only([]);
        }
        if new_connection {
            builder = builder.http1_only().pool_max_idle_per_host(0);
        }
        let client = builder.build().map_err(|error| {
            TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other).caused_by(error)
        })?;
        Ok(slot.get_or_init(|| client))
    }
}

/// Installs ring as the process's default cryptography provider of rustls, unless the application has installed one.
///
/// The transport calls it before it builds its first client. An application that builds `reqwest` or rustls clients of its own without a
/// provider calls it at startup.
#[cfg(feature = "rustls")]
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was faster, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Uses an existing client. Redirects and retries must be turned off; a response from another URL than the requested one is reported as an
/// error. Token requests require a new connection, which such a client opens only if its pool is empty: prefer
/// [`configured`](ReqwestTransport::configured) for sessions.
impl From<reqwest::Client> for ReqwestTransport {
    fn from(client: reqwest::Client) -> Self {
        Self { given: Some(client), ..Self::default() }
    }
}

impl std::fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReqwestTransport")
    }
}

impl Transport for ReqwestTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let client = self.client(&request.url, request.new_connection)?;
            let idle = request.idle_timeout;
            let asked = self.given.is_some().then(|| request.url.clone());
            let mut response = match request.body.as_bytes() {
                Some(bytes) => send_bytes(client, request, bytes).await?,
                None => send_stream(client, request).await?,
            };
            if asked.is_some_and(|asked| asked != *response.url()) {
                return Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Other)
                    .caused_by(
                        "the given reqwest client follows redirects; build it with `Policy::none()`",
                    ));
            }
            let mut head = http::Response::new(());
            *head.status_mut() = response.status();
            std::mem::swap(head.headers_mut(), response.headers_mut());
            Ok(head.map(|()| ResponseBody::stream(Chunks { response, idle, silence: None })))
        })
    }
}

/// The chunks of a body. The idle timer runs only while the peer is silent.
struct Chunks {
    response: reqwest::Response,
    idle: Duration,
    silence: Option<Pin<Box<Sleep>>>,
}

impl Stream for Chunks {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // `chunk` keeps no state between polls: data read so far is in the response.
        if let Poll::Ready(chunk) = pin!(this.response.chunk()).poll(context) {
            this.silence = None;
            return Poll::Ready(chunk.map_err(|error| failed(error, None)).transpose());
        }
        let silence = this.silence.get_or_insert_with(|| Box::pin(sleep(this.idle)));
        silence.as_mut().poll(context).map(|()| Some(Err(silent())))
    }
}

async fn send_bytes(
    client: &reqwest::Client,
    request: TransportRequest,
    bytes: Bytes,
) -> Result<reqwest::Response, TransportError> {
    let listener = request.on_upload.clone().filter(|_| !bytes.is_empty());
    let (total, idle) = (bytes.len() as u64, request.idle_timeout);
    let outgoing = prepare(request, (!bytes.is_empty()).then(|| bytes.into()));
    let answer = timeout(idle, client.execute(outgoing)).await.map_err(|_| silent())?;
    if let Some(listener) = listener {
        listener(total, total);
    }
    answer.map_err(|error| failed(error, None))
}

/// Sends a body in chunks. There is no time limit for the whole, only for the time without progress.
async fn send_stream(
    client: &reqwest::Client,
    request: TransportRequest,
) -> Result<reqwest::Response, TransportError> {
    let (total, idle, listener) = (request.body.len(), request.idle_timeout, request.on_upload.clone());
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
                Err(io::Error::other("the body couldn't be read"))
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

fn silent() -> TransportError {
    TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)
}

fn failed(error: reqwest::Error, broken: Option<io::Error>) -> TransportError {
    let host = error.url().and_then(|url| {
        let host = url.host_str()?;
        Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    });
    // A path can hold an address, so errors leave it out.
    let error = error.without_url();
    if let Some(broken) = broken {
        // The length was announced: the service can't mistake an incomplete body for a complete one.
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

/// A TLS failure arrives as an I/O error over invalid data, often wrapped in another I/O error that hides it from `source`; a refused connection
/// does not.
fn is_tls(cause: &(dyn StdError + 'static)) -> bool {
    let Some(error) = cause.downcast_ref::<io::Error>() else { return false };
    error.kind() == io::ErrorKind::InvalidData || error.get_ref().is_some_and(|inner| is_tls(inner))
}
