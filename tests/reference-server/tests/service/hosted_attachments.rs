//! Hosted attachments, fetched from a file server that is slow, oversized or hostile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use idempost_reference_server::{Fetched, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use crate::restarts::Restartable;
use crate::support::{Sandbox, email_with, wait_until};

/// Maximum size of an email's attachments after Base64.
const MOST: usize = 41_943_040;

/// A file server.
struct Files {
    address: String,
    /// Bytes written, heads and bodies.
    written: Arc<AtomicUsize>,
    /// Maximum concurrent connections seen.
    most: Arc<AtomicUsize>,
    /// One permit per response.
    answers: Arc<Semaphore>,
    asked: mpsc::UnboundedReceiver<String>,
}

impl Files {
    /// Responds to every request with this head and up to `size` zeros, until the client disconnects.
    async fn serve(head: &'static str, size: usize, answers: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::unbounded_channel();
        let files = Self {
            address,
            written: Arc::default(),
            most: Arc::default(),
            answers: Arc::new(Semaphore::new(answers)),
            asked,
        };
        let (written, most, answers) =
            (Arc::clone(&files.written), Arc::clone(&files.most), Arc::clone(&files.answers));
        let now = Arc::new(AtomicUsize::new(0));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tell, written, answers) = (tell.clone(), Arc::clone(&written), Arc::clone(&answers));
                let (now, most) = (Arc::clone(&now), Arc::clone(&most));
                tokio::spawn(async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    answer(stream, head, size, &tell, &written, &answers, &now).await;
                });
            }
        });
        files
    }
}

async fn answer(
    stream: TcpStream,
    head: &str,
    size: usize,
    tell: &mpsc::UnboundedSender<String>,
    written: &AtomicUsize,
    answers: &Semaphore,
    now: &AtomicUsize,
) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    tell.send(line.split(' ').nth(1).unwrap_or_default().to_owned()).unwrap();
    answers.acquire().await.unwrap().forget();
    now.fetch_sub(1, Ordering::SeqCst);
    let mut rest = size;
    let mut piece = head.replace('\n', "\r\n").into_bytes();
    loop {
        // The client disconnects at its limit.
        if stream.write_all(&piece).await.is_err() {
            return;
        }
        written.fetch_add(piece.len(), Ordering::SeqCst);
        if rest == 0 {
            return;
        }
        piece = vec![0; rest.min(64 << 10)];
        rest -= piece.len();
    }
}

fn hosted(addresses: &[String]) -> Value {
    email_with("attachments", addresses.iter().map(|path| json!({"path": path})).collect::<Vec<_>>())
}

/// Waits until the email is sent or failed; returns its last event.
async fn wait_for_outcome(sandbox: &Sandbox, id: &str) -> String {
    for _ in 0..3_000 {
        match sandbox.last_event(id).as_str() {
            "queued" => tokio::time::sleep(Duration::from_millis(10)).await,
            event => return event.to_owned(),
        }
    }
    panic!("the email still waits");
}

