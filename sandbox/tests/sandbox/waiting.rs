//! Waiting for a captured email over HTTP, and the codes and links in its details.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use idempost_sandbox::{ClockStart, ReferenceServer, Settings};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::served::{Served, answer};
use crate::support::{Answer, KEY, Sandbox, email, email_of, email_with};

async fn start() -> Served {
    Served::start(Settings::default()).await
}

/// A sandbox whose clock stands still.
async fn start_at(time: &str) -> Served {
    let clock = ClockStart::Frozen(time.parse().unwrap());
    Served::start(Settings { clock, ..Settings::default() }).await
}

fn to(address: &str) -> Value {
    email_with("to", address)
}

fn request(server: &Served, query: &str) -> reqwest::RequestBuilder {
    server.request(Method::GET, &format!("/_/messages/wait?{query}"))
}

/// Waits with this query.
async fn wait(server: &Served, query: &str) -> Answer {
    let answer = answer(request(server, query)).await;
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    answer
}

/// Starts to wait, and returns when the server has the request.
async fn waiting(server: &Served, query: &str) -> JoinHandle<Answer> {
    let task = tokio::spawn(answer(request(server, query)));
    tokio::time::sleep(Duration::from_millis(200)).await;
    task
}

/// Starts to wait, and returns when the server has answered a later request.
async fn waiting_at_the_server(server: &Served, query: &str) -> JoinHandle<Answer> {
    let task = waiting(server, query).await;
    assert_eq!(wait(server, "to=nobody&timeout=0").await.status, 408);
    task
}

/// Expects a wait to end with this email.
async fn expect_email(task: JoinHandle<Answer>, id: &str) {
    assert_eq!(task.await.unwrap().expect_status(200).json()["email_id"], id);
}

#[tokio::test]
async fn mail_that_was_captured_before_is_returned_at_once() {
    let server = start().await;
    server.sent(&to("ada@example.com"));
    server.sent(&to("grace@example.com"));
    let newest = server.sent(&to("ada@example.com"));
    server.sent(&to("grace@example.com"));
    let mail = wait(&server, "to=ADA@example.com&timeout=0").await.expect_status(200).json();
    assert_eq!(mail["email_id"], newest);
    assert_eq!(server.get(format!("/_/messages/{}", mail["id"].as_str().unwrap())).json(), mail);
}

#[tokio::test]
async fn wait_finds_words_tags_and_scheduled_mails() {
    let server = start().await;
    // The account doesn't exist yet.
    let task = waiting(&server, "query=reset+password&tag=kind%3Dreset&timeout=60").await;
    let mut reset = email_with("text", "Reset your password");
    server.sent(&reset);
    reset["tags"] = json!([{"name": "kind", "value": "reset"}]);
    reset["scheduled_at"] = json!("in 2 hours");
    let id = server.sent(&reset);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!task.is_finished());
    server.service.clock().advance(Duration::from_hours(3));
    expect_email(task, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_wakes_all_of_its_hundred_waiters() {
    let server = start().await;
    let wait = || tokio::spawn(answer(request(&server, "to=ada@example.com&timeout=60")));
    let tasks: Vec<_> = (0..100).map(|_| wait()).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!tasks.iter().any(JoinHandle::is_finished), "nothing has been captured yet");
    let start = Instant::now();
    let id = server.sent(&to("ada@example.com"));
    for task in tasks {
        expect_email(task, &id).await;
    }
    // Woken by the mail: their timeout is a minute.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[tokio::test]
async fn timeout_is_408_with_the_filter_and_the_duration() {
    let server = start().await;
    let start = Instant::now();
    let answer = wait(&server, "to=ada%40example.com&tag=a%3Db&timeout=0.3").await;
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    let message =
        "No email with `to` \"ada@example.com\", `tag` \"a=b\" was captured within 0.3 s (`timeout`).";
    assert_eq!(answer.json(), json!({"statusCode": 408, "name": "wait_timeout", "message": message}));
    let answer = wait(&server, "timeout=0").await;
    answer.rejected(408, "wait_timeout", "No email was captured within 0 s (`timeout`).");
}

#[tokio::test]
async fn timeout_is_real_time_whatever_the_clock_shows() {
    let server = start_at("2026-03-02T12:00:00Z").await;
    let task = waiting(&server, "to=ada&timeout=60").await;
    server.service.clock().advance(Duration::from_hours(24));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!task.is_finished(), "moving the clock must not end the wait");
    let id = server.sent(&to("ada@example.com"));
    expect_email(task, &id).await;
    let answer = wait(&server, "to=grace&timeout=0.1").await;
    assert_eq!(answer.status, 408, "a stopped clock must not stop the timeout");
}

