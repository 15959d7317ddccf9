//! `Settings::max_memory` bounds the service's memory under any load, counted by the allocator of this process.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use std::future::{Future as _, pending, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use idempost_sandbox::{ClockStart, Service, Settings, mount, smtp};
use jiff::Timestamp;
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Bytes beyond the limit: the accounts without their content, and the request in flight.
const OVERHEAD: usize = 8 << 20;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// A service under load.
struct Flood {
    service: Arc<Service>,
    max_memory: usize,
    /// Bytes sent per kind of record: more than the memory limit.
    bytes: usize,
    requests: usize,
    before: usize,
}

impl Flood {
    fn new(max_memory: usize) -> Self {
        let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let settings =
            Settings { max_memory, beta: true, clock: ClockStart::Frozen(noon), ..Settings::default() };
        let bytes = (max_memory + OVERHEAD) * 5 / 4;
        // An earlier test may have needed more.
        HEAP.reset_peak_usage();
        Self {
            service: idempost_sandbox::service(settings),
            max_memory,
            bytes,
            requests: 0,
            before: HEAP.current_usage(),
        }
    }

    fn ask(
        &mut self,
        method: Method,
        path: &str,
        key: &str,
        header: (&str, &str),
        body: String,
    ) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path).header(header.0, header.1);
        if !key.is_empty() {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let response = self.service.handle(request.body(Bytes::from(body)).unwrap());
        self.requests += 1;
        (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap_or_default())
    }

    fn send(&mut self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.ask(method, path, "sb_test", ("x-none", ""), body.to_string())
    }

    fn post(&mut self, path: &str, body: &Value) -> (u16, Value) {
        self.send(Method::POST, path, body)
    }

    /// Sends requests of about `each` bytes, passing each its number, then checks the memory.
    fn flood(&mut self, what: &str, each: usize, mut request: impl FnMut(&mut Self, usize)) {
        for number in 0..self.bytes.div_ceil(each) {
            request(self, number);
        }
        self.check(what);
    }

    /// Checks the peak memory use since the last check.
    fn check(&self, what: &str) {
        let taken = HEAP.peak_usage().saturating_sub(self.before);
        let allowed = self.max_memory + OVERHEAD;
        let requests = self.requests;
        assert!(taken <= allowed, "{what}: {taken} of {allowed} bytes after {requests} requests");
        HEAP.reset_peak_usage();
    }
}

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn email() -> Value {
    json!({"from": "Acme <hi@acme.test>", "to": "ada@example.com", "subject": "Hello", "text": "It works"})
}

/// Stores emails in every form (sent, scheduled, received), with pending webhook events.
fn flood_emails(flood: &mut Flood) {
    flood.post("/webhooks", &json!({"endpoint": "http://127.0.0.1:9/", "events": ["email.sent"]}));
    let mut large = email();
    large["subject"] = text(60_000).into();
    large["headers"] = json!({"X-Large": text(30_000)});
    large["tags"] = (0..20).map(|n| json!({"name": format!("tag{n}"), "value": text(200)})).collect();
    large["to"] = (0..10).map(|n| format!("{} <a{n}@example.com>", text(400))).collect();
    flood.flood("emails and webhook events", 100_000, |flood, _| {
        flood.post("/emails", &large);
    });
    large["scheduled_at"] = "in 1 hour".into();
    flood.flood("scheduled emails", 100_000, |flood, _| {
        flood.post("/emails", &large);
    });
    let mail = format!("From: a@b.test\r\nSubject: {}\r\n\r\n{}", text(2_000), text(100_000));
    flood.flood("received emails", 100_000, |flood, _| {
        flood.service.receive("sb_test", &["c@d.test"], mail.clone()).unwrap();
    });
}

