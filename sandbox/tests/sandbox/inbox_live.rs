//! The live event stream, over a real socket.

use std::time::Duration;

use idempost_sandbox::{ReferenceServer, Settings};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{email, http_client};

const TIMEOUT: Duration = Duration::from_mins(1);

/// A client of the event stream.
pub(crate) struct Stream {
    response: reqwest::Response,
    read: String,
}

impl Stream {
    pub(crate) async fn connect(server: &ReferenceServer) -> Self {
        let client = http_client();
        let url = format!("{}/_/stream?key={}", server.base_url(), server.api_key());
        let response = client.get(url).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        Self { response, read: String::new() }
    }

    /// Returns the next message of this kind, skipping others; `None` at the end of the stream.
    pub(crate) async fn next(&mut self, kind: &str) -> Option<Value> {
        loop {
            while let Some(end) = self.read.find("\n\n") {
                let message: String = self.read.drain(..end + 2).collect();
                let data = message.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
                let is = message.lines().any(|line| line == format!("event: {kind}"));
                if is {
                    return Some(serde_json::from_str(&data.unwrap()).unwrap());
                }
            }
            let chunk =
                timeout(TIMEOUT, self.response.chunk()).await.expect("a chunk arrives in time").unwrap()?;
            self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

pub(crate) async fn post(server: &ReferenceServer, path: &str, body: &Value) {
    let client = http_client();
    let request = client.post(format!("{}{path}", server.base_url())).bearer_auth(server.api_key());
    let response =
        request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
    assert!(response.status().is_success(), "{}", response.text().await.unwrap());
}

#[tokio::test]
async fn the_stream_starts_with_a_comment_and_asks_proxies_not_to_buffer() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let url = format!("{}/_/stream?key={}", server.base_url(), server.api_key());
    let mut response = http_client().get(url).send().await.unwrap();
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    assert_eq!(response.headers()["cache-control"], "no-store, no-transform");
    let first = timeout(TIMEOUT, response.chunk()).await.unwrap().unwrap().unwrap();
    assert!(first.starts_with(b": "), "{first:?}");
}

#[tokio::test]
async fn events_are_streamed_as_they_happen() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let mut stream = Stream::connect(&server).await;
    let hello = stream.next("hello").await.unwrap();
    assert_eq!(
        (&hello["account"], &hello["sent"], &hello["received"]),
        (&json!("sb_tes…"), &json!(0), &json!(0))
    );

    post(&server, "/emails", &email()).await;
    let news = stream.next("news").await.unwrap();
    assert_eq!(news["mails"][0]["subject"], "Hello");
    let (id, email_id) = (news["mails"][0]["id"].clone(), news["mails"][0]["email_id"].clone());

    post(&server, &format!("/_/messages/{}/events", id.as_str().unwrap()), &json!({"type": "bounced"})).await;
    loop {
        let news = stream.next("news").await.unwrap();
        let emails = news["emails"].as_array().unwrap();
        if emails.iter().any(|one| one["id"] == email_id && one["last_event"] == "bounced") {
            break;
        }
    }
    post(
        &server,
        "/_/received",
        &json!({"from": "a@example.com", "to": "b@acme.test", "subject": "In", "text": "x"}),
    )
    .await;
    loop {
        if stream.next("news").await.unwrap()["received"][0]["subject"] == "In" {
            break;
        }
    }
    post(&server, "/_/clock", &json!({"advance": "1h"})).await;
    while stream.next("news").await.unwrap()["clock"] != true {}
    post(&server, "/_/reset", &json!({})).await;
    assert_eq!(stream.next("hello").await.unwrap()["sent"], 0);
}

#[tokio::test]
async fn marked_and_deleted_mails_are_streamed_with_the_new_counts() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let mut stream = Stream::connect(&server).await;
    let hello = stream.next("hello").await.unwrap();
    assert_eq!(hello["unread"], json!({"sent": 0, "received": 0}));
    post(&server, "/emails", &email()).await;
    let news = stream.next("news").await.unwrap();
    assert_eq!((&news["mails"][0]["unread"], &news["counts"]["unread"]["sent"]), (&json!(true), &json!(1)));
    let id = news["mails"][0]["id"].as_str().unwrap().to_owned();

    let change = |method: http::Method, body: &'static str| {
        let request = http::Request::builder().method(method).uri(format!("/_/messages/{id}"));
        let request = request.header("authorization", format!("Bearer {}", server.api_key()));
        assert_eq!(server.service().handle(request.body(body.into()).unwrap()).status(), 200);
    };
    change(http::Method::PATCH, r#"{"unread": false}"#);
    let marked = loop {
        let news = stream.next("news").await.unwrap();
        if news["marked"] != json!([]) {
            break news;
        }
    };
    assert_eq!(marked["marked"], json!([{"id": id, "unread": false}]));
    assert_eq!(marked["counts"]["unread"]["sent"], 0);
    change(http::Method::DELETE, "");
    let deleted = loop {
        let news = stream.next("news").await.unwrap();
        if news["deleted"] != json!([]) {
            break news;
        }
    };
    assert_eq!((&deleted["deleted"], &deleted["counts"]["sent"]), (&json!([id]), &json!(0)));
}

#[tokio::test]
async fn the_stream_is_isolated_per_tenant() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let mut stream = Stream::connect(&server).await;
    stream.next("hello").await.unwrap();
    let request = http::Request::post("/emails").header("authorization", "Bearer sb_other");
    server.service().handle(request.body(email().to_string().into()).unwrap());
    post(&server, "/emails", &email()).await;
    loop {
        let news = stream.next("news").await.unwrap();
        let mails = news["mails"].as_array().unwrap();
        assert!(mails.len() < 2 && news["emails"].as_array().unwrap().len() < 2, "{news}");
        if mails.len() == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn bursts_are_streamed_in_batches() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let mut stream = Stream::connect(&server).await;
    stream.next("hello").await.unwrap();
    for _ in 0..5_000 {
        let request = http::Request::post("/emails").header("authorization", "Bearer sb_test");
        server.service().handle(request.body(email().to_string().into()).unwrap());
    }
    // Too many events to send one by one: a new `hello` makes the page reload.
    while stream.next("hello").await.unwrap()["sent"] != 5_000 {}
}

#[tokio::test]
async fn a_stream_ends_on_shutdown() {
    let service = idempost_sandbox::service(Settings::default());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/_/stream?key=sb_test", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(idempost_sandbox::mount::http::serve(listener, service, async {
        let _ = stopped.await;
    }));
    let client = http_client();
    let mut stream = Stream { response: client.get(url).send().await.unwrap(), read: String::new() };
    stream.next("hello").await.unwrap();
    stop.send(()).unwrap();
    assert_eq!(stream.next("hello").await, None);
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_non_streaming_mount_sends_the_current_state_and_ends() {
    let server = ReferenceServer::start_wiremock(idempost_sandbox::service(Settings::default())).await;
    let mut stream = Stream::connect(&server).await;
    assert_eq!(stream.next("hello").await.unwrap()["sent"], 0);
    assert_eq!(stream.next("hello").await, None);
}