#[tokio::test]
async fn after_excludes_a_mail_and_all_that_were_captured_before_it() {
    let server = start().await;
    server.sent(&to("ada@example.com"));
    let second = server.sent(&to("ada@example.com"));
    let mail = wait(&server, "to=ada").await.json();
    assert_eq!(mail["email_id"], json!(second));
    for id in [&mail["id"], &mail["email_id"]] {
        let query = format!("to=ada&after={}&timeout=0", id.as_str().unwrap());
        assert_eq!(wait(&server, &query).await.status, 408);
    }
    let task = waiting(&server, &format!("to=ada&after={second}&timeout=60")).await;
    let third = server.sent(&to("ada@example.com"));
    expect_email(task, &third).await;
    let newer = wait(&server, &format!("to=ada&after={second}&timeout=0")).await.json();
    assert_eq!(newer["email_id"], json!(third));
}

#[tokio::test]
async fn after_is_also_a_time_of_the_sandbox_clock() {
    let server = start_at("2026-03-02T12:00:00.000000500Z").await;
    let first = server.sent(&email());
    let mail = wait(&server, "timeout=0&after=2026-03-02T11:59:59Z").await.json();
    assert_eq!(mail["email_id"], json!(first));
    // As the mail shows it, in both formats, escaped and not.
    for time in [
        "2026-03-02T12:00:00Z",
        "2026-03-02T13:00:00%2B01:00",
        "2026-03-02T13:00:00+01:00",
        "2026-03-02 12:00:00.000000+00",
    ] {
        assert_eq!(wait(&server, &format!("timeout=0&after={time}")).await.status, 408, "{time}");
    }
    assert_eq!(mail["created_at"], "2026-03-02 12:00:00.000000+00");
    server.service.clock().advance(Duration::from_millis(1));
    let second = server.sent(&email());
    let mail = wait(&server, "timeout=0&after=2026-03-02T12:00:00Z").await.json();
    assert_eq!(mail["email_id"], json!(second));
}

#[tokio::test]
async fn deleted_mail_in_after_is_an_error_but_a_running_wait_keeps_its_place() {
    let server = start().await;
    let first = server.sent(&to("ada@example.com"));
    let task = waiting_at_the_server(&server, &format!("to=ada&after={first}&timeout=60")).await;
    server.delete("/_/messages").expect_status(200);
    wait(&server, &format!("to=ada&after={first}&timeout=0")).await.invalid(&format!(
        "`after` must be the id of a captured or sent email, or an RFC 3339 time; no email has the id {first}. \
         It may have been deleted or evicted: use the time of its capture."
    ));
    let second = server.sent(&to("ada@example.com"));
    expect_email(task, &second).await;
}

#[tokio::test]
async fn wait_survives_a_reset_of_its_account() {
    let server = start().await;
    for _ in 0..5 {
        server.sent(&to("grace@example.com"));
    }
    let task = waiting(&server, "to=ada&timeout=60").await;
    server.post("/_/reset", &json!({})).expect_status(200);
    let id = server.sent(&to("ada@example.com"));
    expect_email(task, &id).await;
}

#[tokio::test]
async fn wait_sees_only_mails_of_its_account() {
    let server = start().await;
    let task = waiting(&server, "to=ada&timeout=60").await;
    server.ask(Method::POST, "/emails").key("sb_other").json(&to("ada@example.com"));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!task.is_finished());
    let id = server.sent(&to("ada@example.com"));
    expect_email(task, &id).await;
}

#[tokio::test]
async fn stop_of_the_sandbox_ends_a_wait() {
    let server = start().await;
    let task = waiting_at_the_server(&server, "to=ada&timeout=60").await;
    let start = Instant::now();
    drop(server);
    let answer = task.await.unwrap().expect_status(503);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(answer.message(), "The sandbox is stopping.");
}

#[tokio::test]
async fn mails_that_arrive_while_a_wait_starts_are_never_missed() {
    let server = start().await;
    for round in 0..100 {
        let task = tokio::spawn(answer(request(&server, &format!("to=user{round}@example.com&timeout=60"))));
        tokio::time::sleep(Duration::from_micros(round * 100)).await;
        let id = server.sent(&to(&format!("user{round}@example.com")));
        expect_email(task, &id).await;
    }
}

#[tokio::test]
async fn mails_in_quick_succession_end_a_wait_once() {
    let server = start().await;
    let task = waiting(&server, "to=ada&timeout=600").await;
    for number in 0..1_000 {
        server.sent(&to(&format!("user{number}@example.com")));
    }
    let id = server.sent(&to("ada@example.com"));
    for number in 0..100 {
        server.sent(&to(&format!("user{number}@example.com")));
    }
    expect_email(task, &id).await;
}

