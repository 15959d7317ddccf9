//! Webhook endpoints that are slow, closed, redirecting, oversized or malformed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use idempost_reference_server::{ReferenceServer, Settings, mount};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::support::{KEY, Sandbox, email_with, expect_fields_of, http_client, wait_until};

/// How an endpoint handles a request.
#[derive(Clone)]
enum Manner {
    Answers(Vec<u8>),
    /// Sends an endless response.
    Floods(&'static [u8]),
    /// Sends these bytes, then stalls.
    Falls(&'static [u8]),
}

/// Answers with this status and no body.
fn answers(status: &str) -> Manner {
    Manner::Answers(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").into_bytes())
}

/// Starts an endpoint; returns its address and the requests received.
async fn endpoint(manner: Manner) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    let (received, requests) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, manner.clone(), received.clone()));
        }
    });
    (address, requests)
}

async fn serve(mut stream: TcpStream, manner: Manner, received: tokio::sync::mpsc::UnboundedSender<String>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    // A delivery has a content length and ends with its JSON.
    while !request.ends_with(b"}}") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
    let _ = received.send(String::from_utf8_lossy(&request).into_owned());
    match manner {
        Manner::Answers(answer) => drop(stream.write_all(&answer).await),
        Manner::Floods(head) => {
            let _ = stream.write_all(head).await;
            let block = vec![b'x'; 65_536];
            while stream.write_all(&block).await.is_ok() {}
        }
        Manner::Falls(head) => {
            let _ = stream.write_all(head).await;
            let _ = stream.read(&mut buffer).await;
        }
    }
}

/// Creates a webhook for these events; returns the path of its events.
fn subscribe(sandbox: &Sandbox, address: &str, event: &str) -> String {
    let id = sandbox.created("/webhooks", &json!({ "endpoint": address, "events": [event] }));
    format!("/webhooks/{id}/events")
}

/// Delivers one event to this address; returns the first attempt and the event.
async fn first_attempt(address: &str) -> (Value, Value) {
    first_attempt_within(Duration::from_secs(30), address).await
}

async fn first_attempt_within(webhook_timeout: Duration, address: &str) -> (Value, Value) {
    let settings = Settings { webhook_timeout, ..Settings::default() };
    let server = idempost_sandbox::start(settings).await;
    first_attempt_of(&Sandbox::of(&server), address).await
}

async fn first_attempt_of(sandbox: &Sandbox, address: &str) -> (Value, Value) {
    let events = subscribe(sandbox, address, "topic.created");
    sandbox.post("/_/events", &json!({ "type": "topic.created" }));
    let event = format!("{events}/{}", sandbox.ids(&events)[0]);
    let attempts = || sandbox.items(format!("{event}/attempts"));
    wait_until("an attempt ends", || !attempts().is_empty()).await;
    (attempts().remove(0), sandbox.get(&event).json())
}

#[tokio::test]
async fn an_endpoint_receives_the_delivery_as_signed() {
    let (address, mut requests) =
        endpoint(Manner::Answers(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec())).await;
    let (attempt, event) = first_attempt(&address).await;
    expect_fields_of(&json!({"http_status_code": 200, "response": "ok"}), &attempt);
    assert_eq!(event["status"], "success");
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    let (headers, body) = request.split_once("\r\n\r\n").unwrap();
    for header in
        ["svix-id: msg_", "svix-timestamp: ", "svix-signature: v1,", "content-type: application/json"]
    {
        assert!(headers.contains(header), "{headers}");
    }
    assert_eq!(body, event["payload"].to_string());
}

#[tokio::test]
async fn a_refused_connection_is_a_failure_with_its_reason() {
    // Nothing listens on the bound port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let (attempt, event) = first_attempt(&format!("http://{address}/")).await;
    assert_eq!(attempt["http_status_code"], 0);
    assert!(attempt["response"].as_str().unwrap().contains("refused"), "{attempt}");
    assert_eq!(event["status"], "pending");
}

#[tokio::test]
async fn an_unresponsive_endpoint_times_out() {
    let (address, _heard) = endpoint(Manner::Falls(b"")).await;
    let (attempt, event) = first_attempt_within(Duration::from_millis(500), &address).await;
    expect_fields_of(&json!({"http_status_code": 0, "response": "no response within 0.5 s"}), &attempt);
    assert_eq!(event["status"], "pending");
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let (elsewhere, mut requests) = endpoint(answers("200 OK")).await;
    let redirect = format!("307 Temporary Redirect\r\nlocation: {elsewhere}");
    let (address, _heard) = endpoint(answers(&redirect)).await;
    let (attempt, event) = first_attempt(&address).await;
    assert_eq!(attempt["http_status_code"], 307);
    assert_eq!(event["status"], "pending");
    assert!(requests.try_recv().is_err(), "the redirect wasn't followed");
}

