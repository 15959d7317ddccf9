//! The live event stream, over a real socket.

use std::time::Duration;

use http::Method;
use idempost_sandbox::{ReferenceServer, Settings};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::served::Served;
use crate::support::{KEY, email, expect_fields_of, http_client};

const TIMEOUT: Duration = Duration::from_mins(1);

/// A client of the event stream.
pub(crate) struct Stream {
    response: reqwest::Response,
    read: String,
}

/// A sandbox, its stream, and the first message.
pub(crate) async fn open_stream() -> (Served, Stream, Value) {
    let server = Served::start(Settings::default()).await;
    let mut stream = Stream::connect(&server).await;
    let hello = stream.next("hello").await.unwrap();
    (server, stream, hello)
}

impl Stream {
    pub(crate) async fn connect(server: &Served) -> Self {
        let response = server.request(Method::GET, "/_/stream").send().await.unwrap();
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

    /// Returns the next message about changes that satisfies the condition, skipping others.
    pub(crate) async fn news(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let news = self.next("news").await.expect("the stream goes on");
            if is_wanted(&news) {
                return news;
            }
        }
    }
}

#[tokio::test]
async fn the_stream_starts_with_a_comment_and_asks_proxies_not_to_buffer() {
    let server = Served::start(Settings::default()).await;
    let url = format!("{}/_/stream?key={KEY}", server.server.base_url());
    let mut response = http_client().get(url).send().await.unwrap();
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    assert_eq!(response.headers()["cache-control"], "no-store, no-transform");
    let first = timeout(TIMEOUT, response.chunk()).await.unwrap().unwrap().unwrap();
    assert!(first.starts_with(b": "), "{first:?}");
}

#[tokio::test]
async fn events_are_streamed_as_they_happen() {
    let (server, mut stream, hello) = open_stream().await;
    expect_fields_of(&json!({"account": "sb_tes…", "sent": 0, "received": 0}), &hello);

    server.sent(&email());
    let news = stream.news(|_| true).await;
    assert_eq!(news["mails"][0]["subject"], "Hello");
    let (id, email_id) = (news["mails"][0]["id"].clone(), news["mails"][0]["email_id"].clone());

    let bounced =
        server.post(&format!("/_/messages/{}/events", id.as_str().unwrap()), &json!({"type": "bounced"}));
    assert!(bounced.status.is_success(), "{}", bounced.text());
    stream
        .news(|news| {
            let mut emails = news["emails"].as_array().unwrap().iter();
            emails.any(|one| one["id"] == email_id && one["last_event"] == "bounced")
        })
        .await;
    server.received(&json!({"from": "a@example.com", "to": "b@acme.test", "subject": "In", "text": "x"}));
    stream.news(|news| news["received"][0]["subject"] == "In").await;
    server.post("/_/clock", &json!({"advance": "1h"})).expect_status(200);
    stream.news(|news| news["clock"] == true).await;
    server.post("/_/reset", &json!({})).expect_status(200);
    assert_eq!(stream.next("hello").await.unwrap()["sent"], 0);
}

#[tokio::test]
async fn marked_and_deleted_mails_are_streamed_with_the_new_counts() {
    let (server, mut stream, hello) = open_stream().await;
    assert_eq!(hello["unread"], json!({"sent": 0, "received": 0}));
    server.sent(&email());
    let news = stream.news(|_| true).await;
    assert_eq!((&news["mails"][0]["unread"], &news["counts"]["unread"]["sent"]), (&json!(true), &json!(1)));
    let id = news["mails"][0]["id"].as_str().unwrap().to_owned();

    let path = format!("/_/messages/{id}");
    server.patch(path.as_str(), &json!({"unread": false})).expect_status(200);
    let marked = stream.news(|news| news["marked"] != json!([])).await;
    assert_eq!(marked["marked"], json!([{"id": id, "unread": false}]));
    assert_eq!(marked["counts"]["unread"]["sent"], 0);
    server.delete(path).expect_status(200);
    let deleted = stream.news(|news| news["deleted"] != json!([])).await;
    assert_eq!((&deleted["deleted"], &deleted["counts"]["sent"]), (&json!([id]), &json!(0)));
}

#[tokio::test]
async fn the_stream_is_isolated_per_tenant() {
    let (server, mut stream, _) = open_stream().await;
    server.ask(Method::POST, "/emails").key("sb_other").json(&email());
    server.sent(&email());
    let is_own = |news: &Value| {
        let mails = news["mails"].as_array().unwrap();
        assert!(mails.len() < 2 && news["emails"].as_array().unwrap().len() < 2, "{news}");
        mails.len() == 1
    };
    stream.news(is_own).await;
}

#[tokio::test]
async fn bursts_are_streamed_in_batches() {
    let (server, mut stream, _) = open_stream().await;
    for _ in 0..2_000 {
        server.sent(&email());
    }
    // Too many events to send one by one: a new `hello` makes the page reload.
    while stream.next("hello").await.unwrap()["sent"] != 2_000 {}
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
    let service = idempost_sandbox::service(Settings::default());
    let server = Served::over(ReferenceServer::start_wiremock(service).await);
    let mut stream = Stream::connect(&server).await;
    assert_eq!(stream.next("hello").await.unwrap()["sent"], 0);
    assert_eq!(stream.next("hello").await, None);
}