/// Small emails with large overhead: idempotency keys, scheduled jobs, tenants.
fn flood_small_emails(flood: &mut Flood, many: usize) {
    for number in 0..many {
        let (key, mut small) = (format!("sb_{}", number % 2_000), email());
        if number % 2 == 0 {
            small["scheduled_at"] = "in 29 days".into();
        }
        let name = format!("key-{number}-{}", text(200));
        flood.ask(Method::POST, "/emails", &key, ("idempotency-key", &name), small.to_string());
    }
    let (_, scheduled) = flood.post("/emails", &json!({"from": "a@b.test", "to": "a@b.test", "subject": "s", "text": "x", "scheduled_at": "in 1 hour"}));
    let path = format!("/emails/{}", scheduled["id"].as_str().unwrap());
    for number in 0..many {
        let time = format!("in {} minutes", 10 + number % 1_000);
        flood.send(Method::PATCH, &path, &json!({ "scheduled_at": time }));
    }
    flood.check("many small emails");
}

/// Creates and updates table records.
fn flood_records(flood: &mut Flood) {
    let mut refused = 0;
    let mut made = |(status, body): (u16, Value)| {
        refused += usize::from(status == 403 && body["message"].as_str().unwrap().contains("--max-memory"));
    };
    flood.post("/contact-properties", &json!({"key": "notes", "type": "string"}));
    flood.flood("contacts", 50_000, |flood, n| {
        let contact = json!({"email": format!("c{n}@example.com"), "properties": {"notes": text(50_000)}});
        made(flood.post("/contacts", &contact));
    });
    let template = json!({"name": "t", "html": text(500_000)});
    flood.flood("templates", 500_000, |flood, _| made(flood.post("/templates", &template)));
    flood.flood("events", 25_000, |flood, n| {
        let schema: serde_json::Map<_, _> =
            (0..250).map(|field| (format!("{}{field}", text(90)), "string".into())).collect();
        made(flood.post("/events", &json!({"name": format!("e.{n}"), "schema": schema})));
    });
    flood.flood("automations", 100_000, |flood, n| {
        let steps = json!([{"key": "t", "type": "trigger", "config": {"event_name": format!("e.{n}")}},
            {"key": "c", "type": "condition", "config": {"type": "rule", "field": "event.a", "operator": "eq", "value": text(50_000)}}]);
        let automation = json!({"name": "a", "steps": steps, "connections": [{"from": "t", "to": "c"}]});
        made(flood.post("/automations", &automation));
    });
    flood.flood("suppressions", 40_000, |flood, n| {
        let emails: Vec<_> = (0..100).map(|e| format!("{}.{n}.{e}@example.com", "x".repeat(40))).collect();
        made(flood.post("/suppressions/batch/add", &json!({"emails": emails})));
    });
    let (_, inbox) = flood.post("/inboxes", &json!({"email_address": "desk@acme.test"}));
    if let Some(inbox) = inbox["id"].as_str() {
        let drafts = format!("/inboxes/{inbox}/drafts");
        flood.flood("drafts", 100_000, |flood, _| made(flood.post(&drafts, &json!({"text": text(100_000)}))));
    }
    flood.flood("segments", 20_000, |flood, _| made(flood.post("/segments", &json!({"name": text(200)}))));
    assert!(refused > 100, "{refused} records were refused");
    flood.service.reset();
    let left = HEAP.current_usage().saturating_sub(flood.before);
    assert!(left < 2 << 20, "{left} bytes after a reset");

    let form = ("content-type", "multipart/form-data; boundary=b");
    let mut refused = 0;
    flood.flood("files of contact imports", 500_000, |flood, _| {
        let head = "--b\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\nemail,note\na@b.test,";
        let file = format!("{head}{}\r\n--b--", text(500_000));
        let (status, _) = flood.ask(Method::POST, "/contacts/imports", "sb_test", form, file);
        refused += usize::from(status == 403);
    });
    assert!(refused > 10, "{refused} files were refused");
    flood.service.reset();

    let (_, segment) = flood.post("/segments", &json!({"name": "All"}));
    let broadcast =
        json!({"segment_id": segment["id"], "from": "hi@acme.test", "subject": "s", "html": text(500_000)});
    flood.flood("broadcasts", 500_000, |flood, _| {
        flood.post("/broadcasts", &broadcast);
    });
    flood.service.reset();

    flood.post("/inboxes", &json!({"email_address": "desk@acme.test"}));
    flood.flood("mails of an inbox", 50_000, |flood, n| {
        let mail = format!("From: a{n}@b.test\r\nSubject: {n}\r\n\r\n{}", text(50_000));
        flood.service.receive("sb_test", &["desk@acme.test"], mail).unwrap();
    });
    flood.service.reset();

    flood.post("/contact-properties", &json!({"key": "notes", "type": "string"}));
    let contacts = 500;
    for n in 0..contacts {
        let (status, _) = flood.post("/contacts", &json!({"email": format!("c{n}@example.com")}));
        assert!(status < 300, "{status}");
    }
    flood.flood("contacts that grow", 200_000, |flood, n| {
        let path = format!("/contacts/c{}@example.com", n % contacts);
        flood.send(Method::PATCH, &path, &json!({"properties": {"notes": text(200_000)}}));
    });
    flood.service.reset();
}

