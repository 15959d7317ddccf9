//! Accepts connections until the redirect has arrived.

use std::{
    future::{Future, poll_fn, ready},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::{Pin, pin},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::{
    page,
    request::{self, Decision},
};
use crate::{
    auth::oauth::{AuthorizationCode, AuthorizationRequest},
    error::{AuthError, CallbackError, Result},
};

/// The maximum number of connections.
const MAX_CONNECTIONS: usize = 8;
/// The maximum duration of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// The maximum number of headers in a request.
const MAX_HEADERS: usize = 64;
/// How long to wait for the browser to load the final page once the response has arrived.
const PAGE_GRACE: Duration = Duration::from_secs(2);
/// The delay after the system has failed to accept a connection.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Receives the browser's redirect on a loopback port.
///
/// Bind it before opening the browser, so that no other program takes the port. Dropping it closes the port.
///
/// ```
/// # async fn example(server: &idempost::auth::AuthorizationServer) -> idempost::Result<()> {
/// use std::time::Duration;
///
/// use idempost::auth::{RedirectListener, Scope};
///
/// let receiver = RedirectListener::bind().await?;
/// let authorization = server.authorize("client_123", receiver.redirect_uri()).scope(Scope::EmailsSend).build()?;
/// println!("Open {} in your browser.", authorization.url());
/// let code = receiver.wait(&authorization, Duration::from_secs(300)).await?;
/// let login = server.exchange(&authorization, &code).await?;
/// # Ok(())
/// # }
/// ```
pub struct RedirectListener {
    pub(super) listener: TcpListener,
    pub(super) host: String,
    redirect_uri: String,
    on_rejected: Box<dyn Fn(CallbackError) + Send + Sync>,
}

impl RedirectListener {
    /// Binds a port chosen by the system.
    ///
    /// # Errors
    /// [`AuthError::ListenFailed`] if no port can be bound on either loopback address.
    pub async fn bind() -> Result<Self> {
        Self::bind_to(0).await
    }

    /// Binds this port, for use through a tunnel (`ssh -L`).
    ///
    /// # Errors
    /// [`AuthError::ListenFailed`] if the port is taken on both loopback addresses, or neither address exists.
    pub async fn bind_to(port: u16) -> Result<Self> {
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = match TcpListener::bind(v4).await {
            Ok(listener) => Ok(listener),
            // The default address's error is more useful than the fallback's.
            Err(error) => TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.map_err(|_| error),
        };
        let bound = listener.and_then(|listener| listener.local_addr().map(|address| (listener, address)));
        let (listener, address) = bound.map_err(AuthError::ListenFailed)?;
        let host = address.to_string();
        let redirect_uri = format!("http://{host}{}", request::CALLBACK);
        Ok(Self { listener, host, redirect_uri, on_rejected: Box::new(|_| ()) })
    }

    /// Registers a callback for requests to the redirect URI that aren't the expected response, such as a redirect for another login. It is called
    /// once per reason, and the wait continues.
    #[must_use]
    pub fn on_rejected(mut self, listener: impl Fn(CallbackError) + Send + Sync + 'static) -> Self {
        self.on_rejected = Box::new(listener);
        self
    }

    /// Returns the redirect URI: `http://127.0.0.1:PORT/callback`.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits up to `timeout` for the redirect with the response to this request, and then briefly for the browser to load the final page.
    ///
    /// Only that response ends the wait: requests with a wrong or missing `state` are rejected.
    ///
    /// # Errors
    /// [`AuthError::Rejected`] for an error response, such as `access_denied`; [`AuthError::IssuerMismatch`]; [`AuthError::RedirectTimeout`].
    pub async fn wait(
        self,
        authorization: &AuthorizationRequest,
        timeout: Duration,
    ) -> Result<AuthorizationCode> {
        let shared = Shared {
            host: &self.host,
            authorization,
            on_rejected: &*self.on_rejected,
            answer: Mutex::new(None),
            rejected: Mutex::new(Vec::new()),
            seen: AtomicBool::new(false),
        };
        let mut connections = Connections::new(&self.listener, &shared);
        if tokio::time::timeout(timeout, connections.serve_until(|| shared.has_response())).await.is_ok() {
            // The browser may never load the final page.
            let _ = tokio::time::timeout(
                PAGE_GRACE,
                connections.serve_until(|| shared.seen.load(Ordering::Relaxed)),
            )
            .await;
        }
        drop(connections);
        match shared.answer.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(answer) => Ok(answer?),
            None => Err(AuthError::RedirectTimeout { waited: timeout }.into()),
        }
    }
}

