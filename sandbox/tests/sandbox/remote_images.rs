//! Remote images, loaded from an image server that is slow, oversized or hostile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use idempost_sandbox::{ReferenceServer, Service, Settings};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{KEY, Sandbox, email_with, http_client, wait_until};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123456789";
const MIB: usize = 1 << 20;

/// An image server. The path decides the response.
struct ImageServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    /// The maximum number of concurrent requests seen.
    most: Arc<AtomicUsize>,
    written: Arc<AtomicUsize>,
}

impl ImageServer {
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self {
            address,
            connections: Arc::default(),
            requests: Arc::default(),
            most: Arc::default(),
            written: Arc::default(),
        };
        let [connections, requests, most, written] =
            [&server.connections, &server.requests, &server.most, &server.written].map(Arc::clone);
        let now = Arc::new(AtomicUsize::new(0));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let [requests, most, written, now] = [&requests, &most, &written, &now].map(Arc::clone);
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let mut line = String::new();
                    stream.read_line(&mut line).await.unwrap();
                    requests.fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let path = line.split(' ').nth(1).unwrap_or_default();
                    respond(stream.into_inner(), path, &written).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn count(counter: &AtomicUsize) -> usize {
        counter.load(Ordering::SeqCst)
    }
}

async fn respond(mut stream: TcpStream, path: &str, written: &AtomicUsize) {
    let (kind, size) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let (head, mut rest) = match kind {
        "png" => (
            "content-type: image/png",
            size.split('?').next().and_then(|size| size.parse().ok()).unwrap_or(PNG.len()),
        ),
        "redirect" => {
            let location = percent_encoding::percent_decode_str(size).decode_utf8_lossy().into_owned();
            let head = format!(
                "HTTP/1.1 302 Found\r\nlocation: {location}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            return;
        }
        "huge" => ("content-type: image/png\r\ncontent-length: 1000000000", usize::MAX),
        "endless" => ("content-type: image/png", usize::MAX),
        "html" => ("content-type: text/html", PNG.len()),
        "svg" => ("content-type: image/svg+xml; charset=utf-8", PNG.len()),
        "untyped" => ("x-none: 1", PNG.len()),
        "zipped" => ("content-type: image/png\r\ncontent-encoding: gzip", PNG.len()),
        "lie" => ("content-type: image/png", 0),
        "slow" => std::future::pending().await,
        "stall" => ("content-type: image/png\r\ncontent-length: 100", 10),
        _ => {
            stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                .await
                .unwrap();
            return;
        }
    };
    let mut piece = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{head}\r\n\r\n").into_bytes();
    if kind == "lie" {
        piece.extend(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>");
    }
    let mut content = PNG.to_vec();
    content.resize(64 << 10, 0);
    loop {
        // The client disconnects at its limit.
        if stream.write_all(&piece).await.is_err() {
            return;
        }
        written.fetch_add(piece.len(), Ordering::SeqCst);
        if rest == 0 {
            break;
        }
        piece = content[..rest.min(content.len())].to_vec();
        rest = if rest == usize::MAX { rest } else { rest - piece.len() };
    }
    if kind == "stall" {
        std::future::pending::<()>().await;
    }
}

/// A sandbox that may load images from a server on this machine.
async fn sandbox_for(server: &ImageServer) -> ReferenceServer {
    sandbox_with_timeout(server, Duration::from_secs(30)).await
}

async fn sandbox_with_timeout(server: &ImageServer, remote_timeout: Duration) -> ReferenceServer {
    idempost_sandbox::start(Settings {
        remote_servers: vec![server.address],
        remote_timeout,
        ..Settings::default()
    })
    .await
}

fn ask(service: &Service, request: http::request::Builder, body: String) -> (StatusCode, Bytes) {
    let request = request.header("authorization", format!("Bearer {KEY}"));
    let response = service.handle(request.body(Bytes::from(body)).unwrap());
    (response.status(), response.into_body())
}

/// Sends an email with this HTML; returns the path of its mail.
fn sent(service: &Service, html: &str) -> String {
    let (status, body) = ask(service, Request::post("/emails"), email_with("html", html).to_string());
    assert_eq!(status, 200, "{body:?}");
    format!("/_/messages/{}", service.mails(KEY)[0].id)
}

fn images(urls: &[String]) -> String {
    urls.iter().map(|url| format!("<img src='{url}'>")).collect::<Vec<_>>().concat()
}

fn get(service: &Service, path: &str) -> String {
    let (status, body) = ask(service, Request::get(path), String::new());
    assert_eq!(status, 200, "{path}");
    String::from_utf8(body.to_vec()).unwrap()
}

/// Loads the images of an email over HTTP; returns their list.
async fn load(sandbox: &ReferenceServer, mail: &str) -> Value {
    let client = http_client();
    let request = client.post(format!("{}{mail}/images", sandbox.base_url())).bearer_auth(KEY);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

fn states(list: &Value) -> Vec<&str> {
    list["images"].as_array().unwrap().iter().map(|image| image["state"].as_str().unwrap()).collect()
}

fn reason(list: &Value, at: usize) -> &str {
    list["images"][at]["reason"].as_str().unwrap_or("none")
}

#[tokio::test]
async fn images_are_requested_for_one_email_and_only_on_request() {
    let server = ImageServer::start().await;
    let sandbox = sandbox_for(&server).await;
    let service = sandbox.service();
    let html = format!(
        "<img src={0}><p style=\"background:url('{0}')\"><img src={1}>",
        server.url("/png"),
        server.url("/gone")
    );
    let (mail, other) = (sent(service, &html), sent(service, &html));
    for side in ["", "/about", "/html", "/html?images=loaded", "/images", "/text", "/timeline"] {
        get(service, &format!("{mail}{side}"));
    }
    let list: Value = serde_json::from_str(&get(service, &format!("{mail}/images"))).unwrap();
    assert_eq!((list["total"].as_u64(), states(&list)), (Some(2), vec!["blocked"; 2]));
    assert_eq!(list["images"][0]["host"], "127.0.0.1");
    assert_eq!(ImageServer::count(&server.connections), 0);

    let list = load(&sandbox, &mail).await;
    assert_eq!(states(&list), ["loaded", "failed"]);
    assert_eq!(list["images"][0]["size"], PNG.len());
    assert_eq!(reason(&list, 1), "the status is 404 Not Found");
    assert_eq!(ImageServer::count(&server.requests), 2);

    let shown = get(service, &format!("{mail}/html?images=loaded"));
    let picture = "data:image/png;base64,iVBORw0KGgowMTIzNDU2Nzg5";
    assert!(
        shown.contains(&format!("<img src={picture}>")) && shown.contains(&format!("url('{picture}')")),
        "{shown}"
    );
    // Neither without the parameter, nor for another email, nor for others who look at it.
    for (mail, side) in [(&mail, "/html"), (&other, "/html?images=loaded")] {
        assert!(!get(service, &format!("{mail}{side}")).contains("data:image"), "{mail}{side}");
    }
    assert!(!get(service, "/_/latest.html").contains("data:image"));
    assert_eq!(ImageServer::count(&server.requests), 2);

    // Until they expire, by the sandbox's clock.
    service.clock().advance(Duration::from_hours(1));
    assert!(!get(service, &format!("{mail}/html?images=loaded")).contains("data:image"));
    load(&sandbox, &mail).await;
    assert!(get(service, &format!("{mail}/html?images=loaded")).contains("data:image"));
}

#[tokio::test]
async fn received_and_unsent_emails_have_remote_images_too() {
    let server = ImageServer::start().await;
    let sandbox = sandbox_for(&server).await;
    let service = sandbox.service();
    let raw =
        format!("From: a@b.test\r\nContent-Type: text/html\r\n\r\n<img src={}>\r\n", server.url("/png"));
    let received = service.receive(KEY, &["ada@example.com"], raw).unwrap();
    let mut later = email_with("html", images(&[server.url("/png")]));
    later["scheduled_at"] = "in 1 hour".into();
    let (_, body) = ask(service, Request::post("/emails"), later.to_string());
    let unsent = serde_json::from_slice::<Value>(&body).unwrap()["id"].as_str().unwrap().to_owned();
    for mail in [format!("/_/received/{received}"), format!("/_/messages/{unsent}")] {
        assert_eq!(states(&load(&sandbox, &mail).await), ["loaded"], "{mail}");
        assert!(get(service, &format!("{mail}/html?images=loaded")).contains("data:image"), "{mail}");
    }
}

#[tokio::test]
async fn no_url_and_no_redirect_reaches_an_address_that_is_not_public() {
    let (server, canary) = (ImageServer::start().await, ImageServer::start().await);
    let sandbox = sandbox_for(&server).await;
    let port = canary.address.port();
    let targets = [
        canary.url("/png"),
        format!("http://localhost:{port}/png"),
        // The same server under another name or spelling isn't permitted either.
        format!("http://localhost:{}/png", server.address.port()),
        format!("http://[::ffff:127.0.0.1]:{}/png", server.address.port()),
        format!("http://127.1:{port}/other"),
        format!("http://0.0.0.0:{port}/png"),
        format!("http://[::1]:{port}/png"),
        format!("http://[::]:{port}/png"),
        format!("http://user:pass@{}/png", server.address),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/png".to_owned(),
        "https://1.1.1.1:25/png".to_owned(),
    ];
    let redirects = targets
        .iter()
        .chain(&[
            "file:///etc/passwd".to_owned(),
            "data:image/png;base64,AA".to_owned(),
            "ftp://127.0.0.1/".to_owned(),
        ])
        .map(|target| {
            server.url(&format!(
                "/redirect/{}",
                percent_encoding::utf8_percent_encode(target, percent_encoding::NON_ALPHANUMERIC)
            ))
        })
        .collect::<Vec<_>>();
    let html = images(&[targets.to_vec(), redirects.clone()].concat());
    let list = load(&sandbox, &sent(sandbox.service(), &html)).await;
    assert_eq!(states(&list), vec!["failed"; targets.len() + redirects.len()], "{list:#}");
    for at in 0..targets.len() + redirects.len() {
        let reason = reason(&list, at);
        let rules =
            ["the address isn't public", "aren't requested", "only http and https", "the port must be"];
        assert!(rules.iter().any(|rule| reason.contains(rule)), "{}: {reason}", list["images"][at]["url"]);
    }
    assert_eq!(ImageServer::count(&canary.connections), 0);
    assert_eq!(ImageServer::count(&server.requests), redirects.len());

    // A redirect to a permitted address is followed, but not endlessly.
    let once = server.url("/redirect/%2Fpng");
    let endless = server.url("/redirect/..%2Fredirect%2F");
    let list = load(&sandbox, &sent(sandbox.service(), &images(&[once, endless]))).await;
    assert_eq!(states(&list), ["loaded", "failed"], "{list:#}");
}

#[tokio::test]
async fn slow_large_and_mistyped_images_fail_with_a_reason_and_within_limits() {
    let server = ImageServer::start().await;
    let slow = [("/slow", "timed out after 0.5 s"), ("/stall", "timed out after 0.5 s")];
    let others = [
        ("/huge", "the image is larger than 5 MiB"),
        ("/endless", "the image is larger than 5 MiB"),
        ("/html", "the content type is text/html"),
        ("/svg", "the content type is image/svg+xml"),
        ("/lie", "the content isn't PNG, JPEG, GIF, WebP, AVIF, BMP or ICO"),
        ("/png/0", "the content isn't PNG, JPEG, GIF, WebP, AVIF, BMP or ICO"),
        ("/untyped", "none"),
        ("/zipped", "none"),
    ];
    for (timeout, expected) in [(500, slow.as_slice()), (30_000, &others)] {
        let sandbox = sandbox_with_timeout(&server, Duration::from_millis(timeout)).await;
        let urls: Vec<_> = expected.iter().map(|(path, _)| server.url(path)).collect();
        let list = load(&sandbox, &sent(sandbox.service(), &images(&urls))).await;
        for (at, (path, expected)) in expected.iter().enumerate() {
            assert_eq!(reason(&list, at), *expected, "{path}");
        }
    }
    // The server may also have written what the sockets' buffers hold.
    assert!(ImageServer::count(&server.written) < 32 * MIB, "{}", ImageServer::count(&server.written));
}

#[tokio::test]
async fn slow_servers_cannot_prolong_a_request_beyond_the_timeout_of_all_images() {
    let server = ImageServer::start().await;
    let sandbox = sandbox_with_timeout(&server, Duration::from_millis(1_500)).await;
    let urls: Vec<_> = (0..50).map(|n| server.url(&format!("/slow/{n}"))).collect();
    let mail = sent(sandbox.service(), &images(&urls));
    let started = std::time::Instant::now();
    let list = load(&sandbox, &mail).await;
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
    assert_eq!(states(&list), vec!["failed"; 50]);
    assert!(reason(&list, 49).starts_with("timed out after"), "{}", reason(&list, 49));
}

#[tokio::test]
async fn of_thousands_of_images_a_hundred_are_loaded_a_few_at_a_time() {
    let server = ImageServer::start().await;
    let sandbox = sandbox_for(&server).await;
    let urls: Vec<_> = (0..5_000).map(|n| server.url(&format!("/png?{n}"))).collect();
    let list = load(&sandbox, &sent(sandbox.service(), &images(&urls))).await;
    assert_eq!((list["total"].as_u64(), states(&list).len()), (Some(5_000), 100));
    assert_eq!(ImageServer::count(&server.requests), 100);
    assert!(ImageServer::count(&server.most) <= 6, "{}", ImageServer::count(&server.most));
}

#[tokio::test]
async fn the_images_of_an_email_are_bounded_in_all() {
    let server = ImageServer::start().await;
    let sandbox = sandbox_for(&server).await;
    let urls: Vec<_> = (0..8).map(|n| server.url(&format!("/png/{}?{n}", 4 * MIB))).collect();
    let mail = sent(sandbox.service(), &images(&urls));
    let list = load(&sandbox, &mail).await;
    let loaded = states(&list).iter().filter(|state| **state == "loaded").count();
    assert!((1..=4).contains(&loaded), "{list:#}");
    let failed = list["images"].as_array().unwrap().iter().filter(|image| image["state"] == "failed");
    let reasons: Vec<_> = failed.map(|image| &image["reason"]).collect();
    let expected = "the images of this email are too large in total";
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| **reason == expected), "{list:#}");
    // A single large image then fits.
    let list = load(&sandbox, &sent(sandbox.service(), &images(&urls[..1]))).await;
    assert_eq!(states(&list), ["loaded"]);
}

#[tokio::test]
async fn a_client_that_disconnects_ends_the_requests_for_images() {
    let server = ImageServer::start().await;
    let settings = Settings {
        remote_servers: vec![server.address],
        remote_timeout: Duration::from_mins(10),
        ..Settings::default()
    };
    let sandbox = idempost_sandbox::start(settings).await;
    let (first, second) = (
        sent(sandbox.service(), &images(&[server.url("/slow/1")])),
        sent(sandbox.service(), &images(&[server.url("/png")])),
    );
    // More than may run at the same time.
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let address = sandbox.base_url().replace("http://", "");
            let request = format!("POST {first}/images HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\ncontent-length: 0\r\n\r\n");
            (address, request)
        })
        .collect();
    let mut streams = Vec::new();
    for (address, request) in waiting {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    wait_until("both images are requested", || ImageServer::count(&server.requests) >= 2).await;
    drop(streams);
    assert_eq!(states(&load(&sandbox, &second).await), ["loaded"]);
}

