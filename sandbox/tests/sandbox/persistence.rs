//! Persistence: state that survives a restart.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use idempost_sandbox::persistence::{self, Persistence, PersistenceError};
use idempost_sandbox::{Posted, ReferenceServer, Settings};
use serde_json::{Value, json};

use crate::release::relay;
use crate::restarts::{Restartable, close, open_with};
use crate::support::{KEY, Sandbox, email, email_with, http_client};

fn open(folder: &Path) -> (Sandbox, Persistence) {
    open_with(folder, Settings::default())
}

/// Reads every path, with its response.
fn snapshot(sandbox: &Sandbox, more: &[String]) -> Vec<(String, Value)> {
    let lists = "/emails /emails/receiving /api-keys /automations /broadcasts /contacts /contacts/imports \
        /contact-properties /domains /events /inboxes /segments /segments/metrics?dimensions=segment /suppressions \
        /templates /topics /usage /webhooks /_/messages /oauth/grants";
    let paths = lists.split(' ').map(str::to_owned).chain(more.iter().cloned());
    paths.map(|path| (path.clone(), sandbox.get(path).expect_status(200).json())).collect()
}

/// Creates one record of every kind; returns their paths.
fn create_everything(sandbox: &Sandbox) -> Vec<String> {
    let post = |path: &str, body: Value| sandbox.created(path, &body);
    let mut paths = Vec::new();
    let mut made = |path: String| paths.push(path);

    let segment = post("/segments", json!({"name": "All"}));
    made(format!("/segments/{segment}"));
    let topic = post("/topics", json!({"name": "News", "default_subscription": "opt_in"}));
    made(format!("/topics/{topic}"));
    let inbox = post("/inboxes", json!({"email_address": "desk@acme.test"}));
    let label = post(&format!("/inboxes/{inbox}/labels"), json!({"name": "Urgent"}));
    sandbox
        .service
        .receive(KEY, &["desk@acme.test"], "From: ada@example.com\r\nSubject: x\r\n\r\ny")
        .unwrap();
    let thread = &sandbox.get(format!("/inboxes/{inbox}/threads")).json()["data"][0]["id"];
    let thread = format!("/inboxes/{inbox}/threads/{}", thread.as_str().unwrap());
    assert_eq!(sandbox.post(&format!("{thread}/labels"), &json!({"labels": [label]})).status, 200);
    post(&format!("/inboxes/{inbox}/drafts"), json!({"text": "x"}));
    sandbox.delete(&thread);
    for path in [
        "",
        "/agent",
        "/labels",
        "/threads?folders=trash",
        "/threads/search?query=y&folders=trash",
        "/drafts",
    ] {
        made(format!("/inboxes/{inbox}{path}"));
    }
    made(format!("{thread}/emails"));
    let suppression = post("/suppressions", json!({"email": "no@example.com"}));
    made(format!("/suppressions/{suppression}"));
    made("/suppressions/NO@example.com".to_owned());
    let property =
        post("/contact-properties", json!({"key": "plan", "type": "string", "fallback_value": "free"}));
    made(format!("/contact-properties/{property}"));
    let contact = post(
        "/contacts",
        json!({"email": "ada@example.com", "first_name": "Ada", "properties": {"plan": "pro"}, "segments": [{"id": segment}]}),
    );
    made(format!("/contacts/{contact}"));
    post(
        "/contacts",
        json!({"email": "bo@example.com", "unsubscribed": true, "segments": [{"id": segment}]}),
    );
    made("/contacts/ada@example.com".to_owned());
    let template = post(
        "/templates",
        json!({"name": "Welcome", "alias": "welcome", "from": "hi@acme.test", "subject": "Hi {{{NAME}}}", "html": "<p>{{{NAME}}}</p>",
            "variables": [{"key": "NAME", "type": "string", "fallback_value": "you"}]}),
    );
    assert_eq!(sandbox.post(&format!("/templates/{template}/publish"), &json!({})).status, 200);
    made(format!("/templates/{template}"));
    let domain = post("/domains", json!({"name": "slow.acme.test"}));
    assert_eq!(sandbox.post(&format!("/domains/{domain}/verify"), &json!({})).status, 200);
    made(format!("/domains/{domain}"));
    let webhook = post(
        "/webhooks",
        json!({"endpoint": "https://hooks.acme.test/", "events": ["email.sent", "email.delivered"]}),
    );
    made(format!("/webhooks/{webhook}"));
    let broadcast = post(
        "/broadcasts",
        json!({"segment_id": segment, "from": "hi@acme.test", "subject": "News", "html": "<p>Hi</p>", "send": true,
            "scheduled_at": "2026-03-02T14:00:00Z"}),
    );
    made(format!("/broadcasts/{broadcast}"));
    post("/events", json!({"name": "user.created", "schema": {"plan": "string", "since": "date"}}));
    let automation = post(
        "/automations",
        json!({"name": "Welcome", "status": "enabled",
        "steps": [
            {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
            {"key": "ask", "type": "condition", "config": {"type": "rule", "field": "event.plan", "operator": "eq", "value": "pro"}},
            {"key": "pause", "type": "delay", "config": {"duration": "1 hour"}},
            {"key": "greet", "type": "send_email", "config": {"template": {"id": "welcome", "variables": {"NAME": {"var": "event.plan"}}}}},
        ],
        "connections": [
            {"from": "start", "to": "ask"},
            {"from": "ask", "to": "pause", "type": "condition_met"},
            {"from": "pause", "to": "greet"},
        ]}),
    );
    made(format!("/automations/{automation}"));
    let event = json!({"event": "user.created", "contact_id": contact, "payload": {"plan": "pro", "since": "2026-01-01"}});
    assert_eq!(sandbox.post("/events/send", &event).status, 202);
    let runs = format!("/automations/{automation}/runs");
    let run = sandbox.get(&runs).json()["data"][0]["id"].as_str().unwrap().to_owned();
    made(format!("{runs}/{run}"));
    made(runs);

    let mail = "From: Bob <bob@example.com>\r\nTo: support@acme.test\r\nSubject: Help\r\nContent-Type: text/plain\r\n\r\nIt broke\r\n";
    let received = sandbox.service.receive(KEY, &["support@acme.test"], mail).unwrap();
    let whole = sandbox.get(format!("/emails/receiving/{received}"));
    assert_eq!(whole.json()["subject"], "Help");
    let mut html = email_with("html", "<h1>Grüße</h1>");
    html["tags"] = json!([{"name": "kind", "value": "first"}]);
    html["attachments"] = json!([{"filename": "a.bin", "content": "AP8="}]);
    for body in
        [&html, &email_with("to", "bounced@example.com"), &email_with("scheduled_at", "2026-03-02T13:00:00Z")]
    {
        let id = sandbox.sent(body);
        made(format!("/emails/{id}"));
    }
    let mail = sandbox.mails().remove(0);
    sandbox.service.set_relay(relay(true, &[]).0);
    let forwarded = sandbox.service.next_forward(&mail).unwrap();
    sandbox.service.finish_forward(&mail, &forwarded, &Ok("250 OK".to_owned()));
    let timeline = format!("/_/messages/{}/timeline", mail.id);
    assert!(sandbox.get(&timeline).text().contains("\"forwarded\""));
    made(timeline);
    paths
}

fn differences(before: &[(String, Value)], after: &[(String, Value)]) -> String {
    let pairs = before.iter().zip(after).filter(|(one, other)| one != other);
    pairs
        .map(|((path, one), (_, other))| format!("{path}\n  {one}\n  {other}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn state_survives_a_restart_and_pending_work_resumes() {
    let mut sandbox = Restartable::new();
    let paths = create_everything(&sandbox);
    let key = sandbox.created("/api-keys", &json!({"name": "mine", "permission": "sending_access"}));
    let token =
        sandbox.post("/api-keys", &json!({"name": "other"})).json()["token"].as_str().unwrap().to_owned();
    let again = |sandbox: &Sandbox| {
        let ask = sandbox.ask(Method::POST, "/emails").header("idempotency-key", "once");
        ask.json(&email()).id()
    };
    let sent_once = again(&sandbox);
    let login = sandbox.service.grant("idempost-cli", KEY, "full_access");
    sandbox.ask(Method::POST, "/emails").key("sb_neighbour").json(&email());
    let raw: Vec<_> = sandbox.mails().iter().map(|mail| mail.mime.clone()).collect();
    let before = snapshot(&sandbox, &paths);
    for _ in 0..2 {
        sandbox.restart();
        let after = snapshot(&sandbox, &paths);
        assert_eq!(differences(&before, &after), "");
        assert_eq!(sandbox.mails().iter().map(|mail| mail.mime.clone()).collect::<Vec<_>>(), raw);
        assert_eq!(sandbox.service.mails("sb_neighbour").len(), 1);
        assert_eq!(again(&sandbox), sent_once, "the key is known");
    }

    sandbox.restart();
    for credential in [&token, &login.access_token] {
        assert_eq!(sandbox.ask(Method::GET, "/emails").key(credential).send("").status, 200);
    }
    assert!(sandbox.get("/api-keys").text().contains(&key));
    let count = sandbox.mails().len();
    sandbox.advance(3 * 3600);
    let subjects: Vec<_> = sandbox.mails().iter().map(|mail| mail.subject.clone()).collect();
    // The scheduled email, the automation's, and the broadcast's.
    assert_eq!(sandbox.mails().len(), count + 3, "{subjects:?}");
    assert!(subjects.iter().any(|subject| subject == "Hi pro"), "{subjects:?}");
    let states = snapshot(&sandbox, &paths);
    let state = |start: &str, field: &str| {
        let found = states.iter().find(|(path, _)| path.starts_with(start) && !path.contains("receiving"));
        found.unwrap().1[field].clone()
    };
    assert_eq!(state("/broadcasts/", "status"), "sent");
    assert_eq!(state("/domains/", "status"), "verified");
    assert_eq!(state("/emails/", "last_event"), "delivered");
}

#[test]
fn updates_and_deletions_survive_a_restart() {
    let mut sandbox = Restartable::new();
    let paths = create_everything(&sandbox);
    let contact = paths.iter().find(|path| path.starts_with("/contacts/")).unwrap().clone();
    let topic = paths.iter().find(|path| path.starts_with("/topics/")).unwrap().clone();
    sandbox.ask(Method::POST, "/emails").key("sb_gone").json(&email());
    sandbox.restart();
    assert_eq!(sandbox.patch(&contact, &json!({"first_name": "Countess"})).status, 200);
    assert_eq!(sandbox.delete(&topic).status, 200);
    assert_eq!(sandbox.ask(Method::POST, "/_/reset").key("sb_gone").send("").status, 200);
    sandbox.restart();
    assert_eq!(sandbox.get(&contact).json()["first_name"], "Countess");
    assert_eq!(sandbox.get(&topic).status, 404);
    assert!(sandbox.service.mails("sb_gone").is_empty());
    sandbox.post("/_/reset", &json!({}));
    sandbox.sent(&email());
    sandbox.restart();
    assert_eq!(sandbox.mails().len(), 1);
    assert_eq!(sandbox.get(&contact).status, 404);
    sandbox.advance(3 * 3600);
    assert_eq!(sandbox.mails().len(), 1, "its pending events are deleted, too");
}

#[test]
fn a_data_directory_is_locked_by_one_process() {
    let mut sandbox = Restartable::new();
    let second = persistence::open(sandbox.folder.path(), Settings::default(), |_| {});
    assert!(matches!(second, Err(PersistenceError::InUse)), "{:?}", second.err());
    sandbox.restart();
}

#[test]
fn a_damaged_file_is_reported_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.redb");
    let (sandbox, persistence) = open(folder.path());
    create_everything(&sandbox);
    let before = snapshot(&sandbox, &[]);
    close(sandbox, persistence);
    let whole = std::fs::read(&file).unwrap();

    let mut refused = 0;
    let truncated = [b"something else".to_vec(), whole[..whole.len() / 2].to_vec(), whole[..100].to_vec()];
    let flipped = (0..40).map(|n| {
        let mut bytes = whole.clone();
        let at = n * (bytes.len() / 40);
        bytes[at..at + 64].iter_mut().for_each(|byte| *byte ^= 0x55);
        bytes
    });
    for bytes in truncated.into_iter().chain(flipped) {
        std::fs::write(&file, &bytes).unwrap();
        match persistence::open(folder.path(), Settings { beta: true, ..Settings::default() }, |_| {}) {
            Ok((service, persistence)) => {
                // An unused region of the file.
                let sandbox = Sandbox::over(service);
                assert_eq!(differences(&before, &snapshot(&sandbox, &[])), "");
                close(sandbox, persistence);
            }
            Err(PersistenceError::Damaged(_)) => {
                refused += 1;
                assert!(std::fs::read(&file).unwrap() == bytes, "the file was modified");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused >= 3, "{refused}");
}

#[test]
fn a_file_of_another_version_is_rejected_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.redb");
    let (sandbox, persistence) = open(folder.path());
    sandbox.sent(&email());
    close(sandbox, persistence);
    for (format, said) in [(99_u64, "newer version"), (6, "older version")] {
        {
            let database = redb::Database::open(&file).unwrap();
            let writing = database.begin_write().unwrap();
            let about = redb::TableDefinition::<&str, &[u8]>::new("about");
            writing.open_table(about).unwrap().insert("format", format.to_be_bytes().as_slice()).unwrap();
            writing.commit().unwrap();
        }
        let refused = persistence::open(folder.path(), Settings::default(), |_| {}).err().unwrap();
        let named = matches!(
            refused,
            PersistenceError::Newer { found, known: 7 } | PersistenceError::Older { found, known: 7 } if found == format
        );
        assert!(named && refused.to_string().contains(said), "{refused}");
        let database = redb::Database::open(&file).unwrap();
        assert!(redb::ReadableDatabase::begin_read(&database).unwrap().list_tables().unwrap().count() == 3);
    }
}

#[cfg(unix)]
#[test]
fn a_new_data_directory_is_private_and_a_failure_to_create_it_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refused = persistence::open(&file.join("data"), Settings::default(), |_| {}).err().unwrap();
    assert!(matches!(refused, PersistenceError::System(_)), "{refused}");
    let data = folder.path().join("deep/data");
    let (sandbox, persistence) = open(&data);
    sandbox.service.grant("idempost-cli", KEY, "full_access");
    close(sandbox, persistence);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("sandbox.redb"))), (0o700, 0o600));
    for file in std::fs::read_dir(&data).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn the_oldest_mails_are_evicted_first_after_a_restart() {
    let settings = || Settings { keep_mails: 3, ..Settings::default() };
    let send = |sandbox: &Sandbox, n: usize| drop(sandbox.sent(&email_with("subject", n.to_string())));
    let mut sandbox = Restartable::new();
    sandbox.restart_with(settings());
    (0..3).for_each(|n| send(&sandbox, n));
    sandbox.restart_with(settings());
    (3..5).for_each(|n| send(&sandbox, n));
    let subjects: Vec<_> = sandbox.mails().iter().map(|mail| mail.subject.clone()).collect();
    assert_eq!(subjects, ["4", "3", "2"]);
}