partial_debug!(RedirectListener { redirect_uri });

/// The state that all connections share.
struct Shared<'a> {
    host: &'a str,
    authorization: &'a AuthorizationRequest,
    on_rejected: &'a (dyn Fn(CallbackError) + Send + Sync),
    answer: Mutex<Option<Result<AuthorizationCode, AuthError>>>,
    /// The reasons already reported.
    rejected: Mutex<Vec<CallbackError>>,
    /// Whether the browser has loaded the final page.
    seen: AtomicBool,
}

impl Shared<'_> {
    fn has_response(&self) -> bool {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Handles one request. The first valid response is kept; later requests get the same page.
    fn receive(&self, request: &http::Request<Incoming>) -> (Response<Bytes>, bool) {
        let query = match request::classify(request, self.host) {
            Decision::Refuse(status) => return (page::error_page(status), false),
            Decision::Done if self.has_response() => return (page::final_page(), true),
            Decision::Done => return (page::error_page(http::StatusCode::NOT_FOUND), false),
            Decision::Callback(query) => query,
        };
        if !self.has_response() {
            match self.authorization.code_from_query(query) {
                Err(AuthError::Callback(rejected)) => {
                    self.report(rejected);
                    return (page::error_page(http::StatusCode::BAD_REQUEST), false);
                }
                outcome => {
                    self.answer.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
                }
            }
        }
        (page::redirect(request::DONE), false)
    }

    /// Reports each reason only once, since any program on this machine can send such requests.
    fn report(&self, reason: CallbackError) {
        let mut reported = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !reported.contains(&reason);
        if is_new {
            reported.push(reason);
        }
        drop(reported);
        if is_new {
            (self.on_rejected)(reason);
        }
    }
}

type Connection<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The open connections, oldest first.
struct Connections<'a> {
    listener: &'a TcpListener,
    shared: &'a Shared<'a>,
    open: Vec<Connection<'a>>,
}

impl<'a> Connections<'a> {
    fn new(listener: &'a TcpListener, shared: &'a Shared<'a>) -> Self {
        Self { listener, shared, open: Vec::with_capacity(MAX_CONNECTIONS) }
    }

    /// Serves all connections until `over` holds.
    async fn serve_until(&mut self, over: impl Fn() -> bool) {
        let mut backoff = pin!(tokio::time::sleep(Duration::ZERO));
        poll_fn(|context| {
            loop {
                self.open.retain_mut(|connection| connection.as_mut().poll(context).is_pending());
                if over() {
                    return Poll::Ready(());
                }
                if backoff.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                match self.listener.poll_accept(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok((stream, _))) => self.take(stream),
                    Poll::Ready(Err(_)) => backoff.set(tokio::time::sleep(ACCEPT_BACKOFF)),
                }
            }
        })
        .await;
    }

    /// Adds a connection. At the maximum, the oldest one is closed: a browser sends its request immediately.
    fn take(&mut self, stream: TcpStream) {
        if self.open.len() == MAX_CONNECTIONS {
            drop(self.open.remove(0));
        }
        self.open.push(Box::pin(serve(stream, self.shared)));
    }
}

async fn serve(stream: TcpStream, shared: &Shared<'_>) {
    let last = AtomicBool::new(false);
    let service = service_fn(|request| {
        let (response, is_last) = shared.receive(&request);
        last.store(is_last, Ordering::Relaxed);
        ready(Ok::<_, io::Error>(response.map(Full::new)))
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS).header_read_timeout(None);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // An error on one connection affects only its peer.
    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
    if last.load(Ordering::Relaxed) {
        shared.seen.store(true, Ordering::Relaxed);
    }
}
