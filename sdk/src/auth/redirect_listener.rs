//! Where the browser comes back to on this machine: a server for one request (RFC 8252, 7.3 and 8.3).
//!
//! Anybody on this machine, and any page in the browser, can send something to this port. So nothing but the `state` of this login counts: what has
//! another one changes nothing, and the wait goes on.
//!
//! | against | measure |
//! |---|---|
//! | other machines | `127.0.0.1`, else `[::1]`, and never a name that somebody else resolves; the redirect address names what was bound |
//! | pages in the browser, and names that resolve to this machine | `Host` has to be the address that was bound; no `Origin`; only what a browser fetches to show it |
//! | a forged answer | `state` first, in constant time; only then `code` or `error` |
//! | a code in the history or in a `Referer` | the browser is sent on at once, to a page that says nothing of the outcome and loads nothing |
//! | clients that are slow, many or talkative | [`MOST`] connections of [`PATIENCE`] each, and the oldest gives way; a head of [`HEAD`] bytes; no body |

mod page;
mod request;

#[cfg(test)]
mod tests;

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

use self::request::Decision;
use super::{AuthError, AuthorizationCode, AuthorizationRequest};
use crate::error::Result;

/// Connections at a time.
const MOST: usize = 8;
/// How long a connection may last in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes that the head of a request may have.
const HEAD: usize = 16 * 1024;
/// The most lines that the head of a request may have.
const HEAD_LINES: usize = 64;
/// How long the page waits for the browser, once the answer is there.
const FAREWELL: Duration = Duration::from_secs(2);
/// The pause after the system refuses to hand out a connection.
const BREATHER: Duration = Duration::from_millis(100);

/// Receives the browser on this machine, once.
///
/// Made before the browser is opened, so that nobody else can take the port; dropped, the port is closed.
///
/// ```
/// # async fn example(server: &posthaste::auth::AuthorizationServer) -> posthaste::Result<()> {
/// use std::time::Duration;
///
/// use posthaste::auth::{RedirectListener, Scope};
///
/// let receiver = RedirectListener::bind().await?;
/// let authorization = server.authorize("client_123", receiver.redirect_uri()).scope(Scope::EmailsSend).begin()?;
/// println!("Open {} in your browser.", authorization.url());
/// let code = receiver.wait(&authorization, Duration::from_secs(300)).await?;
/// let login = server.exchange(&authorization, &code).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RedirectListener {
    listener: TcpListener,
    host: String,
    redirect_uri: String,
}

impl RedirectListener {
    /// Opens a port of the system's choice.
    ///
    /// # Errors
    /// [`AuthError::NoLoopback`] when neither loopback address has a port.
    pub async fn bind() -> Result<Self> {
        Self::bind_to(0).await
    }

    /// Opens this port, for a machine that is reached through a tunnel (`ssh -L`).
    ///
    /// # Errors
    /// [`AuthError::NoLoopback`] when it is taken on both loopback addresses, or there are none.
    pub async fn bind_to(port: u16) -> Result<Self> {
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = match TcpListener::bind(v4).await {
            Ok(listener) => Ok(listener),
            // What is wrong with the usual address says more than that there is no other one.
            Err(error) => TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.map_err(|_| error),
        };
        let bound = listener.and_then(|listener| listener.local_addr().map(|address| (listener, address)));
        let (listener, address) = bound.map_err(AuthError::NoLoopback)?;
        let host = address.to_string();
        let redirect_uri = format!("http://{host}{}", request::CALLBACK);
        Ok(Self { listener, host, redirect_uri })
    }