#[test]
fn pending_webhook_deliveries_resume_after_a_restart() {
    let mut sandbox = Restartable::new();
    let webhook = sandbox
        .created("/webhooks", &json!({"endpoint": "http://127.0.0.1:9/hook", "events": ["email.sent"]}));
    sandbox.sent(&email());

    // Its first attempt was pending; the next shutdown interrupts it.
    sandbox.restart();
    let first = sandbox.service.next_post().expect("the first attempt");
    let body = first.body.clone();
    sandbox.restart();
    let again = sandbox.service.next_post().expect("the first attempt again");
    assert_eq!(again.body, body);
    sandbox.service.finish_post(again, Posted { status: Some(500), response: "no".into() });
    sandbox.restart();
    assert!(sandbox.service.next_post().is_none(), "the next attempt is scheduled");
    sandbox.advance(5);
    let second = sandbox.service.next_post().expect("the second attempt");
    sandbox.service.finish_post(second, Posted { status: Some(200), response: "yes".into() });
    sandbox.restart();
    let page = sandbox.get(format!("/webhooks/{webhook}/events")).json();
    let event = &page["data"][0];
    assert_eq!((&event["type"], &event["status"]), (&json!("email.sent"), &json!("success")), "{page}");
    let attempts = format!("/webhooks/{webhook}/events/{}/attempts", event["id"].as_str().unwrap());
    assert_eq!(sandbox.get(&attempts).json()["data"].as_array().unwrap().len(), 2);
    sandbox.advance(86_400);
    assert!(sandbox.service.next_post().is_none());
}