/// The failure reason as delivered to webhooks.
fn failure_reason(sandbox: &Sandbox) -> String {
    sandbox.delivered()[0]["data"]["failed"]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn email_29_fetched_files_count_toward_the_40_mib_limit() {
    // EMAIL-29, LIM-03
    for (given, fetched, event) in
        [(MOST / 2, MOST / 2, "sent"), (MOST / 2, MOST / 2 + 4, "failed"), (4, MOST, "failed")]
    {
        let sandbox = Sandbox::new();
        sandbox.subscribe(&["email.failed"]);
        let content = STANDARD.encode(vec![7; given / 4 * 3]);
        let attachments = json!([{"content": content}, {"path": "https://files.acme.test/a"}]);
        let id = sandbox.sent(&email_with("attachments", attachments));
        let job = sandbox.service.next_fetch().unwrap();
        let content = Bytes::from(vec![8; fetched / 4 * 3]);
        sandbox.service.finish_fetch(job, Ok(vec![Fetched { index: 1, content }]));
        assert_eq!(sandbox.last_event(&id), event, "{given} and {fetched}");
        if event == "failed" {
            assert_eq!(failure_reason(&sandbox), "attachments_too_large");
        }
    }
}

#[tokio::test]
async fn email_29_fetching_stops_at_the_size_limit() {
    // EMAIL-29
    for (head, size, most) in [
        // Announced length, rejected before the body is read.
        ("HTTP/1.1 200 OK\nContent-Length: 31457281\n\n", 31_457_281, 8 << 20),
        // Unknown length.
        ("HTTP/1.1 200 OK\nConnection: close\n\n", usize::MAX, 40 << 20),
    ] {
        let files = Files::serve(head, size, 10).await;
        let server = idempost_sandbox::start(Settings::default()).await;
        let sandbox = Sandbox::of(&server);
        let id = sandbox.sent(&hosted(&[format!("{}/a", files.address), format!("{}/b", files.address)]));
        assert_eq!(wait_for_outcome(&sandbox, &id).await, "failed");
        let written = files.written.load(Ordering::SeqCst);
        assert!(written <= most, "{written} bytes were taken");
    }
}

#[tokio::test]
async fn files_are_fetched_for_four_emails_at_a_time() {
    let mut files = Files::serve("HTTP/1.1 200 OK\nContent-Length: 3\nConnection: close\n\n", 3, 0).await;
    let server = idempost_sandbox::start(Settings::default()).await;
    let sandbox = Sandbox::of(&server);
    let send = |index: i32| sandbox.sent(&hosted(&[format!("{}/{index}", files.address)]));
    let ids: Vec<_> = (0..30).map(send).collect();
    // Each response frees a slot for the next.
    for _ in 0..30 {
        files.asked.recv().await.unwrap();
        files.answers.add_permits(1);
    }
    for id in ids {
        assert!(["sent", "delivered"].contains(&wait_for_outcome(&sandbox, &id).await.as_str()));
    }
    let most = files.most.load(Ordering::SeqCst);
    assert!(most <= 4, "{most} at a time");
}

#[tokio::test]
async fn a_file_counts_as_memory_in_flight_while_it_is_fetched() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let path = format!("http://{}/a", listener.local_addr().unwrap());
    let server = idempost_sandbox::start(Settings::default()).await;
    let sandbox = Sandbox::of(&server);
    let in_flight = &server.service().state().in_flight;
    let all = in_flight.available();
    let id = sandbox.sent(&hosted(&[path]));
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n").await.unwrap();
    wait_until("the file counts", || in_flight.available() == all - (1 << 20)).await;
    stream.write_all(&vec![b'x'; 1 << 20]).await.unwrap();
    assert_ne!(wait_for_outcome(&sandbox, &id).await, "failed");
    wait_until("the file doesn't count any more", || in_flight.available() == all).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let redirect = "HTTP/1.1 302 Found\nLocation: /private\nContent-Length: 0\nConnection: close\n\n";
    let mut files = Files::serve(redirect, 0, 10).await;
    let server = idempost_sandbox::start(Settings::default()).await;
    let sandbox = Sandbox::of(&server);
    let id = sandbox.sent(&hosted(&[format!("{}/public", files.address)]));
    assert_eq!(wait_for_outcome(&sandbox, &id).await, "failed");
    assert_eq!(files.asked.recv().await.unwrap(), "/public");
    assert!(files.asked.try_recv().is_err(), "the redirect was followed");
}

#[test]
fn with_fetching_disabled_hosted_attachments_are_rejected() {
    let sandbox = Sandbox::with(&Settings { fetch_attachments: false, ..Settings::default() });
    let attachments = json!([{"content": "YQ=="}, {"path": "https://files.acme.test/a"}]);
    sandbox.refused(&email_with("attachments", attachments)).invalid("`attachments[1].path`");
    assert!(sandbox.service.next_fetch().is_none());
}

#[test]
fn an_email_scheduled_before_fetching_was_disabled_fails() {
    let mut sandbox = Restartable::new();
    sandbox.subscribe(&["email.failed"]);
    let mut email = hosted(&["https://files.acme.test/a".to_owned()]);
    email["scheduled_at"] = "in 1 minute".into();
    let id = sandbox.sent(&email);
    sandbox.restart_with(Settings { fetch_attachments: false, ..Settings::default() });
    sandbox.advance(120);
    assert_eq!(sandbox.last_event(&id), "failed");
    assert_eq!(failure_reason(&sandbox), "fetching_is_off");
    assert!(sandbox.service.next_fetch().is_none());
}

#[test]
fn emails_waiting_for_files_are_bounded_in_bytes() {
    // A sixteenth of the memory is for them: 4 MiB.
    let sandbox = Sandbox::with(&Settings { max_memory: 64 << 20, ..Settings::default() });
    sandbox.subscribe(&["email.failed"]);
    let text = "t".repeat(20 << 16);
    let mut email = hosted(&["https://files.acme.test/a".to_owned()]);
    email["text"] = text.into();
    let last: Vec<_> = (0..8).map(|_| sandbox.sent(&email)).map(|id| sandbox.last_event(&id)).collect();
    assert_eq!(last, [["queued"; 3].as_slice(), &["failed"; 5]].concat());
    assert_eq!(failure_reason(&sandbox), "too_many_attachments_to_fetch");
    // A finished email frees its slot.
    let job = sandbox.service.next_fetch().unwrap();
    sandbox.service.finish_fetch(job, Err("refused".into()));
    let id = sandbox.sent(&email);
    assert_eq!(sandbox.last_event(&id), "queued");
}
