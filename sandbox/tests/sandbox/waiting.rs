//! Waiting for a captured email over HTTP, and the codes and links in its details.

use std::time::{Duration, Instant};

use http::{Method, Request, StatusCode};
use idempost_sandbox::{ClockStart, ReferenceServer, Settings};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::inbox_live::post;
use crate::support::{KEY, Sandbox, email, email_with, http_client};

async fn start() -> ReferenceServer {
    idempost_sandbox::start(Settings::default()).await
}

fn to(address: &str) -> Value {
    email_with("to", address)
}

/// Sends an email in the process.
fn send(server: &ReferenceServer, email: &Value) -> String {
    let request = Request::post("/emails").header("authorization", format!("Bearer {KEY}"));
    let response = server.service().handle(request.body(email.to_string().into()).unwrap());
    assert_eq!(response.status(), 200, "{response:?}");
    let sent: Value = serde_json::from_slice(response.body()).unwrap();
    sent["id"].as_str().unwrap().to_owned()
}

/// Waits with this query; returns the status and the body.
async fn wait(server: &ReferenceServer, query: &str) -> (StatusCode, Value) {
    let request = http_client().get(format!("{}/_/messages/wait?{query}", server.base_url()));
    let response = request.bearer_auth(KEY).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json; charset=utf-8");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    (response.status(), serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

/// Starts to wait, and returns when the server has the request.
async fn waiting(server: &ReferenceServer, query: &str) -> tokio::task::JoinHandle<(StatusCode, Value)> {
    let request =
        http_client().get(format!("{}/_/messages/wait?{query}", server.base_url())).bearer_auth(KEY);
    let task = tokio::spawn(async move {
        let response = request.send().await.unwrap();
        (response.status(), serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    task
}

/// Starts to wait, and returns when the server has answered a later request.
async fn waiting_at_the_server(server: &ReferenceServer, query: &str) -> JoinHandle<(StatusCode, Value)> {
    let task = waiting(server, query).await;
    assert_eq!(wait(server, "to=nobody&timeout=0").await.0, 408);
    task
}

#[tokio::test]
async fn mail_that_was_captured_before_is_returned_at_once() {
    let server = start().await;
    send(&server, &to("ada@example.com"));
    send(&server, &to("grace@example.com"));
    let newest = send(&server, &to("ada@example.com"));
    send(&server, &to("grace@example.com"));
    let (status, mail) = wait(&server, "to=ADA@example.com&timeout=0").await;
    assert_eq!((status, &mail["email_id"]), (StatusCode::OK, &json!(newest)));
    let mut details = server.service().handle(
        Request::get(format!("/_/messages/{}?key={KEY}", mail["id"].as_str().unwrap()))
            .body("".into())
            .unwrap(),
    );
    assert_eq!(serde_json::from_slice::<Value>(details.body_mut()).unwrap(), mail);
}

#[tokio::test]
async fn wait_ends_when_a_matching_mail_is_captured() {
    let server = start().await;
    // The tenant doesn't exist yet.
    let task = waiting(&server, "to=ada@example.com&subject=welcome&timeout=60").await;
    send(&server, &to("grace@example.com"));
    send(&server, &to("ada@example.com"));
    assert!(!task.is_finished());
    let mut welcome = to("ada@example.com");
    welcome["subject"] = json!("Welcome, Ada");
    let id = send(&server, &welcome);
    let (status, mail) = task.await.unwrap();
    assert_eq!((status, &mail["email_id"]), (StatusCode::OK, &json!(id)));
}

#[tokio::test]
async fn wait_finds_words_tags_and_scheduled_mails() {
    let server = start().await;
    let task = waiting(&server, "query=reset+password&tag=kind%3Dreset&timeout=60").await;
    let mut reset = email_with("text", "Reset your password");
    send(&server, &reset);
    reset["tags"] = json!([{"name": "kind", "value": "reset"}]);
    reset["scheduled_at"] = json!("in 2 hours");
    let id = send(&server, &reset);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!task.is_finished());
    server.service().clock().advance(Duration::from_hours(3));
    assert_eq!(task.await.unwrap().1["email_id"], json!(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_wakes_all_of_its_hundred_waiters() {
    let server = start().await;
    let (client, mut tasks) = (http_client(), Vec::new());
    for _ in 0..100 {
        let request =
            client.get(format!("{}/_/messages/wait?to=ada@example.com&timeout=60", server.base_url()));
        tasks.push(tokio::spawn(async move {
            let response = request.bearer_auth(KEY).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let mail: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
            mail["email_id"].clone()
        }));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!tasks.iter().any(JoinHandle::is_finished), "nothing has been captured yet");
    let start = Instant::now();
    let id = json!(send(&server, &to("ada@example.com")));
    for task in tasks {
        assert_eq!(task.await.unwrap(), id);
    }
    // Woken by the mail: their timeout is a minute.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[tokio::test]
async fn timeout_is_408_with_the_filter_and_the_duration() {
    let server = start().await;
    let start = Instant::now();
    let (status, problem) = wait(&server, "to=ada%40example.com&tag=a%3Db&timeout=0.3").await;
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    assert_eq!(status, 408);
    assert_eq!(
        problem,
        json!({"statusCode": 408, "name": "wait_timeout",
            "message": "No email with `to` \"ada@example.com\", `tag` \"a=b\" was captured within 0.3 s (`timeout`)."})
    );
    let (status, problem) = wait(&server, "timeout=0").await;
    assert_eq!(
        (status, &problem["message"]),
        (StatusCode::REQUEST_TIMEOUT, &json!("No email was captured within 0 s (`timeout`)."))
    );
}

#[tokio::test]
async fn timeout_is_real_time_whatever_the_clock_shows() {
    let noon = "2026-03-02T12:00:00Z".parse().unwrap();
    let server =
        idempost_sandbox::start(Settings { clock: ClockStart::Frozen(noon), ..Settings::default() }).await;
    let task = waiting(&server, "to=ada&timeout=60").await;
    server.service().clock().advance(Duration::from_hours(24));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!task.is_finished(), "moving the clock must not end the wait");
    let id = send(&server, &to("ada@example.com"));
    assert_eq!(task.await.unwrap().1["email_id"], json!(id));
    let (status, _) = wait(&server, "to=grace&timeout=0.1").await;
    assert_eq!(status, 408, "a stopped clock must not stop the timeout");
}

#[tokio::test]
async fn after_excludes_a_mail_and_all_that_were_captured_before_it() {
    let server = start().await;
    send(&server, &to("ada@example.com"));
    let second = send(&server, &to("ada@example.com"));
    let (_, mail) = wait(&server, "to=ada").await;
    assert_eq!(mail["email_id"], json!(second));
    for id in [&mail["id"], &mail["email_id"]] {
        let query = format!("to=ada&after={}&timeout=0", id.as_str().unwrap());
        assert_eq!(wait(&server, &query).await.0, 408);
    }
    let task = waiting(&server, &format!("to=ada&after={second}&timeout=60")).await;
    let third = send(&server, &to("ada@example.com"));
    assert_eq!(task.await.unwrap().1["email_id"], json!(third));
    let (_, newer) = wait(&server, &format!("to=ada&after={second}&timeout=0")).await;
    assert_eq!(newer["email_id"], json!(third));
}

#[tokio::test]
async fn after_is_also_a_time_of_the_sandbox_clock() {
    let noon = "2026-03-02T12:00:00.000000500Z".parse().unwrap();
    let server =
        idempost_sandbox::start(Settings { clock: ClockStart::Frozen(noon), ..Settings::default() }).await;
    let first = send(&server, &email());
    let (_, mail) = wait(&server, "timeout=0&after=2026-03-02T11:59:59Z").await;
    assert_eq!(mail["email_id"], json!(first));
    // As the mail shows it, in both formats, escaped and not.
    for time in [
        "2026-03-02T12:00:00Z",
        "2026-03-02T13:00:00%2B01:00",
        "2026-03-02T13:00:00+01:00",
        "2026-03-02 12:00:00.000000+00",
    ] {
        assert_eq!(wait(&server, &format!("timeout=0&after={time}")).await.0, 408, "{time}");
    }
    assert_eq!(mail["created_at"], "2026-03-02 12:00:00.000000+00");
    server.service().clock().advance(Duration::from_millis(1));
    let second = send(&server, &email());
    let (_, mail) = wait(&server, "timeout=0&after=2026-03-02T12:00:00Z").await;
    assert_eq!(mail["email_id"], json!(second));
}

#[tokio::test]
async fn deleted_mail_in_after_is_an_error_but_a_running_wait_keeps_its_place() {
    let server = start().await;
    let first = send(&server, &to("ada@example.com"));
    let task = waiting_at_the_server(&server, &format!("to=ada&after={first}&timeout=60")).await;
    let request = Request::delete("/_/messages").header("authorization", format!("Bearer {KEY}"));
    assert_eq!(server.service().handle(request.body("".into()).unwrap()).status(), 200);
    let (status, problem) = wait(&server, &format!("to=ada&after={first}&timeout=0")).await;
    assert_eq!(status, 422);
    assert_eq!(
        problem["message"],
        format!(
            "`after` must be the id of a captured or sent email, or an RFC 3339 time; no email has the id {first}. \
             It may have been deleted or evicted: use the time of its capture."
        )
    );
    let second = send(&server, &to("ada@example.com"));
    assert_eq!(task.await.unwrap().1["email_id"], json!(second));
}

#[tokio::test]
async fn wait_survives_a_reset_of_its_account() {
    let server = start().await;
    for _ in 0..5 {
        send(&server, &to("grace@example.com"));
    }
    let task = waiting(&server, "to=ada&timeout=60").await;
    post(&server, "/_/reset", &json!({})).await;
    let id = send(&server, &to("ada@example.com"));
    assert_eq!(task.await.unwrap().1["email_id"], json!(id));
}

#[tokio::test]
async fn wait_sees_only_mails_of_its_account() {
    let server = start().await;
    let task = waiting(&server, "to=ada&timeout=60").await;
    let request = Request::post("/emails").header("authorization", "Bearer sb_other");
    server.service().handle(request.body(to("ada@example.com").to_string().into()).unwrap());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!task.is_finished());
    let id = send(&server, &to("ada@example.com"));
    assert_eq!(task.await.unwrap().1["email_id"], json!(id));
}

#[tokio::test]
async fn stop_of_the_sandbox_ends_a_wait() {
    let server = start().await;
    let task = waiting_at_the_server(&server, "to=ada&timeout=60").await;
    let start = Instant::now();
    drop(server);
    let (status, problem) = task.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(
        (status, &problem["message"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("The sandbox is stopping."))
    );
}

#[tokio::test]
async fn mails_that_arrive_while_a_wait_starts_are_never_missed() {
    let server = start().await;
    let client = http_client();
    for round in 0..100 {
        let url = format!("{}/_/messages/wait?to=user{round}@example.com&timeout=60", server.base_url());
        let task = tokio::spawn(client.get(url).bearer_auth(KEY).send());
        tokio::time::sleep(Duration::from_micros(round * 100)).await;
        send(&server, &to(&format!("user{round}@example.com")));
        assert_eq!(task.await.unwrap().unwrap().status(), 200, "{round}");
    }
}

#[tokio::test]
async fn mails_in_quick_succession_end_a_wait_once() {
    let server = start().await;
    let task = waiting(&server, "to=ada&timeout=600").await;
    for number in 0..5_000 {
        send(&server, &to(&format!("user{number}@example.com")));
    }
    let id = send(&server, &to("ada@example.com"));
    for number in 0..200 {
        send(&server, &to(&format!("user{number}@example.com")));
    }
    assert_eq!(task.await.unwrap().1["email_id"], json!(id));
}

#[test]
fn invalid_parameters_are_rejected_with_the_rule_and_the_value() {
    let sandbox = Sandbox::new();
    for (query, message) in [
        ("timeout=601", "`timeout` must be a number of seconds from 0 to 600; found \"601\"."),
        ("timeout=-1", "`timeout` must be a number of seconds from 0 to 600; found \"-1\"."),
        ("timeout=NaN", "`timeout` must be a number of seconds from 0 to 600; found \"NaN\"."),
        ("timeout=1e300", "`timeout` must be a number of seconds from 0 to 600; found \"1e300\"."),
        ("timeout=", "`timeout` must be a number of seconds from 0 to 600; found \"\"."),
        ("timeout=30s", "`timeout` must be a number of seconds from 0 to 600; found \"30s\"."),
        (
            "after=yesterday",
            "`after` must be the id of a captured or sent email, or an RFC 3339 time; found \"yesterday\".",
        ),
        ("tag==a", "`tag` must be `name` or `name=value`; found \"=a\"."),
    ] {
        let answer = sandbox.get(format!("/_/messages/wait?{query}"));
        assert_eq!(answer.status, 422, "{query}");
        assert_eq!(answer.json()["message"], message, "{query}");
    }
    assert_eq!(sandbox.ask(Method::GET, "/_/messages/wait").no_key().send("").status, 401);
    assert_eq!(sandbox.ask(Method::POST, "/_/messages/wait").send("{}").status, 405);
}

#[test]
fn mount_that_cannot_wait_finds_captured_mails_and_says_so() {
    let sandbox = Sandbox::new();
    let answer = sandbox.get("/_/messages/wait?to=ada&timeout=30");
    assert_eq!(answer.status, 501);
    assert_eq!(
        answer.json()["message"],
        "Waiting needs the HTTP mount; this one only finds emails that were captured before the request."
    );
    let id = sandbox.sent(&email());
    assert_eq!(sandbox.get("/_/messages/wait?to=ada").json()["email_id"], json!(id));
}

#[test]
fn details_contain_codes_and_links() {
    let sandbox = Sandbox::new();
    let mut email = email_with("subject", "Your verification code");
    email["html"] = json!(
        "<p>Enter this code:</p><h1>482 913</h1><p><a href='https://acme.test/verify?t=1&amp;u=2'>Verify <b>email</b></a></p>"
    );
    email["text"] = json!(
        "Enter this code: 482 913\n\nhttps://acme.test/verify?t=1&u=2\n\nHelp: https://acme.test/help."
    );
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
    let server = ReferenceServer::start_wiremock(idempost_sandbox::service(Settings::default())).await;
    let service = std::sync::Arc::clone(server.service());
    let later = service.wait_for_mail(KEY, Duration::from_mins(1), |mail| mail.subject == "Welcome");
    let sends = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        post(&server, "/emails", &email()).await;
        let mut welcome = email_with("subject", "Welcome");
        welcome["html"] = json!("<p>Your code is 482 913</p><a href='https://acme.test/v'>Verify</a>");
        post(&server, "/emails", &welcome).await;
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
    let server = idempost_sandbox::start(Settings { max_connections: 3, ..Settings::default() }).await;
    // More than there is room for, if one of them stayed.
    for _ in 0..3 {
        let wait = || waiting(&server, "to=ada&timeout=600");
        for task in <[_; 2]>::from(tokio::join!(wait(), wait())) {
            task.abort();
            let _ = task.await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let id = send(&server, &to("ada@example.com"));
    assert_eq!(wait(&server, "to=ada&timeout=60").await.1["email_id"], json!(id));
}
