//! A small HTTP server on an open port.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The pause after a failed `accept`, such as for too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers requests until it is dropped. Connections beyond the limit wait; a request's headers must arrive within the timeout.
pub(crate) async fn serve<R, B>(
    listener: TcpListener,
    max_connections: usize,
    header_timeout: Duration,
    respond: impl Fn(Request<Incoming>) -> R + Clone + Send + 'static,
) where
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= max_connections {
            connections.join_next().await;
        }
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let respond = respond.clone();
        let service = service_fn(move |request| {
            let response = respond(request);
            async { Ok::<_, Infallible>(response.await) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(header_timeout);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        // A client may disconnect early.
        connections.spawn(async { drop(connection.await) });
    }
}
