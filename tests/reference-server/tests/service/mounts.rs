//! Both mounts, over real sockets.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use idempost_reference_server::faults::{Action, Rule};
use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::{Value, json};

use crate::support::{Sandbox, email, email_with, expect_fields_of, http_client, wait_until};

async fn post(server: &ReferenceServer, path: &str, body: &Value) -> reqwest::Result<(StatusCode, String)> {
    let request = http_client().post(format!("{}{path}", server.base_url())).bearer_auth(server.api_key());
    let response = request.header("content-type", "application/json").body(body.to_string()).send().await?;
    Ok((response.status(), response.text().await?))
}

async fn get(server: &ReferenceServer, path: &str) -> reqwest::Result<(StatusCode, String)> {
    let request = http_client().get(format!("{}{path}", server.base_url())).bearer_auth(server.api_key());
    let response = request.send().await?;
    Ok((response.status(), response.text().await?))
}

async fn both() -> [ReferenceServer; 2] {
    [ReferenceServer::start().await, idempost_sandbox::start(Settings::default()).await]
}

#[tokio::test]
async fn gen_01_both_mounts_serve_the_same_service_over_http() {
    // GEN-01
    for server in both().await {
        let (status, body) = post(&server, "/emails", &email()).await.unwrap();
        assert_eq!(status, 200, "{body}");
        let (status, list) = get(&server, "/emails?limit=1").await.unwrap();
        assert_eq!(status, 200);
        let list: Value = serde_json::from_str(&list).unwrap();
        assert_eq!(list["data"][0]["subject"], "Hello");
        assert_eq!(server.service().mails("sb_test").len(), 1);
        assert_eq!(server.service().requests().len(), 2);
        assert_eq!(get(&server, "/nowhere").await.unwrap().0, 404);
    }
}

#[tokio::test]
async fn both_mounts_keep_headers_and_queries() {
    for server in both().await {
        let url = format!("{}/emails?limit=5&x=%C3%BC", server.base_url());
        let request = http_client().get(url).bearer_auth("sb_test").header("x-own", "1");
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/json; charset=utf-8");
        assert_eq!(response.headers().get_all("content-type").iter().count(), 1);
        assert_eq!(response.headers()["ratelimit-limit"], "1000000");
        let requests = server.service().requests();
        assert_eq!(requests[0].query.as_deref(), Some("limit=5&x=%C3%BC"));
        assert_eq!(requests[0].headers["x-own"], "1");
    }
}

#[tokio::test]
async fn a_truncated_response_is_shorter_than_its_content_length() {
    let server = idempost_sandbox::start(Settings::default()).await;
    for bytes in [0, 5, 40] {
        server.service().faults().add_once(Action::Truncate(bytes));
        let url = format!("{}/emails", server.base_url());
        let mut response = http_client().get(url).bearer_auth("sb_test").send().await.unwrap();
        assert_eq!(response.status(), 200);
        let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
        let mut received = 0;
        let lost = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => received += chunk.len(),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(lost && received <= bytes && bytes < length, "{received} of {length} with {bytes}");
    }
}

#[tokio::test]
async fn both_mounts_delay_responses() {
    for server in both().await {
        let delay = Duration::from_millis(150);
        server.service().faults().add(Rule::new(Action::Delay(delay)).on_request(Method::POST, "/emails"));
        let start = Instant::now();
        assert_eq!(post(&server, "/emails", &email()).await.unwrap().0, 200);
        assert!(start.elapsed() >= delay);
    }
}

#[tokio::test]
async fn the_wiremock_mount_rejects_connection_faults() {
    let server = ReferenceServer::start().await;
    server.service().faults().add_once(Action::DropAfter);
    let (status, text) = post(&server, "/emails", &email()).await.unwrap();
    assert_eq!(status, 500);
    assert!(text.contains("HTTP mount"));
}

#[tokio::test]
async fn email_34_both_mounts_fetch_hosted_attachments() {
    // EMAIL-34
    let files = wiremock::MockServer::start().await;
    wiremock::Mock::given(wiremock::matchers::path("/terms.pdf"))
        .respond_with(wiremock::ResponseTemplate::new(200).set_body_bytes(&b"the terms"[..]))
        .mount(&files)
        .await;
    for server in both().await {
        let sandbox = Sandbox::of(&server);
        for (path, events) in [("terms.pdf", &["sent", "delivered"][..]), ("gone.pdf", &["failed"])] {
            let attachments = json!([{"path": format!("{}/{path}", files.uri())}]);
            let (status, body) =
                post(&server, "/emails", &email_with("attachments", attachments)).await.unwrap();
            assert_eq!(status, 200, "{body}");
            let id = sandbox.ids("/emails")[0].clone();
            wait_until("the file is fetched", || sandbox.last_event(&id) != "queued").await;
            let event = sandbox.last_event(&id);
            assert!(events.contains(&&*event), "{event}");
        }
        let file = &sandbox.mail().attachments[0];
        assert_eq!(file.filename, "terms.pdf");
        assert_eq!(file.size, 9);
    }
}