    /// Where the browser is to come back to: `http://127.0.0.1:PORT/callback`.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits until the browser comes back with the answer to this request, at most so long, and then until it has seen the page that says so.
    ///
    /// Nothing but the answer ends the wait: what comes without the right `state` is refused and forgotten.
    ///
    /// # Errors
    /// [`AuthError::Refused`] when the answer is an error, such as that the person said no; [`AuthError::MixUp`]; [`AuthError::NoCallback`] when the time is
    /// over.
    pub async fn wait(
        self,
        authorization: &AuthorizationRequest,
        patience: Duration,
    ) -> Result<AuthorizationCode> {
        let desk =
            Desk { host: &self.host, authorization, answer: Mutex::new(None), seen: AtomicBool::new(false) };
        let mut crowd = Crowd::new(&self.listener, &desk);
        if tokio::time::timeout(patience, crowd.until(|| desk.has_answer())).await.is_ok() {
            // A browser that never asks for the page keeps nobody waiting.
            let _ = tokio::time::timeout(FAREWELL, crowd.until(|| desk.seen.load(Ordering::Relaxed))).await;
        }
        drop(crowd);
        match desk.answer.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(answer) => Ok(answer?),
            None => Err(AuthError::NoCallback { waited: patience }.into()),
        }
    }
}

/// What all connections share.
struct Desk<'a> {
    host: &'a str,
    authorization: &'a AuthorizationRequest,
    answer: Mutex<Option<Result<AuthorizationCode, AuthError>>>,
    /// The browser has seen the last page.
    seen: AtomicBool,
}

impl Desk<'_> {
    fn has_answer(&self) -> bool {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Answers one request. The first right one is kept; after it, everybody gets the same page.
    fn receive(&self, request: &http::Request<Incoming>) -> (Response<Bytes>, bool) {
        let query = match request::judge(request, self.host) {
            Decision::Refuse(status) => return (page::refusal(status), false),
            Decision::Done if self.has_answer() => return (page::received(), true),
            Decision::Done => return (page::refusal(http::StatusCode::NOT_FOUND), false),
            Decision::Callback(query) => query,
        };
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if answer.is_none() {
            match self.authorization.code_from_query(query) {
                Err(AuthError::Callback(_)) => return (page::refusal(http::StatusCode::BAD_REQUEST), false),
                outcome => *answer = Some(outcome),
            }
        }
        (page::onward(request::DONE), false)
    }
}

type Connection<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The connections that are open, the oldest first.
struct Crowd<'a> {
    listener: &'a TcpListener,
    desk: &'a Desk<'a>,
    connections: Vec<Connection<'a>>,
}

impl<'a> Crowd<'a> {
    fn new(listener: &'a TcpListener, desk: &'a Desk<'a>) -> Self {
        Self { listener, desk, connections: Vec::with_capacity(MOST) }
    }

    /// Serves everybody until this is so.
    async fn until(&mut self, over: impl Fn() -> bool) {
        let mut breather = pin!(tokio::time::sleep(Duration::ZERO));
        poll_fn(|context| {
            loop {
                self.connections.retain_mut(|connection| connection.as_mut().poll(context).is_pending());
                if over() {
                    return Poll::Ready(());
                }
                if breather.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                match self.listener.poll_accept(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok((stream, _))) => self.take(stream),
                    Poll::Ready(Err(_)) => breather.set(tokio::time::sleep(BREATHER)),
                }
            }
        })
        .await;
    }

    /// Takes one in. When there are too many, the oldest has had its time: a browser says what it wants at once.
    fn take(&mut self, stream: TcpStream) {
        if self.connections.len() == MOST {
            drop(self.connections.remove(0));
        }
        self.connections.push(Box::pin(serve(stream, self.desk)));
    }
}

async fn serve(stream: TcpStream, desk: &Desk<'_>) {
    let last = AtomicBool::new(false);
    let service = service_fn(|request| {
        let (response, is_last) = desk.receive(&request);
        last.store(is_last, Ordering::Relaxed);
        ready(Ok::<_, io::Error>(response.map(Full::new)))
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).max_buf_size(HEAD).max_headers(HEAD_LINES).header_read_timeout(None);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // What goes wrong here is the other side's affair.
    let _ = tokio::time::timeout(PATIENCE, connection).await;
    if last.load(Ordering::Relaxed) {
        desk.seen.store(true, Ordering::Relaxed);
    }
}