#[tokio::test]
async fn an_oversized_response_is_truncated_and_counts_by_its_status() {
    let (address, _heard) = endpoint(Manner::Floods(b"HTTP/1.1 200 OK\r\n\r\n")).await;
    let (attempt, event) = first_attempt(&address).await;
    assert_eq!(attempt["http_status_code"], 200);
    assert_eq!(attempt["response"].as_str().unwrap().len(), 4_096);
    assert_eq!(event["status"], "success");
}

#[tokio::test]
async fn a_response_that_never_completes_counts_by_its_status() {
    let (address, _heard) =
        endpoint(Manner::Falls(b"HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nhalf")).await;
    let (attempt, event) = first_attempt_within(Duration::from_secs(5), &address).await;
    expect_fields_of(&json!({"http_status_code": 202, "response": "half"}), &attempt);
    assert_eq!(event["status"], "success");
}

#[tokio::test]
async fn a_malformed_response_is_a_failure() {
    for garbage in [&b"nonsense\r\n\r\n"[..], b"HTTP/1.1 20", b"\xff\xfe\x00", b"HTTP/1.1 999999 X\r\n\r\n"] {
        let (address, _heard) = endpoint(Manner::Answers(garbage.to_vec())).await;
        let (attempt, event) = first_attempt(&address).await;
        assert_eq!(attempt["http_status_code"], 0, "{attempt}");
        assert!(attempt["response"].as_str().unwrap().starts_with("no response"), "{attempt}");
        assert_eq!(event["status"], "pending");
    }
}

/// A sandbox that listens on all addresses, until the test ends.
async fn on_all_addresses(settings: Settings) -> Sandbox {
    let service = idempost_sandbox::service(settings);
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(mount::http::serve(listener, Arc::clone(&service), std::future::pending()));
    let url = format!("http://127.0.0.1:{}/healthz", address.port());
    assert_eq!(http_client().get(url).send().await.unwrap().status(), 200);
    Sandbox::over(service)
}

#[tokio::test]
async fn beyond_loopback_webhooks_reach_private_addresses_only_if_allowed() {
    let settings = Settings { webhook_timeout: Duration::from_secs(30), ..Settings::default() };
    let (address, mut requests) = endpoint(answers("200 OK")).await;
    let named = address.replace("127.0.0.1", "localhost");
    for address in [&address, &named] {
        let (attempt, _) = first_attempt_of(&on_all_addresses(settings.clone()).await, address).await;
        assert_eq!(attempt["http_status_code"], 0, "{attempt}");
        let reason = attempt["response"].as_str().unwrap();
        assert!(reason.contains("--allow-private-addresses"), "{reason}");
    }
    assert!(requests.try_recv().is_err(), "the endpoint was requested");
    let settings = Settings { allow_private_addresses: true, ..settings };
    for address in [&address, &named] {
        let (attempt, _) = first_attempt_of(&on_all_addresses(settings.clone()).await, address).await;
        assert_eq!(attempt["http_status_code"], 200, "{attempt}");
    }
}

#[tokio::test]
async fn with_a_public_url_webhooks_reach_private_addresses_only_if_allowed() {
    let (address, _requests) = endpoint(answers("200 OK")).await;
    for (public_url, allow_private_addresses, status) in [
        ("https://abc.tunnel.test/box", false, 0),
        ("https://localhost.tunnel.test", false, 0),
        ("https://abc.tunnel.test/box", true, 200),
        ("http://localhost:8080/box", false, 200),
        ("http://[::1]:8080", false, 200),
    ] {
        let public_url = Some(public_url.to_owned());
        let settings = Settings { public_url, allow_private_addresses, ..Settings::default() };
        let server = idempost_sandbox::start(settings).await;
        let (attempt, _) = first_attempt_of(&Sandbox::of(&server), &address).await;
        assert_eq!(attempt["http_status_code"], status, "{attempt}");
        let reason = attempt["response"].as_str().unwrap();
        assert_eq!(reason.contains("--allow-private-addresses"), status == 0, "{reason}");
    }
}

#[tokio::test]
async fn webhooks_never_reach_link_local_addresses() {
    for address in ["http://169.254.169.254/latest/", "http://[::ffff:169.254.169.254]/", "http://[fe80::1]/"]
    {
        let (attempt, _) = first_attempt(address).await;
        let reason = "no response: the address is link-local or belongs to a metadata service";
        assert_eq!(attempt["response"], reason, "{address}");
    }
}