/// Unauthenticated and rejected requests.
fn flood_unauthenticated(flood: &mut Flood) {
    let header = text(100_000);
    flood.flood("requests without a key", 100_000, |flood, _| {
        flood.ask(Method::GET, "/emails", "", ("x-large", &header), String::new());
    });
    // Only a stored account has a log.
    flood.post("/segments", &json!({"name": "All"}));
    let path = format!("/{}", text(50_000));
    flood.flood("log entries", 50_000, |flood, _| {
        flood.ask(Method::GET, &path, "sb_test", ("user-agent", &path), String::new());
    });
    flood.flood("OAuth clients", 50_000, |flood, n| {
        if n % 20 == 0 {
            flood.service.clock().advance(Duration::from_hours(1));
        }
        let client = json!({"client_name": text(1_000), "redirect_uris": [format!("http://127.0.0.1/{}", text(45_000))]});
        flood.ask(Method::POST, "/oauth/register", "", ("content-type", "application/json"), client.to_string());
    });
}

/// Keys that only read.
fn flood_reads(flood: &mut Flood, keys: usize) {
    flood.service.reset();
    let before = HEAP.current_usage();
    for number in 0..keys {
        flood.ask(Method::GET, "/usage", &format!("sb_{number}"), ("x-none", ""), String::new());
    }
    let left = HEAP.current_usage().saturating_sub(before);
    // The last requests are recorded.
    assert!(left < flood.max_memory / 3, "{left} bytes");
    assert!(flood.service.state().tenants.all().is_empty());
}

fn flood_all(max_memory: usize, many: usize) {
    let mut flood = Flood::new(max_memory);
    flood_emails(&mut flood);
    flood_small_emails(&mut flood, many);
    flood_records(&mut flood);
    flood_unauthenticated(&mut flood);
    flood_reads(&mut flood, 20 * many);
}

/// Held by each test: all of them share the heap.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Runs a test whose server has ended before the next test begins.
fn alone(test: impl Future<Output = ()>) {
    let _alone = ALONE.blocking_lock();
    tokio::runtime::Runtime::new().unwrap().block_on(test);
}

#[test]
fn readers_of_a_mail_with_many_links_share_its_text() {
    let _alone = ALONE.blocking_lock();
    let service = idempost_sandbox::service(Settings::default());
    let request = |method: Method, path: &str, body: String| {
        let request = Request::builder().method(method).uri(path).header("authorization", "Bearer sb_test");
        service.handle(request.body(Bytes::from(body)).unwrap())
    };
    let links: Vec<_> =
        (0..50_000).map(|number| format!("<a href='https://a.example/{number}'>x</a> ")).collect();
    let html = links.concat();
    let size = html.len();
    let mail = json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "html": html});
    let sent = request(Method::POST, "/emails", mail.to_string());
    let id = serde_json::from_slice::<Value>(sent.body()).unwrap()["id"].as_str().unwrap().to_owned();
    drop((mail, html, links, sent));
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let response = request(Method::GET, &format!("/emails/{id}"), String::new());
                assert!(response.status().is_success() && response.body().len() > size);
            });
        }
    });
    // Each response contains the HTML and the text, and the log of requests records it.
    let peak = HEAP.peak_usage() - before;
    assert!(peak <= 12 * 3 * size, "{peak} bytes for HTML of {size}");
}