/// A snapshot waits for the service's own requests in flight, even if their thread is also handling one of another service.
#[test]
fn two_services_on_one_thread_persist_independently() {
    use std::sync::mpsc;

    let (first_folder, second_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, first_keeper) = open(first_folder.path());
    let (second, second_keeper) = open(second_folder.path());
    let (closed, is_closed) = mpsc::channel();
    let second_keeper = Mutex::new(Some(second_keeper));
    let overtaken = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&overtaken);
    let is_closed = Mutex::new(is_closed);
    second.service.on_captured(move |_| {
        // The second service is handling a request, so its snapshot has to wait.
        let (persistence, closed) = (second_keeper.lock().unwrap().take().unwrap(), closed.clone());
        std::thread::spawn(move || closed.send(persistence.close()));
        let waited = is_closed.lock().unwrap().recv_timeout(Duration::from_secs(1));
        *seen.lock().unwrap() = Some(waited.is_ok());
    });
    let service = Arc::clone(&second.service);
    first.service.on_captured(move |_| {
        let inner = Sandbox::over(Arc::clone(&service));
        inner.sent(&email());
    });
    first.sent(&email());
    assert_eq!(*overtaken.lock().unwrap(), Some(false), "a snapshot was taken in the middle of a request");
    drop(second);
    close(first, first_keeper);
}

