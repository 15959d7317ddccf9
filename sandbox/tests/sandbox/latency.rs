//! Request latency under load, over the real HTTP mount.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use idempost_sandbox::{ClockStart, Service, Settings};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{KEY, email, http_client};

const CONTACTS: usize = 5_000;
/// The minimum ratio between the duration of the concurrent work and the 99th percentile of requests: a busy machine slows both down.
const RATIO: u32 = 4;

/// Sorts the waits; returns the 99th percentile without the longest one, which a pause of the machine may have met.
fn p99(waits: &mut [Duration]) -> Duration {
    waits.sort_unstable();
    let others = waits.len().saturating_sub(1).max(1);
    waits[(others * 99).div_ceil(100) - 1]
}

/// A newsletter of about `bytes` bytes of HTML, with a contact placeholder.
fn newsletter(bytes: usize) -> String {
    let row = "<tr><td><a href=\"https://acme.test/a\">Read more</a></td><td><p>A paragraph of some words.</p></td></tr>";
    format!("<p>Hello {{{{{{FIRST_NAME}}}}}}</p><table>{}</table>", row.repeat(bytes / row.len()))
}

fn create(service: &Service, path: &str, body: &Value) -> String {
    let request =
        Request::builder().method(Method::POST).uri(path).header("authorization", format!("Bearer {KEY}"));
    let response = service.handle(request.body(Bytes::from(body.to_string())).unwrap());
    let answer: Value = serde_json::from_slice(response.body()).unwrap();
    answer["id"].as_str().unwrap_or_else(|| panic!("{path}: {answer}")).to_owned()
}

/// Creates a broadcast ready to send.
fn broadcast(service: &Service) -> String {
    let segment = create(service, "/segments", &json!({"name": "Readers"}));
    for i in 0..CONTACTS {
        let contact = json!({"email": format!("c{i}@example.com"), "first_name": format!("Name{i}"), "segments": [{"id": segment}]});
        create(service, "/contacts", &contact);
    }
    let message = json!({"segment_id": segment, "from": "news@acme.test", "subject": "News", "html": newsletter(55_000)});
    create(service, "/broadcasts", &message)
}

struct Client {
    http: reqwest::Client,
    base_url: String,
}

impl Client {
    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base_url)).bearer_auth(KEY)
    }

    /// Repeats a request until dropped.
    async fn repeat(self: Arc<Self>, path: &'static str) {
        loop {
            let answer = self.request(Method::GET, path).send().await.unwrap();
            drop(answer.bytes().await);
        }
    }

    async fn timed(&self, request: reqwest::RequestBuilder) -> (Duration, Value) {
        let started = Instant::now();
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        let body = answer.bytes().await.unwrap();
        (started.elapsed(), serde_json::from_slice(&body).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broadcasts_exports_and_searches_do_not_block_requests() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let service = Arc::clone(server.service());
    let id = tokio::task::spawn_blocking(move || broadcast(&service)).await.unwrap();
    let http = http_client();
    let client = Arc::new(Client { http, base_url: server.base_url() });

    let started = Instant::now();
    let sending = Arc::clone(&client);
    let path = format!("/broadcasts/{id}/send");
    let send = tokio::spawn(async move { sending.timed(sending.request(Method::POST, &path)).await });
    let paths = ["/_/export?format=mbox", "/_/messages?query=paragraph+nowhere"];
    let others = paths.map(|path| tokio::spawn(Arc::clone(&client).repeat(path)));

    let mut waits = Vec::new();
    loop {
        let (wait, _) = client.timed(client.request(Method::GET, "/emails?limit=1")).await;
        waits.push(wait);
        let send = client.request(Method::POST, "/emails").header("content-type", "application/json");
        let (wait, _) = client.timed(send.body(email().to_string())).await;
        waits.push(wait);
        let (wait, record) = client.timed(client.request(Method::GET, &format!("/broadcasts/{id}"))).await;
        waits.push(wait);
        if record["status"] == "sent" {
            break;
        }
    }
    let total = started.elapsed();
    assert!(!send.is_finished() || send.await.unwrap().1["id"] == id.as_str());
    assert!(!others.iter().any(JoinHandle::is_finished), "an export or a search failed");
    for other in others {
        other.abort();
    }
    let mails = server.service().mails(KEY).iter().filter(|mail| mail.subject == "News").count();
    assert_eq!(mails, CONTACTS);

    let p99 = p99(&mut waits);
    eprintln!(
        "{} requests in {total:?}: median {:?}, p99 {p99:?}, longest {:?}",
        waits.len(),
        waits[waits.len() / 2],
        waits.last()
    );
    assert!(waits.len() >= 30, "{} requests were answered while the broadcast took {total:?}", waits.len());
    assert!(RATIO * p99 < total, "p99 is {p99:?} while the broadcast took {total:?}");
}

#[test]
fn advancing_the_clock_waits_for_due_work_without_blocking_requests() {
    let service = idempost_sandbox::service(Settings {
        clock: ClockStart::Frozen(Timestamp::UNIX_EPOCH),
        ..Settings::default()
    });
    let id = broadcast(&service);
    let schedule = json!({"scheduled_at": "1970-01-02T00:00:00Z"});
    create(&service, &format!("/broadcasts/{id}/send"), &schedule);

    let started = Instant::now();
    let moving = Arc::clone(&service);
    let moved = std::thread::spawn(move || moving.clock().advance(Duration::from_hours(48)));
    let mut waits = Vec::new();
    while !moved.is_finished() {
        let started = Instant::now();
        create(&service, "/emails", &email());
        waits.push(started.elapsed());
    }
    moved.join().unwrap();
    let total = started.elapsed();
    let mails = service.mails(KEY);
    assert_eq!(mails.iter().filter(|mail| mail.subject == "News").count(), CONTACTS);
    // The last step ran when it was due, not at the end of the clock's move.
    let last = "1970-01-02T00:00:00.4Z".parse().unwrap();
    assert_eq!(
        mails.iter().filter(|mail| mail.subject == "News").map(|mail| mail.captured_at).max(),
        Some(last)
    );
    let p99 = p99(&mut waits);
    assert!(waits.len() >= 10 && RATIO * p99 < total, "{} requests, p99 {p99:?}, in {total:?}", waits.len());
}