#[test]
fn loading_is_rejected_while_fetching_is_disabled() {
    let sandbox = Sandbox::with(&Settings { fetch_remote: false, ..Settings::default() });
    let mail = sent(&sandbox.service, "<img src=https://cdn.example/logo.png>");
    let answer = sandbox.post(&format!("{mail}/images"), &Value::Null);
    answer.rejected(403, "fetching_disabled", "--no-fetch");
    let list = sandbox.get(format!("{mail}/images")).json();
    assert_eq!((list["can_load"].as_bool(), states(&list)), (Some(false), vec!["blocked"]));
}

#[test]
fn pages_of_other_origins_cannot_load_images() {
    let sandbox = Sandbox::new();
    let mail = sent(&sandbox.service, "<img src=https://cdn.example/logo.png>");
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
        let request = sandbox.ask(http::Method::POST, format!("{mail}/images")).header(name, value);
        assert_eq!(request.send("").status, 403, "{name}");
    }
}

#[test]
fn only_pdf_is_shown_and_it_stays_isolated() {
    let sandbox = Sandbox::new();
    let file = |name: &str, content: &str| serde_json::json!({"filename": name, "content": content});
    // `%PDF-1.7` and `<script>`.
    let files = serde_json::json!([
        file("a.pdf", "JVBERi0xLjc="),
        file("b.pdf", "PHNjcmlwdD4="),
        file("c.html", "PHNjcmlwdD4="),
        file("d.svg", "PHNjcmlwdD4=")
    ]);
    sandbox.sent(&email_with("attachments", files));
    let path = |index: usize| format!("/_/messages/{}/files/{index}", sandbox.mail().id);
    let shown = sandbox.get(path(0) + "?as=pdf");
    assert_eq!(
        (shown.header("content-type"), shown.header("content-disposition")),
        (Some("application/pdf"), None)
    );
    assert_eq!(shown.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
    for index in 1..4 {
        assert_eq!(sandbox.get(path(index) + "?as=pdf").status, 422, "{index}");
        assert_eq!(sandbox.get(path(index) + "?as=html").status, 422, "{index}");
        let download = sandbox.get(path(index));
        assert!(download.header("content-disposition").unwrap().starts_with("attachment"), "{index}");
    }
}