#[tokio::test]
async fn attachments_are_fetched_from_permitted_addresses_only() {
    let (address, mut requests) = endpoint(Manner::Answers(Vec::new())).await;
    let on_all = on_all_addresses(Settings::default()).await;
    let alone = idempost_sandbox::start(Settings::default()).await;
    for (sandbox, path) in [
        (&on_all, address.as_str()),
        (&on_all, &address.replace("127.0.0.1", "localhost")),
        (&on_all, "http://169.254.169.254/latest/"),
        (&Sandbox::of(&alone), "http://169.254.169.254/latest/"),
    ] {
        let events = subscribe(sandbox, "http://127.0.0.1:9/", "email.failed");
        sandbox.sent(&email_with("attachments", json!([{ "path": path }])));
        wait_until("the email fails", || !sandbox.ids(&events).is_empty()).await;
        let event = sandbox.get(format!("{events}/{}", sandbox.ids(&events)[0])).json();
        let reason = &event["payload"]["data"]["failed"]["reason"];
        assert_eq!(reason, "attachment_address_not_allowed", "{path}: {event}");
    }
    assert!(requests.try_recv().is_err(), "the file server was requested");
}

#[tokio::test]
async fn many_unresponsive_endpoints_delay_no_other_event() {
    let settings = Settings { webhook_timeout: Duration::from_mins(2), ..Settings::default() };
    let server = idempost_sandbox::start(settings).await;
    let sandbox = Sandbox::of(&server);
    let (hanging, mut held) = endpoint(Manner::Falls(b"")).await;
    let (responsive, mut requests) = endpoint(answers("200 OK")).await;
    for _ in 0..10 {
        subscribe(&sandbox, &hanging, "topic.created");
    }
    subscribe(&sandbox, &responsive, "topic.deleted");
    for _ in 0..20 {
        sandbox.post("/_/events", &json!({ "type": "topic.created" }));
    }
    for _ in 0..64 {
        held.recv().await.unwrap();
    }
    let start = Instant::now();
    for _ in 0..5 {
        sandbox.post("/_/events", &json!({ "type": "topic.deleted" }));
        requests.recv().await.unwrap();
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(30), "attempts waited {took:?} for other endpoints");
}

/// Advances the clock of the account over HTTP.
async fn advance(server: &ReferenceServer, by: &str) {
    let request = http_client().post(format!("{}/_/clock", server.base_url())).bearer_auth(KEY);
    let answer = request.body(json!({ "advance": by }).to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn evt_12_a_move_of_the_clock_returns_after_all_due_attempts() {
    // EVT-12
    let server = idempost_sandbox::start(Settings::default()).await;
    let sandbox = Sandbox::of(&server);
    let (failing, _requests) = endpoint(answers("500 Internal Server Error")).await;
    let events = subscribe(&sandbox, &failing, "topic.created");
    sandbox.post("/_/events", &json!({ "type": "topic.created" }));
    advance(&server, "28h").await;
    let event = sandbox.items(&events).remove(0);
    assert_eq!(event["status"], "failed");
    let attempts = format!("{events}/{}/attempts?limit=100", event["id"].as_str().unwrap());
    let sent = sandbox.column(attempts, "sent_at");
    let sent: Vec<Timestamp> = sent.iter().rev().map(|at| at.parse().unwrap()).collect();
    let pauses = sent.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_secs());
    assert!(pauses.eq([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]), "{sent:?}");
}

#[tokio::test]
async fn a_move_of_the_clock_waits_once_for_an_unresponsive_endpoint_and_blocks_no_other_account() {
    let settings = Settings { webhook_timeout: Duration::from_secs(1), ..Settings::default() };
    let server = idempost_sandbox::start(settings).await;
    let sandbox = Sandbox::of(&server);
    let (hanging, mut held) = endpoint(Manner::Falls(b"")).await;
    let events = subscribe(&sandbox, &hanging, "topic.created");
    sandbox.post("/_/events", &json!({ "type": "topic.created" }));
    let others = async {
        held.recv().await.unwrap();
        let url = format!("{}/emails", server.base_url());
        let request =
            http_client().post(url).bearer_auth("sb_other").body(email_with("subject", "x").to_string());
        assert_eq!(request.send().await.unwrap().status(), 200);
    };
    tokio::join!(advance(&server, "28h"), others);
    let event = sandbox.items(&events).remove(0);
    assert_eq!(event["status"], "pending", "the retry is counted from the end of the attempt");
    let attempts = format!("{events}/{}/attempts", event["id"].as_str().unwrap());
    assert_eq!(sandbox.items(attempts).len(), 1);
}
