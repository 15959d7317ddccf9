//! The network as sockets over loopback: HTTP/1.1, and HTTP/2 with prior knowledge.

use std::{
    future::{pending, poll_fn},
    net::SocketAddr,
    sync::Arc,
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use h2::{
    Reason, RecvStream,
    server::{Connection, SendResponse},
};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use idempost::transport::{
    BoxFuture, ReqwestTransport, ResponseBody, Transport, TransportError, TransportRequest,
};
use idempost_conformance::peer::answer;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
    task::JoinSet,
};

use super::{
    event::{Act, Response},
    service::{Met, Service, Signal},
};

/// Without a port, so that the resolver's port is used.
pub(super) const BASE_URL: &str = "http://localhost";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A peer, which stops when it is dropped.
pub(super) struct Peer {
    protocol: Protocol,
    service: Service,
    listener: TcpListener,
    connections: JoinSet<()>,
    /// Bound, but not listening: it refuses connections.
    closed: TcpSocket,
}

impl Peer {
    pub(super) async fn start(protocol: Protocol, service: &Service) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = TcpSocket::new_v4().unwrap();
        closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self { protocol, service: service.clone(), listener, connections: JoinSet::new(), closed }
    }

    /// Creates the transport of a client. `pools`: whether a connection is used for several requests.
    pub(super) fn transport(&self, pools: bool) -> impl Transport + use<> {
        let names = Arc::new(Names {
            service: self.service.clone(),
            listener: self.listener.local_addr().unwrap(),
            closed: self.closed.local_addr().unwrap(),
        });
        let protocol = self.protocol;
        let transport = ReqwestTransport::with_config(move |http| {
            let http = http.dns_resolver(Arc::clone(&names));
            let http = if pools { http } else { http.pool_max_idle_per_host(0) };
            if protocol == Protocol::Http2 { http.http2_prior_knowledge() } else { http }
        });
        Observed { transport, service: self.service.clone() }
    }

    /// Accepts connections until the future is dropped.
    pub(super) async fn serve(&mut self) {
        loop {
            let (stream, _) = self.listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = self.service.clone();
            match self.protocol {
                Protocol::Http1 => drop(self.connections.spawn(http1(stream, service))),
                Protocol::Http2 => drop(self.connections.spawn(http2(stream, service))),
            }
        }
    }

    /// Waits for the end of all connections, including those that weren't accepted yet.
    pub(super) async fn closed(&mut self) {
        let _ = self.serve().now_or_never();
        while self.connections.join_next().await.is_some() {}
    }
}

/// A name server that knows the next event.
struct Names {
    service: Service,
    listener: SocketAddr,
    closed: SocketAddr,
}

impl Resolve for Names {
    fn resolve(&self, _: Name) -> Resolving {
        let act = self.service.next_without_connection().map(|event| event.act);
        let address = if act == Some(Act::Refuse) { self.closed } else { self.listener };
        if act == Some(Act::Unconnected) {
            self.service.signal(Signal::Silent);
            return Box::pin(pending());
        }
        Box::pin(async move { Ok(Box::new([address].into_iter()) as Addrs) })
    }
}

/// Tells the service when a response head has arrived.
struct Observed {
    transport: ReqwestTransport,
    service: Service,
}

impl Transport for Observed {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let response = self.transport.send(request).await?;
            self.service.head_arrived();
            Ok(response)
        })
    }
}

async fn http1(mut stream: TcpStream, service: Service) {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
        let header = |name: &str| {
            let value = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.map(str::to_owned)
        };
        let length = header("content-length").map_or(0, |length| length.parse().unwrap());
        let key = header("idempotency-key");
        let met = service.next();
        if met.event.act == Act::CutRequest {
            service.receive(met, key, buffer.len());
            return;
        }
        while buffer.len() < length {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        }
        buffer.drain(..length);
        service.receive(met, key, length);
        match met.event.act {
            Act::Respond(response) => {
                if stream.write_all(&bytes(response)).await.is_err() {
                    return;
                }
                continue;
            }
            Act::CutHead => drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-le").await),
            Act::CutBody(response) => {
                let whole = bytes(response);
                let part = whole.len() - (response.body.len() - response.half().len());
                let _ = stream.write_all(&whole[..part]).await;
            }
            Act::StallBody(response) => {
                let whole = bytes(response);
                let part = whole.len() - (response.body.len() - response.half().len());
                let _ = stream.write_all(&whole[..part]).await;
                service.head_read(met).await;
                silence(&mut stream, &service).await;
            }
            Act::Stall => silence(&mut stream, &service).await,
            Act::Reset => stream.set_zero_linger().unwrap(),
            _ => {}
        }
        return;
    }
}

fn bytes(response: Response) -> Vec<u8> {
    let mut headers = vec![("content-type", response.content_type())];
    headers.extend(response.retry_after.map(|seconds| ("retry-after", seconds)));
    answer(response.status, &headers, response.body.as_bytes())
}

/// Until the client closes the connection.
async fn silence(stream: &mut TcpStream, service: &Service) {
    service.signal(Signal::Silent);
    let _ = stream.read(&mut [0]).await;
}

async fn http2(stream: TcpStream, service: Service) {
    let Ok(mut connection): Result<Connection<_, Bytes>, _> = h2::server::handshake(stream).await else {
        return;
    };
    let aborted = Arc::new(Notify::new());
    let mut streams = JoinSet::new();
    loop {
        let next = tokio::select! {
            next = connection.accept() => next,
            () = aborted.notified() => None,
        };
        let Some(Ok((request, respond))) = next else { return };
        let met = service.next();
        let key = request.headers().get("idempotency-key");
        let key = key.map(|key| key.to_str().unwrap().to_owned());
        let stream = http2_stream(met, key, request.into_body(), respond, service.clone());
        let aborted = Arc::clone(&aborted);
        streams.spawn(async move {
            if stream.await {
                aborted.notify_one();
            }
        });
    }
}

/// Returns whether the connection ends.
async fn http2_stream(
    met: Met,
    key: Option<String>,
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    service: Service,
) -> bool {
    let act = met.event.act;
    let mut received = 0;
    if act != Act::CutRequest {
        while let Some(piece) = body.data().await {
            let Ok(piece) = piece else { return false };
            received += piece.len();
        }
    }
    service.receive(met, key, received);
    if let Some(response) = act.response() {
        let mut head = http::Response::builder().status(response.status);
        head = head.header(CONTENT_TYPE, response.content_type());
        head = head.header(CONTENT_LENGTH, response.body.len());
        if let Some(seconds) = response.retry_after {
            head = head.header(RETRY_AFTER, seconds);
        }
        let is_whole = matches!(act, Act::Respond(_));
        let part = if is_whole { response.body } else { response.half() };
        let sent = respond.send_response(head.body(()).unwrap(), false);
        let Ok(mut sent) = sent else { return false };
        let _ = sent.send_data(Bytes::from(part), is_whole);
        if is_whole {
            return false;
        }
        // A reset discards what wasn't sent yet.
        service.head_read(met).await;
        if let Act::CutBody(_) = act {
            sent.send_reset(Reason::INTERNAL_ERROR);
            return false;
        }
        service.signal(Signal::Silent);
        let _ = poll_fn(|context| sent.poll_reset(context)).await;
        return false;
    }
    match act {
        Act::Stall => {
            service.signal(Signal::Silent);
            let _ = poll_fn(|context| respond.poll_reset(context)).await;
        }
        Act::Reset => return true,
        _ => respond.send_reset(Reason::INTERNAL_ERROR),
    }
    false
}