#[tokio::test]
async fn a_body_over_the_limit_returns_413() {
    let server = idempost_sandbox::start(Settings { body_limit: 1_000, ..Settings::default() }).await;
    let email = email_with("text", "x".repeat(2_000));
    let (status, body) = post(&server, "/emails", &email).await.unwrap();
    assert_eq!(status, 413);
    let expected = json!({ "statusCode": 413, "name": "validation_error" });
    expect_fields_of(&expected, &serde_json::from_str(&body).unwrap());
    assert!(server.service().mails("sb_test").is_empty());
}

#[tokio::test]
async fn a_panic_returns_500_and_the_mount_keeps_serving() {
    for server in both().await {
        server.service().on_captured(|_| panic!("the listener panicked"));
        let (status, body) = post(&server, "/emails", &email()).await.unwrap();
        assert_eq!(status, 500);
        assert!(body.contains("application_error") && body.contains("the listener panicked"), "{body}");
        assert_eq!(get(&server, "/emails").await.unwrap().0, 200);
    }
}

#[tokio::test]
async fn a_scheduled_email_is_sent_on_time_without_further_requests() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let (sender, mut sent) = tokio::sync::mpsc::unbounded_channel();
    server.service().on_captured(move |mail| sender.send(mail.subject.clone()).unwrap());
    let email = email_with("scheduled_at", "in 1 sec");
    assert_eq!(post(&server, "/emails", &email).await.unwrap().0, 200);
    let subject = tokio::time::timeout(Duration::from_mins(1), sent.recv()).await.unwrap();
    assert_eq!(subject.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn shutdown_lets_running_requests_finish() {
    let service = idempost_reference_server::Service::new(Settings::default());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/emails", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = std::sync::Arc::clone(&service);
    let serving = tokio::spawn(idempost_reference_server::mount::http::serve(listener, serving, async {
        let _ = stopped.await;
    }));
    service.faults().add_once(Action::Delay(Duration::from_millis(300)));
    let running = tokio::spawn(http_client().get(&url).bearer_auth("sb_test").send());
    wait_until("the request arrives", || !service.requests().is_empty()).await;
    stop.send(()).unwrap();
    assert_eq!(running.await.unwrap().unwrap().status(), 200);
    serving.await.unwrap().unwrap();
    http_client().get(&url).bearer_auth("sb_test").send().await.unwrap_err();
}

/// Opens a connection and writes these bytes.
async fn connected(server: &ReferenceServer, written: &str) -> tokio::net::TcpStream {
    use tokio::io::AsyncWriteExt as _;
    let address = server.base_url().trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(written.as_bytes()).await.unwrap();
    stream
}

/// Reads until the server closes the connection.
async fn rest(mut stream: tokio::net::TcpStream) -> String {
    use tokio::io::AsyncReadExt as _;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_chunked_body_is_cut_off_at_the_limit() {
    let server = idempost_sandbox::start(Settings { body_limit: 1_000, ..Settings::default() }).await;
    // An account without data has no log.
    assert_eq!(post(&server, "/emails", &email()).await.unwrap().0, 200);
    let head = "POST /emails HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sb_test\r\ntransfer-encoding: chunked\r\n\r\n";
    let body = format!("7d0\r\n{}\r\n0\r\n\r\n", " ".repeat(2_000));
    let answer = rest(connected(&server, &format!("{head}{body}")).await).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("connection: close"), "the rest of the body isn't read");
    assert!(answer.contains("x-request-id: ") && answer.contains("ratelimit-limit: "));
    let logs: Value = serde_json::from_str(&get(&server, "/logs").await.unwrap().1).unwrap();
    assert_eq!(logs["data"][0]["response_status"], 413);
}

#[tokio::test]
async fn a_client_that_sends_its_whole_body_first_reads_why_it_is_rejected() {
    let server = idempost_sandbox::start(Settings { body_limit: 1_000_000, ..Settings::default() }).await;
    let body = " ".repeat(16_000_000);
    for (key, length, status) in [
        ("wrong", format!("content-length: {}\r\n\r\n{body}", body.len()), 403),
        ("sb_test", format!("content-length: {}\r\n\r\n{body}", body.len()), 413),
        (
            "sb_test",
            format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
            413,
        ),
    ] {
        let head = format!("POST /emails HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n");
        let answer = rest(connected(&server, &(head + &length)).await).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{key}: {answer}");
    }
}

#[tokio::test]
async fn a_truncated_request_body_is_not_processed() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let body = email().to_string();
    let head = "POST /emails HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sb_test\r\ncontent-length:";
    drop(connected(&server, &format!("{head} {}\r\n\r\n{body}", body.len() + 1)).await);
    assert_eq!(post(&server, "/emails", &email()).await.unwrap().0, 200);
    assert_eq!(server.service().requests().len(), 1);
    assert_eq!(server.service().mails("sb_test").len(), 1);
}