#[test]
fn a_new_account_gets_no_records_of_a_deleted_one() {
    let mut sandbox = Restartable::new();
    let send = |sandbox: &Sandbox, key: &str| {
        assert_eq!(sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status, 200);
    };
    (0..3).for_each(|_| send(&sandbox, "sb_old"));
    sandbox.restart();
    assert_eq!(sandbox.ask(Method::POST, "/_/reset").key("sb_old").send("").status, 200);
    sandbox.restart();
    send(&sandbox, "sb_new");
    for _ in 0..2 {
        assert_eq!(["sb_old", "sb_new"].map(|key| sandbox.service.mails(key).len()), [0, 1]);
        sandbox.restart();
    }
}

#[test]
fn a_lower_limit_of_accounts_deletes_the_least_recently_used_on_disk_too() {
    let keys = ["sb_c", "sb_a", "sb_b"];
    let counts = |sandbox: &Sandbox| keys.map(|key| sandbox.service.mails(key).len());
    let mut sandbox = Restartable::new();
    for key in keys {
        assert_eq!(sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status, 200);
    }
    // The page is a use, too.
    assert_eq!(sandbox.ask(Method::GET, "/_/messages").key("sb_c").send("").status, 200);
    sandbox.restart_with(Settings { keep_tenants: 2, ..Settings::default() });
    let reported = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&reported);
    sandbox.service.on_evicted(move |account| reports.lock().unwrap().push(account.to_owned()));
    assert_eq!(*reported.lock().unwrap(), ["sb_a…"]);
    assert_eq!(counts(&sandbox), [1, 0, 1]);
    sandbox.restart();
    assert_eq!(counts(&sandbox), [1, 0, 1]);
}