#[test]
fn memory_stays_within_max_memory() {
    let _alone = ALONE.blocking_lock();
    flood_all(16 << 20, 1_500);
}

/// A sandbox behind a socket.
struct Served {
    service: Arc<Service>,
    address: SocketAddr,
    smtp: SocketAddr,
    max_memory: usize,
    before: usize,
}

/// The bytes of a large body.
const LARGE: usize = 7 << 20;

impl Served {
    async fn start(settings: Settings) -> Self {
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();
        let max_memory = settings.max_memory;
        let service = idempost_sandbox::service(settings);
        let [http, smtp] = [TcpListener::bind("127.0.0.1:0").await, TcpListener::bind("127.0.0.1:0").await];
        let (http, smtp) = (http.unwrap(), smtp.unwrap());
        let (address, smtp_address) = (http.local_addr().unwrap(), smtp.local_addr().unwrap());
        tokio::spawn(mount::http::serve(http, Arc::clone(&service), pending()));
        tokio::spawn(smtp::serve(smtp, Arc::clone(&service), smtp::Options::new("sb_test"), pending()));
        Self { service, address, smtp: smtp_address, max_memory, before }
    }

    /// The peak memory use so far, excluding the test's own.
    fn peak(&self) -> usize {
        HEAP.peak_usage().saturating_sub(self.before)
    }

    fn check_peak(&self) {
        let peak = self.peak();
        assert!(peak <= self.max_memory * 12 / 10, "{peak} of {} bytes", self.max_memory);
    }

    /// Sends a head and then a body of [`LARGE`] bytes; returns the first line of the response.
    async fn upload(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // Otherwise, the zeros would be the size of a chunk.
        let size = if head.contains("chunked") { format!("{LARGE:x}\r\n") } else { String::new() };
        stream.write_all(format!("{head}host: localhost\r\n\r\n{size}").as_bytes()).await.unwrap();
        let (mut read, mut write) = stream.split();
        let mut line = [0; 12];
        let upload = async {
            // The server may close the connection instead.
            let _ = send_zeros(&mut write).await;
            pending::<()>().await;
        };
        tokio::select! {
            read = read.read_exact(&mut line) => drop(read.unwrap()),
            () = upload => {}
        }
        String::from_utf8_lossy(&line).into_owned()
    }
}

static ZEROS: [u8; 64 << 10] = [b'0'; 64 << 10];

async fn send_zeros(write: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
    for _ in 0..LARGE / ZEROS.len() {
        write.write_all(&ZEROS).await?;
    }
    Ok(())
}

