//! A misbehaving peer: scripted raw bytes over TCP.
//!
//! No HTTP library permits most of this, so neither does the reference server: incomplete responses, wrong lengths, silence.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

use crate::contract::{self, Contract};

/// How the peer handles a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes these bytes, and reads the next request of the connection.
    Answer(Vec<u8>),
    /// Writes these bytes and closes the connection.
    AnswerAndClose(Vec<u8>),
    /// Writes these bytes and resets the connection.
    AnswerAndReset(Vec<u8>),
    /// Writes these bytes one at a time, with a delay before each.
    Trickle(Vec<u8>, Duration),
    /// Closes the connection without a response.
    HangUp,
    /// Keeps the connection open without a response.
    Silence,
}

impl Act {
    /// A complete JSON response.
    pub fn json(status: u16, body: &str) -> Self {
        Self::answer(status, &[("content-type", "application/json")], body)
    }

    /// A complete response with these headers.
    pub fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        Self::Answer(answer(status, headers, body.as_ref()))
    }

    /// The response to an accepted email.
    pub fn accepted() -> Self {
        Self::json(200, r#"{"id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c"}"#)
    }

    /// An error in the service's format.
    pub fn refused(status: u16, name: &str) -> Self {
        Self::json(status, &format!(r#"{{"statusCode":{status},"name":"{name}","message":"No."}}"#))
    }
}

/// A response with the right length, as bytes.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// A request as received.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// The request line and the headers.
    pub head: String,
    /// The body, without chunked encoding.
    pub body: Bytes,
}

impl Arrived {
    /// The request target.
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// The request in the form that the contract validates.
    ///
    /// # Panics
    ///
    /// If the head is malformed.
    pub fn request(&self) -> contract::Request {
        let mut first = self.head.lines().next().unwrap_or_default().split(' ');
        let method = first.next().and_then(|method| method.parse().ok()).expect("a method");
        let (path, query) = self.target().split_once('?').unwrap_or((self.target(), ""));
        let mut headers = HeaderMap::new();
        for line in self.head.lines().skip(1).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').expect("a header has a colon");
            let name: HeaderName = name.parse().expect("a header's name");
            headers.append(name, value.trim().parse().expect("a header's value"));
        }
        contract::Request { method, path: path.into(), query: query.into(), headers, body: self.body.clone() }
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it isn't JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// A running peer, which stops when it is dropped.
#[derive(Debug)]
pub struct Peer {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Mutex<Vec<Arrived>>,
    connections: AtomicUsize,
}

impl Peer {
    /// Starts a peer that handles each request by `script`, which also gets its number, counted from 0 over all connections.
    ///
    /// # Panics
    ///
    /// If no port can be bound.
    pub async fn start(script: impl Fn(usize, &Arrived) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Seen::default());
        let script = Arc::new(script);
        let task = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                    tokio::spawn(async move { converse(stream, &seen, &*script).await });
                }
            }
        });
        Self { address, seen, task }
    }

    /// Starts a peer that performs the acts in order, and repeats the last one.
    pub async fn acting(acts: impl Into<Vec<Act>>) -> Self {
        let acts = acts.into();
        Self::start(move |n, _| acts[n.min(acts.len() - 1)].clone()).await
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL, without a trailing slash.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The complete requests so far.
    ///
    /// # Panics
    ///
    /// If a thread panicked while it held them.
    pub fn requests(&self) -> Vec<Arrived> {
        self.seen.requests.lock().expect("no thread panics while holding it").clone()
    }

    /// Validates all requests so far.
    ///
    /// # Panics
    ///
    /// If one of them violates the contract.
    pub fn judge(&self) {
        for request in self.requests() {
            let breaches = Contract::get().breaches_of_request(&request.request());
            assert!(breaches.is_empty(), "the contract is violated: {breaches:#?}");
        }
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// Failures here are caused by the other side, and detected by its test.
async fn converse(
    mut stream: TcpStream,
    seen: &Seen,
    script: &(impl Fn(usize, &Arrived) -> Act + Send + Sync),
) {
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = read_request(&mut stream, &mut buffer).await {
        let number = {
            let mut requests = seen.requests.lock().expect("no thread panics while holding it");
            requests.push(request.clone());
            requests.len() - 1
        };
        let goes_on = match script(number, &request) {
            Act::Answer(bytes) => stream.write_all(&bytes).await.is_ok(),
            Act::AnswerAndClose(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                false
            }
            Act::AnswerAndReset(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
                let _ = stream.set_zero_linger();
                false
            }
            Act::Trickle(bytes, pause) => {
                for byte in bytes {
                    sleep(pause).await;
                    if stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                }
                true
            }
            Act::HangUp => false,
            Act::Silence => {
                // Until the other side closes.
                let _ = stream.read(&mut [0]).await;
                false
            }
        };
        if !goes_on {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Arrived>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end);
    let mut request = Arrived { head, body: Bytes::new() };
    request.body = if request.header("transfer-encoding").is_some() {
        read_chunks(stream, buffer).await?
    } else {
        let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        take(stream, buffer, length).await?.into()
    };
    Ok(Some(request))
}

async fn read_chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Bytes> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(2).position(|window| window == b"\r\n") {
                break at;
            }
            if stream.read_buf(buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let size = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let size = usize::from_str_radix(&size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        buffer.drain(..end + 2);
        let mut chunk = take(stream, buffer, size + 2).await?;
        if size == 0 {
            return Ok(body.into());
        }
        chunk.truncate(size);
        body.append(&mut chunk);
    }
}

async fn take(stream: &mut TcpStream, buffer: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let rest = buffer.split_off(length);
    Ok(std::mem::replace(buffer, rest))
}