#[test]
fn the_file_stays_small_while_old_emails_make_room_for_new_ones() {
    let ten = || Settings { keep_mails: 10, ..Settings::default() };
    let mut sandbox = Restartable::new();
    let contact = sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    let text = "x".repeat(100_000);
    for round in 0..12 {
        sandbox.restart_with(ten());
        for number in 0..10 {
            sandbox.post("/emails", &email_with("text", format!("{round} {number} {text}")));
        }
    }
    sandbox.restart_with(ten());
    assert_eq!(sandbox.get(format!("/contacts/{contact}")).status, 200, "compaction has copied it");
    let mails = sandbox.mails();
    let texts: Vec<_> = mails.iter().map(|mail| mail.text.as_deref().unwrap()[..3].to_owned()).collect();
    assert_eq!(texts, ["11 "; 10]);
    // 12 times 2 MB were written, of which the last emails and the log of the last requests are in use.
    let bytes = std::fs::metadata(sandbox.folder.path().join("sandbox.redb")).unwrap().len();
    assert!(bytes < 24_000_000, "{bytes}");
}

/// A service over HTTP on its own thread, whose responses to one path are held back.
struct Held {
    server: ReferenceServer,
    runtime: tokio::runtime::Runtime,
    persistence: Persistence,
    http: reqwest::Client,
    arrived: tokio::sync::mpsc::UnboundedReceiver<()>,
    release: std::sync::mpsc::Sender<()>,
}