/// Runs a number of copies of a task at the same time.
async fn many<T>(number: usize, task: impl AsyncFn() -> T) -> Vec<T> {
    let mut running: Vec<_> = (0..number).map(|_| Box::pin(task())).collect();
    let mut results = Vec::new();
    poll_fn(|context| {
        running.retain_mut(|one| match one.as_mut().poll(context) {
            Poll::Ready(result) => {
                results.push(result);
                false
            }
            Poll::Pending => true,
        });
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results
}

fn small() -> Settings {
    Settings { max_memory: 64 << 20, ..Settings::default() }
}

#[test]
fn bodies_of_clients_without_access_are_not_read() {
    alone(async {
        let password = Some("correct-horse".to_owned().into());
        let served = Served::start(Settings { password, ..small() }).await;
        for (key, path, status) in [
            ("authorization: Bearer sb_wrong\r\n", "/emails", "HTTP/1.1 403"),
            ("", "/emails", "HTTP/1.1 401"),
            ("authorization: Bearer sb_correct-horse_sending\r\n", "/contacts", "HTTP/1.1 401"),
            ("", "/_/received", "HTTP/1.1 401"),
            ("authorization: Bearer sb_correct-horse\r\n", "/nowhere", "HTTP/1.1 404"),
        ] {
            for length in [format!("content-length: {LARGE}"), "transfer-encoding: chunked".to_owned()] {
                let head = format!("POST {path} HTTP/1.1\r\n{key}{length}\r\n");
                let statuses = many(10, async || served.upload(&head).await).await;
                assert_eq!(statuses, [status; 10], "{head}");
            }
        }
        let peak = served.peak();
        assert!(peak < 8 << 20, "{peak} bytes");
    });
}

#[test]
fn request_bodies_in_flight_share_a_budget() {
    alone(async {
        let served = Served::start(small()).await;
        let head =
            format!("POST /emails HTTP/1.1\r\nauthorization: Bearer sb_test\r\ncontent-length: {LARGE}\r\n");
        let statuses = many(60, async || served.upload(&head).await).await;
        assert_eq!(statuses, ["HTTP/1.1 400"; 60], "each waits its turn");
        served.check_peak();
        assert_eq!(served.service.state().in_flight.available(), 12 << 20);
    });
}

#[test]
fn messages_of_smtp_sessions_share_the_budget() {
    alone(async {
        let served = Served::start(small()).await;
        let replies = many(60, async || {
            let mut stream = BufReader::new(TcpStream::connect(served.smtp).await.unwrap());
            let start = "HELO me\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n";
            stream.write_all(start.as_bytes()).await.unwrap();
            let mut line = String::new();
            while !line.starts_with("354") {
                line.clear();
                stream.read_line(&mut line).await.unwrap();
            }
            send_zeros(&mut stream).await.unwrap();
            stream.write_all(b"\r\n.\r\n").await.unwrap();
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            line[..3].to_owned()
        })
        .await;
        let rejected = replies.iter().filter(|code| *code == "452").count();
        assert!((1..60).contains(&rejected), "{replies:?}");
        // The others were read: zeros are no message.
        assert_eq!(replies.iter().filter(|code| *code == "554").count(), 60 - rejected);
        served.check_peak();
        assert_eq!(served.service.state().in_flight.available(), 12 << 20);
    });
}

#[test]
fn responses_that_are_not_read_share_the_budget_and_time_out() {
    alone(async {
        let served = Served::start(Settings { body_timeout: Duration::from_millis(500), ..small() }).await;
        let mail = format!("From: a@b.test\r\nSubject: s\r\n\r\n{}", "y".repeat(LARGE));
        served.service.receive("sb_test", &["c@d.test"], mail).unwrap();
        let request = Request::get("/_/received").header("authorization", "Bearer sb_test");
        let list = served.service.handle(request.body(Bytes::new()).unwrap());
        let id = serde_json::from_slice::<Value>(list.body()).unwrap()["data"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let get = format!(
            "GET /_/received/{id}/download HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sb_test\r\nconnection: close\r\n\r\n"
        );
        let open = async || {
            let mut stream = TcpStream::connect(served.address).await.unwrap();
            stream.write_all(get.as_bytes()).await.unwrap();
            stream
        };
        let unread = many(60, open).await;
        let in_flight = &served.service.state().in_flight;
        let end = Instant::now() + Duration::from_mins(1);
        while in_flight.available() == 12 << 20 {
            assert!(Instant::now() < end, "no response is in flight");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        while in_flight.available() < 12 << 20 {
            assert!(Instant::now() < end, "the clients are still waited for");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        served.check_peak();
        drop(unread);
        let mut whole = Vec::new();
        open().await.read_to_end(&mut whole).await.unwrap();
        assert!(whole.starts_with(b"HTTP/1.1 200") && whole.len() > LARGE, "{} bytes", whole.len());
    });
}

#[test]
#[ignore = "takes many minutes"]
fn memory_stays_within_a_gigabyte() {
    flood_all(1 << 30, 80_000);
}