#[tokio::test]
async fn a_malformed_chunked_body_returns_400() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let head = "POST /emails HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sb_test\r\ntransfer-encoding: chunked\r\n\r\n";
    for body in ["zz\r\n{}\r\n0\r\n\r\n", "5\r\n{}\r\n0\r\n\r\n"] {
        let answer = rest(connected(&server, &format!("{head}{body}")).await).await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("connection: close"), "{answer}");
        assert!(answer.contains("validation_error"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stalled_body_returns_408_after_thirty_seconds() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let start = tokio::time::Instant::now();
    let head = "POST /emails HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sb_test\r\n";
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(connected(&server, &format!("{head}content-length: 100\r\n\r\n{{")).await);
        open.push(connected(&server, &format!("{head}transfer-encoding: chunked\r\n\r\n1\r\n{{\r\n")).await);
    }
    for stream in open {
        let answer = rest(stream).await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("connection: close"), "{answer}");
        assert!(answer.contains("Nothing of the request body arrived for 30 s."), "{answer}");
    }
    let took = start.elapsed().as_secs();
    assert!((30..60).contains(&took), "{took} s");
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_is_accepted() {
    use tokio::io::AsyncWriteExt as _;
    let server = idempost_sandbox::start(Settings::default()).await;
    let body = email().to_string();
    let head =
        "POST /emails HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sb_test\r\nconnection: close\r\n";
    let mut stream = connected(&server, &format!("{head}content-length: {}\r\n\r\n", body.len())).await;
    for piece in body.as_bytes().chunks(20) {
        tokio::time::sleep(Duration::from_secs(25)).await;
        stream.write_all(piece).await.unwrap();
    }
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_request_head_times_out_after_thirty_seconds() {
    use tokio::io::AsyncWriteExt as _;
    let server = idempost_sandbox::start(Settings::default()).await;
    let start = tokio::time::Instant::now();
    let mut stream = connected(&server, "GET /emails HTTP/1.1\r\n").await;
    while start.elapsed() < Duration::from_mins(2) {
        tokio::time::sleep(Duration::from_secs(8)).await;
        if stream.write_all(b"x-more: 1\r\n").await.is_err() {
            break;
        }
    }
    let took = start.elapsed().as_secs();
    assert!((30..60).contains(&took), "{took} s");
    // An idle connection is closed, too.
    let idle = tokio::time::Instant::now();
    assert_eq!(rest(connected(&server, "").await).await, "");
    assert!((30..60).contains(&idle.elapsed().as_secs()));
}

#[tokio::test]
async fn http_connections_are_limited() {
    let server = idempost_sandbox::start(Settings { max_connections: 3, ..Settings::default() }).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(connected(&server, "GET /emails HTTP/1.1\r\n").await);
    }
    let request = "GET /_/ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = rest(connected(&server, request).await).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: 1"), "{answer}");
    assert!(answer.contains("There are already 3 connections"), "{answer}");
    open.pop();
    // Its slot is freed when its task ends, which can be slightly later.
    let end = Instant::now() + Duration::from_mins(1);
    while !rest(connected(&server, request).await).await.starts_with("HTTP/1.1 200 ") {
        assert!(Instant::now() < end);
    }
}

#[tokio::test]
async fn both_mounts_accept_doubled_slashes_before_a_path() {
    for server in both().await {
        assert_eq!(post(&server, "//emails", &email()).await.unwrap().0, 200);
        // The head of a request with a large body is checked before the body is read.
        let large = email_with("text", "x".repeat(100_000));
        assert_eq!(post(&server, "//emails", &large).await.unwrap().0, 200);
        let (status, list) = get(&server, "///emails?limit=1").await.unwrap();
        assert_eq!(status, 200);
        let id = serde_json::from_str::<Value>(&list).unwrap()["data"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(get(&server, &format!("//emails/{id}")).await.unwrap().0, 200);
        // A missing ID isn't a doubled slash.
        assert_eq!(get(&server, &format!("/emails//{id}")).await.unwrap().0, 404);
        assert_eq!(server.service().requests()[0].path, "/emails");
    }
}

#[tokio::test]
async fn an_http_1_1_request_must_have_one_host_header() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let host = "host: localhost\r\n";
    for (version, hosts, status) in [
        ("1.1", String::new(), 400),
        ("1.1", host.repeat(2), 400),
        ("1.1", host.to_owned(), 200),
        ("1.0", String::new(), 200),
    ] {
        let request = format!("GET /healthz HTTP/{version}\r\n{hosts}connection: close\r\n\r\n");
        let answer = rest(connected(&server, &request).await).await;
        assert!(answer.starts_with(&format!("HTTP/{version} {status} ")), "{request}{answer}");
    }
}

#[tokio::test]
async fn a_compressed_body_returns_415() {
    for server in both().await {
        for (encoding, status) in [("gzip", 415), ("br, gzip", 415), ("identity", 200)] {
            let request = http_client().post(format!("{}/emails", server.base_url())).bearer_auth("sb_test");
            let request = request.header("content-encoding", encoding).body(email().to_string());
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), status, "{encoding}");
            assert_eq!(answer.text().await.unwrap().contains("must not be compressed"), status == 415);
        }
    }
}