impl Held {
    async fn open(folder: &Path, path: &'static str) -> Self {
        let (sandbox, persistence) = open(folder);
        let (arriving, arrived) = tokio::sync::mpsc::unbounded_channel();
        let (release, released) = std::sync::mpsc::channel();
        let released = Mutex::new(released);
        sandbox.service.on_request(move |request| {
            if request.path == path {
                arriving.send(()).unwrap();
                let _ = released.lock().unwrap().recv();
            }
        });
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let service = Arc::clone(&sandbox.service);
        let server =
            runtime.spawn(async { ReferenceServer::start_http_service(service).await }).await.unwrap();
        Self { server, runtime, persistence, http: http_client(), arrived, release }
    }

    fn ask(&self, method: Method, path: &str, key: &str, body: &Value) -> tokio::task::JoinHandle<u16> {
        let request = self.http.request(method, format!("{}{path}", self.server.base_url())).bearer_auth(key);
        let request = request.header("content-type", "application/json").body(body.to_string());
        tokio::spawn(async move { request.send().await.unwrap().status().as_u16() })
    }

    /// Requests of another account, which must be answered in the meantime.
    async fn reads_are_answered(&self) {
        for path in ["/healthz", "/emails?limit=1", "/_/messages", "/usage"].repeat(10) {
            let read = self.ask(Method::GET, path, "sb_other", &json!({}));
            assert_eq!(tokio::time::timeout(LONG, read).await.unwrap().unwrap(), 200, "{path}");
        }
    }
}

/// Longer than anything takes that isn't stuck.
const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_read_in_progress_delays_no_write_and_no_other_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut held = Held::open(folder.path(), "/emails/metrics").await;
    let slow = held.ask(Method::GET, "/emails/metrics", KEY, &json!({}));
    held.arrived.recv().await.unwrap();
    let send = held.ask(Method::POST, "/emails", "sb_other", &email());
    assert_eq!(tokio::time::timeout(LONG, send).await.unwrap().unwrap(), 200);
    held.reads_are_answered().await;

    let Held { server, runtime, persistence, release, .. } = held;
    let closing = tokio::task::spawn_blocking(move || persistence.close());
    let written = tokio::time::timeout(LONG, closing).await;
    release.send(()).unwrap();
    assert!(written.expect("the read doesn't delay the snapshot").unwrap());
    assert_eq!(slow.await.unwrap(), 200);
    drop(server);
    runtime.shutdown_background();
    let (sandbox, persistence) = open(folder.path());
    assert_eq!(sandbox.service.mails("sb_other").len(), 1);
    close(sandbox, persistence);
}

#[tokio::test]
async fn a_change_that_waits_for_a_snapshot_delays_no_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut held = Held::open(folder.path(), "/broadcasts").await;
    let slow = held.ask(Method::POST, "/broadcasts", KEY, &json!({"from": "a@b.test", "subject": "s"}));
    held.arrived.recv().await.unwrap();
    let service = Arc::clone(held.server.service());
    // The writer begins to wait for the slow change.
    while !service.state().snapshot_lock.is_closed() {
        tokio::task::yield_now().await;
    }
    let send = held.ask(Method::POST, "/emails", "sb_other", &email());
    held.reads_are_answered().await;
    assert!(!send.is_finished(), "its snapshot would contain a part of the slow change");
    held.release.send(()).unwrap();
    assert_eq!(tokio::time::timeout(LONG, send).await.unwrap().unwrap(), 200);
    slow.await.unwrap();
    assert!(tokio::task::spawn_blocking(|| held.persistence.close()).await.unwrap());
    held.runtime.shutdown_background();
}

#[test]
fn reads_change_nothing_that_is_persisted_and_close_no_snapshot() {
    let sandbox = Restartable::new();
    let paths = create_everything(&sandbox);
    sandbox.advance(60);
    let lock = &sandbox.service.state().snapshot_lock;
    while lock.has_changes() {
        std::thread::yield_now();
    }
    snapshot(&sandbox, &paths);
    assert!(!lock.has_changes());
}