#[test]
fn invalid_parameters_are_rejected_with_the_rule_and_the_value() {
    let sandbox = Sandbox::new();
    let rejected =
        |query: &str| sandbox.get(format!("/_/messages/wait?{query}")).expect_status(422).message();
    for value in ["601", "-1", "NaN", "1e300", "", "30s"] {
        let message = format!("`timeout` must be a number of seconds from 0 to 600; found \"{value}\".");
        assert_eq!(rejected(&format!("timeout={value}")), message);
    }
    let rule =
        "`after` must be the id of a captured or sent email, or an RFC 3339 time; found \"yesterday\".";
    assert_eq!(rejected("after=yesterday"), rule);
    assert_eq!(rejected("tag==a"), "`tag` must be `name` or `name=value`; found \"=a\".");
    assert_eq!(sandbox.ask(Method::GET, "/_/messages/wait").no_key().send("").status, 401);
    assert_eq!(sandbox.ask(Method::POST, "/_/messages/wait").send("{}").status, 405);
}

#[test]
fn mount_that_cannot_wait_finds_captured_mails_and_says_so() {
    let sandbox = Sandbox::new();
    let rule =
        "Waiting needs the HTTP mount; this one only finds emails that were captured before the request.";
    sandbox.get("/_/messages/wait?to=ada&timeout=30").rejected(501, "not_implemented", rule);
    let id = sandbox.sent(&email());
    assert_eq!(sandbox.get("/_/messages/wait?to=ada").json()["email_id"], json!(id));
}

#[test]
fn details_contain_codes_and_links() {
    let sandbox = Sandbox::new();
    let email = email_of(&json!({
        "subject": "Your verification code",
        "html": "<p>Enter this code:</p><h1>482 913</h1><p><a href='https://acme.test/verify?t=1&amp;u=2'>Verify <b>email</b></a></p>",
        "text": "Enter this code: 482 913\n\nhttps://acme.test/verify?t=1&u=2\n\nHelp: https://acme.test/help.",
    }));
    let id = sandbox.sent(&email);
    for path in [format!("/_/messages/{id}"), "/_/latest.json".into(), "/_/messages/wait".into()] {
        let mail = sandbox.get(path).json();
        assert_eq!(mail["codes"], json!(["482913"]));
        let links = json!([
            {"text": "Verify email", "url": "https://acme.test/verify?t=1&u=2"},
            {"text": "https://acme.test/help", "url": "https://acme.test/help"},
        ]);
        assert_eq!(mail["links"], links);
    }
    let plain = sandbox.sent(&email_with("html", "<p>Hello"));
    let mail = sandbox.get(format!("/_/messages/{plain}")).json();
    assert_eq!((&mail["codes"], &mail["links"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn tests_in_the_process_wait_without_http() {
    let service = idempost_sandbox::service(Settings::default());
    let server = Served::over(ReferenceServer::start_wiremock(Arc::clone(&service)).await);
    let later = service.wait_for_mail(KEY, Duration::from_mins(1), |mail| mail.subject == "Welcome");
    let sends = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.over_http(Method::POST, "/emails", &email()).await;
        let mut welcome = email_with("subject", "Welcome");
        welcome["html"] = json!("<p>Your code is 482 913</p><a href='https://acme.test/v'>Verify</a>");
        server.over_http(Method::POST, "/emails", &welcome).await;
    };
    let (mail, ()) = tokio::join!(later, sends);
    let mail = mail.unwrap();
    assert_eq!(*mail.codes, ["482913"]);
    assert_eq!((&*mail.links[0].text, &*mail.links[0].url), ("Verify", "https://acme.test/v"));
    let again = service.wait_for_mail(KEY, Duration::ZERO, |mail| mail.subject == "Welcome").await;
    assert_eq!(again.unwrap().id, mail.id);
    assert!(
        service.wait_for_mail(KEY, Duration::from_millis(50), |mail| mail.subject == "Bye").await.is_none()
    );
    assert!(service.wait_for_mail("sb_other", Duration::from_millis(50), |_| true).await.is_none());
}

#[tokio::test]
async fn client_that_disconnects_frees_its_waiter() {
    let server = Served::start(Settings { max_connections: 3, ..Settings::default() }).await;
    // More than there is room for, if one of them stayed.
    for _ in 0..3 {
        let wait = || waiting(&server, "to=ada&timeout=600");
        for task in <[_; 2]>::from(tokio::join!(wait(), wait())) {
            task.abort();
            let _ = task.await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let id = server.sent(&to("ada@example.com"));
    assert_eq!(wait(&server, "to=ada&timeout=60").await.json()["email_id"], json!(id));
}
