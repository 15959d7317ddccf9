//! A server of links and images that is slow, broken, oversized or hostile.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idempost_sandbox::Settings;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::served::Served;

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";
const SVG: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";

/// Its responses depend on the path.
pub(crate) struct RemoteServer {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    /// Methods and paths.
    requests: Mutex<Vec<String>>,
    running: AtomicUsize,
    /// The maximum number of concurrent requests.
    most: AtomicUsize,
    written: AtomicUsize,
}

impl RemoteServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), seen: Arc::default() };
        let seen = Arc::clone(&server.seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream, Arc::clone(&seen)));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn redirect_to(&self, url: &str) -> String {
        self.url(&format!("/redirect/{}", utf8_percent_encode(url, NON_ALPHANUMERIC)))
    }

    /// URLs that aren't public, and redirects to those and others. The ports are those of this server and another one.
    pub(crate) fn urls_that_are_not_public(&self, canary: &Self) -> (Vec<String>, Vec<String>) {
        let (own, port) = (self.address.port(), canary.address.port());
        let targets = [
            canary.url("/x"),
            format!("http://localhost:{port}/x"),
            // The same server under another name or spelling isn't permitted either.
            format!("http://localhost:{own}/x"),
            format!("http://[::ffff:127.0.0.1]:{own}/x"),
            format!("http://127.1:{port}/other"),
            format!("http://0.0.0.0:{port}/x"),
            format!("http://[::1]:{port}/x"),
            format!("http://[::]:{port}/x"),
            format!("http://user:pass@{}/x", self.address),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "http://10.0.0.1/x".to_owned(),
            "https://1.1.1.1:25/x".to_owned(),
        ];
        let others = ["file:///etc/passwd", "data:text/html,x", "ftp://127.0.0.1/"].map(str::to_owned);
        let redirects = targets.iter().chain(&others).map(|target| self.redirect_to(target)).collect();
        (targets.to_vec(), redirects)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// The requests so far, sorted.
    pub(crate) fn requests(&self) -> Vec<String> {
        let mut requests = self.seen.requests.lock().unwrap().clone();
        requests.sort();
        requests
    }

    pub(crate) fn forget_requests(&self) {
        self.seen.requests.lock().unwrap().clear();
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.seen.most.load(Ordering::SeqCst)
    }

    /// The number of bytes written, including what the sockets' buffers hold.
    pub(crate) fn written(&self) -> usize {
        self.seen.written.load(Ordering::SeqCst)
    }

    /// A sandbox that may request this server.
    pub(crate) async fn sandbox(&self) -> Served {
        self.sandbox_with_timeout(Duration::from_secs(30)).await
    }

    pub(crate) async fn sandbox_with_timeout(&self, remote_timeout: Duration) -> Served {
        let remote_servers = vec![self.address];
        Served::start(Settings { remote_servers, remote_timeout, ..Settings::default() }).await
    }
}

async fn serve(stream: TcpStream, seen: Arc<Seen>) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    // A TLS handshake is no request.
    if stream.read_line(&mut line).await.is_err() || !line.contains(" /") {
        return;
    }
    let line = line.rsplit_once(' ').map_or(line.clone(), |(request, _)| request.to_owned());
    seen.requests.lock().unwrap().push(line.clone());
    seen.most.fetch_max(seen.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    // The client disconnects when it has seen enough.
    let _ = respond(stream.into_inner(), &line, &seen.written).await;
    seen.running.fetch_sub(1, Ordering::SeqCst);
}

async fn respond(mut stream: TcpStream, line: &str, written: &AtomicUsize) -> std::io::Result<()> {
    let (method, path) = line.split_once(' ').unwrap_or_default();
    let path = path[1..].split('?').next().unwrap_or_default();
    let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
    let location = format!("location: {}", percent_decode_str(rest).decode_utf8_lossy());
    // The status, the headers besides `connection`, and the length of the content.
    let (status, headers, length) = match kind {
        "status" => (rest, "", 0),
        "only-get" if method == "HEAD" => (rest, "", 0),
        "only-get" => ("200", "", usize::MAX),
        "redirect" => ("302", &*location, 0),
        "loop" => ("301", "location: /loop", 0),
        "nowhere" => ("302", "", 0),
        "slow" => std::future::pending().await,
        "cut" => return Ok(()),
        "png" => ("200", "content-type: image/png", rest.parse().unwrap_or(PNG.len())),
        "huge" => ("200", "content-type: image/png\r\ncontent-length: 1000000000", usize::MAX),
        "endless" => ("200", "content-type: image/png", usize::MAX),
        "html" => ("200", "content-type: text/html", PNG.len()),
        "svg" => ("200", "content-type: image/svg+xml; charset=utf-8", PNG.len()),
        "untyped" => ("200", "", PNG.len()),
        "zipped" => ("200", "content-type: image/png\r\ncontent-encoding: gzip", PNG.len()),
        "lie" => ("200", "content-type: image/png", SVG.len()),
        "stall" => ("200", "content-type: image/png\r\ncontent-length: 100", 10),
        _ => ("200", "", 0),
    };
    let headers = if headers.is_empty() { String::new() } else { format!("{headers}\r\n") };
    stream.write_all(format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}").as_bytes()).await?;
    if kind == "headers" {
        loop {
            stream.write_all(format!("x-long: {}\r\n", "x".repeat(1_000)).as_bytes()).await?;
        }
    }
    stream.write_all(b"\r\n").await?;
    let mut content = if kind == "lie" { SVG } else { PNG }.to_vec();
    content.resize(64 << 10, 0);
    let mut left = length;
    while left > 0 {
        let piece = &content[..left.min(content.len())];
        stream.write_all(piece).await?;
        written.fetch_add(piece.len(), Ordering::SeqCst);
        left -= if length == usize::MAX { 0 } else { piece.len() };
    }
    if kind == "stall" {
        std::future::pending::<()>().await;
    }
    Ok(())
}
