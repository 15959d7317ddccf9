//! Marking mails as read, deleting them, and their maximum age.

use std::time::Duration;

use http::Method;
use idempost_sandbox::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, KEY, Sandbox, UNKNOWN_ID, email, email_of, email_with};

const HOUR: u64 = 3_600;

impl Sandbox {
    fn delete_selected(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::DELETE, path).json(body)
    }

    fn receive(&self, subject: &str) -> String {
        let mail = format!("From: a@example.com\r\nTo: b@acme.test\r\nSubject: {subject}\r\n\r\nHi");
        self.service.receive(KEY, &["b@acme.test"], mail).unwrap()
    }

    fn hello(&self) -> Value {
        let answer = self.get("/_/stream").text();
        serde_json::from_str(answer.lines().find_map(|line| line.strip_prefix("data: ")).unwrap()).unwrap()
    }
}

#[test]
fn new_mails_are_unread_until_they_are_marked() {
    let sandbox = Sandbox::new();
    let email_id = sandbox.sent(&email());
    let received = sandbox.receive("In");
    assert_eq!(sandbox.hello()["unread"], json!({"sent": 1, "received": 1}));
    // Requests don't mark anything.
    for path in ["html", "text", "about", "raw", "download"] {
        sandbox.get(format!("/_/messages/{email_id}/{path}"));
    }
    let id = &sandbox.ids("/_/messages")[0];
    assert_eq!(sandbox.get(format!("/_/messages/{id}")).json()["unread"], true);
    assert_eq!(sandbox.get(format!("/_/messages/{id}/about")).json()["unread"], true);

    let mark = |path: String, unread: bool| sandbox.patch(path, &json!({ "unread": unread })).json();
    assert_eq!(mark(format!("/_/messages/{id}"), false), json!({"changed": 1}));
    assert_eq!(mark(format!("/_/messages/{id}"), false), json!({"changed": 0}));
    assert_eq!(sandbox.get("/_/messages").json()["data"][0]["unread"], false);
    assert_eq!(mark(format!("/_/received/{received}"), false), json!({"changed": 1}));
    assert_eq!(sandbox.get("/_/received").json()["data"][0]["unread"], false);
    assert_eq!(sandbox.hello()["unread"], json!({"sent": 0, "received": 0}));
    // By the ID of the email, too.
    assert_eq!(mark(format!("/_/messages/{email_id}"), true), json!({"changed": 1}));
    assert_eq!(sandbox.subjects("/_/messages?unread=true"), ["Hello"]);
    assert_eq!(sandbox.subjects("/_/messages?unread=false"), Vec::<String>::new());
}

#[test]
fn mails_are_marked_by_filter_by_id_or_all_at_once() {
    let sandbox = Sandbox::new();
    for subject in ["Invoice 1", "Welcome ünïcode", "Invoice 2"] {
        sandbox.sent(&email_with("subject", subject));
    }
    let mark = |path: &str, body: &Value| sandbox.patch(path, body).json()["changed"].as_u64();
    assert_eq!(mark("/_/messages?subject=invoice", &json!({"unread": false})), Some(2));
    assert_eq!(sandbox.subjects("/_/messages?unread=true"), ["Welcome ünïcode"]);
    let ids = sandbox.ids("/_/messages");
    assert_eq!(mark("/_/messages", &json!({"ids": [ids[0], ids[0], ids[1]], "unread": true})), Some(1));
    assert_eq!(sandbox.subjects("/_/messages?unread=true"), ["Invoice 2", "Welcome ünïcode"]);
    assert_eq!(mark("/_/messages", &json!({"unread": false})), Some(2));
    assert_eq!(mark("/_/messages?query=%C3%9Cn%C3%AFcode&unread=false", &json!({"unread": true})), Some(1));
    assert_eq!(sandbox.hello()["unread"]["sent"], 1);
}

#[test]
fn one_mail_is_deleted_and_its_email_and_events_remain() {
    let sandbox = Sandbox::new();
    let one =
        email_of(&json!({"subject": "Gone", "attachments": [{"filename": "a.txt", "content": "YQ=="}]}));
    let email_id = sandbox.sent(&one);
    sandbox.sent(&email_with("subject", "Stays"));
    sandbox.advance(1);
    let id = sandbox.ids("/_/messages")[1].clone();
    assert_eq!(sandbox.delete(format!("/_/messages/{id}")).json(), json!({"deleted": 1}));
    assert_eq!(sandbox.subjects("/_/messages"), ["Stays"]);
    assert_eq!(sandbox.delete(format!("/_/messages/{id}")).status, 404);
    for gone in [&id, &email_id] {
        assert_eq!(sandbox.get(format!("/_/messages/{gone}")).status, 404);
        assert_eq!(sandbox.get(format!("/_/messages/{gone}/html")).status, 404);
    }

    assert_eq!(sandbox.last_event(&email_id), "delivered");
    let timeline = sandbox.get(format!("/_/messages/{email_id}/timeline")).json();
    assert_eq!(timeline["events"].as_array().unwrap().last().unwrap()["event"], "delivered");
    assert_eq!(sandbox.get(format!("/_/messages/{email_id}/request")).status, 200);
    assert_eq!(sandbox.get(format!("/_/messages/{id}/timeline")).status, 404, "only its email remains");
    // The files were part of the mail.
    assert_eq!(sandbox.get(format!("/emails/{email_id}/attachments")).json()["data"], json!([]));
    assert_eq!(
        sandbox.post(&format!("/_/messages/{email_id}/events"), &json!({"type": "opened"})).status,
        404
    );
    assert_eq!(sandbox.hello()["sent"], 1);
    assert_eq!(sandbox.hello()["unread"]["sent"], 1);
}

#[test]
fn mails_are_deleted_by_filter_or_by_id() {
    let sandbox = Sandbox::new();
    for (subject, tag) in [("one", "a"), ("two", "b"), ("three", "a"), ("four", "b")] {
        let one = email_of(&json!({"subject": subject, "tags": [{"name": "worker", "value": tag}]}));
        sandbox.sent(&one);
    }
    assert_eq!(sandbox.delete("/_/messages?tag=worker=a").json(), json!({"deleted": 2}));
    assert_eq!(sandbox.subjects("/_/messages"), ["four", "two"]);
    let ids = sandbox.ids("/_/messages");
    let body = json!({"ids": [ids[0], UNKNOWN_ID, ids[0]]});
    assert_eq!(sandbox.delete_selected("/_/messages", &body).json(), json!({"deleted": 1}));
    assert_eq!(sandbox.delete_selected("/_/messages", &json!({"ids": []})).json(), json!({"deleted": 0}));
    assert_eq!(sandbox.subjects("/_/messages"), ["two"]);
    assert_eq!(sandbox.delete("/_/messages").json(), json!({"deleted": 1}));
    assert!(sandbox.mails().is_empty());
}

#[test]
fn a_received_mail_is_deleted_with_its_record_and_its_thread_remains() {
    let sandbox = Sandbox::with(&Settings { beta: true, ..Settings::default() });
    let inbox = sandbox.created("/inboxes", &json!({"email_address": "b@acme.test", "name": "B"}));
    let ids = ["Kept", "Gone", "Gone too"].map(|subject| sandbox.receive(subject));
    assert_eq!(sandbox.delete(format!("/_/received/{}", ids[1])).json()["deleted"], 1);
    assert_eq!(sandbox.delete("/_/received?subject=too").json()["deleted"], 1);
    assert_eq!(sandbox.subjects("/_/received"), ["Kept"]);
    for id in &ids[1..] {
        assert_eq!(sandbox.get(format!("/emails/receiving/{id}")).status, 404);
        assert_eq!(sandbox.get(format!("/_/received/{id}/timeline")).status, 404);
    }
    assert_eq!(sandbox.get(format!("/emails/receiving/{}", ids[0])).status, 200);
    assert_eq!(sandbox.ids(format!("/inboxes/{inbox}/threads")).len(), 3, "threads have a copy");
    assert_eq!(sandbox.delete_selected("/_/received", &json!({"ids": [ids[0]]})).json()["deleted"], 1);
    assert_eq!(sandbox.hello()["received"], 0);
}

#[test]
fn parallel_tests_of_one_key_delete_only_their_own_mails() {
    let sandbox = Sandbox::unread();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let to = format!("worker{worker}@example.com");
                for round in 0..20 {
                    let one = email_of(&json!({"to": to, "subject": format!("Round {round}")}));
                    sandbox.sent(&one);
                    let own = format!("/_/messages?to={to}");
                    assert_eq!(sandbox.subjects(&own), [format!("Round {round}")]);
                    let answer = if round % 2 == 0 {
                        sandbox.delete(&own)
                    } else {
                        let id = &sandbox.ids(&own)[0];
                        sandbox.delete_selected("/_/messages", &json!({ "ids": [id] }))
                    };
                    assert_eq!(answer.json(), json!({"deleted": 1}), "{to}");
                }
            });
        }
    });
    let hello = sandbox.hello();
    assert_eq!((&hello["sent"], &hello["unread"]["sent"]), (&json!(0), &json!(0)));
}

#[test]
fn one_request_lists_the_ids_of_all_matching_mails() {
    let sandbox = Sandbox::new();
    for number in 0..250 {
        sandbox.sent(&email_with("subject", if number % 2 == 0 { "even" } else { "odd" }));
    }
    sandbox.receive("In");
    let listed = |path: &str| sandbox.items(path);
    let id = sandbox.ids("/_/messages?limit=1").remove(0);
    sandbox.patch(format!("/_/messages/{id}"), &json!({"unread": false}));
    let all = listed("/_/messages/ids");
    assert_eq!(all.iter().filter(|mail| mail["unread"] == true).count(), 249);
    assert_eq!((all.len(), listed("/_/messages/ids?subject=odd").len()), (250, 125));
    assert!(all.contains(&json!({"id": id, "unread": false})), "{id}");
    assert_eq!(listed("/_/received/ids?unread=true").len(), 1);
    let ids: Vec<_> = all.iter().map(|mail| mail["id"].clone()).collect();
    let deleted = sandbox.delete_selected("/_/messages", &json!({ "ids": ids }));
    assert_eq!(deleted.json(), json!({"deleted": 250}));
}

#[test]
fn a_change_with_an_unclear_selection_is_rejected_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email());
    sandbox.receive("In");
    let unread = json!({"unread": false});
    let id = &sandbox.ids("/_/messages")[0];
    let long = "ü".repeat(300);
    let many: Vec<_> = (0..10_001).map(|_| id).collect();
    for (path, message) in [
        ("messages?too=ada", "\"too\" is not a filter here; the filters are: `to`, `from`"),
        ("messages?to=", "`to` must not be empty."),
        ("messages?state=failed", "\"state\" is not a filter here"),
        ("messages?limit=1", "\"limit\" is not a filter here"),
        ("received?query=%20", "`query` must not be empty."),
        ("messages?unread=maybe", "`unread` must be one of `true`, `false`; found \"maybe\"."),
    ] {
        sandbox.delete(format!("/_/{path}")).invalid(message);
    }
    for (body, message) in [
        (json!({"ids": "all"}), "`ids` must be an array; found \"all\"."),
        (json!({"ids": null}), "`ids` must be an array; found null."),
        (json!({"ids": [id, 7]}), "`ids[1]` must be the ID of a mail; found 7."),
        (json!({"ids": many}), "`ids` must have at most 10000 IDs; found 10001."),
        (json!({"ids": [long]}), "`ids[0]` must be the ID of a mail; found \"üüü"),
        (json!({"id": [id]}), "\"id\" is not a field here; these are: `ids`."),
    ] {
        sandbox.delete_selected("/_/messages", &body).invalid(message);
    }
    let both = sandbox.delete_selected("/_/messages?to=a", &json!({"ids": [id]}));
    both.invalid("Send either `ids` or filters in the query, not both.");
    for (path, body, message) in [
        ("received", json!({"ids": null, "unread": false}), "`ids` must be an array; found null."),
        ("messages", json!({"unread": "no"}), "`unread` must be a boolean; found \"no\"."),
        ("received?to=&unread=true", unread.clone(), "`to` must not be empty."),
        ("messages", json!({}), "Missing `unread` field."),
        ("messages", json!({"read": true}), "Missing `unread` field. \"read\" is not a field"),
    ] {
        sandbox.patch(format!("/_/{path}"), &body).rejected(422, "validation_error", message);
    }
    let hello = sandbox.hello();
    assert_eq!((&hello["sent"], &hello["received"]), (&json!(1), &json!(1)));
    assert_eq!(hello["unread"], json!({"sent": 1, "received": 1}));
    let scheduled = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let answer = sandbox.delete(format!("/_/messages/{scheduled}"));
    assert_eq!((answer.status.as_u16(), answer.message().contains("was not sent")), (404, true));
    assert_eq!(sandbox.patch("/_/messages/x", &unread).status, 404);
    assert_eq!(sandbox.ask(Method::DELETE, "/_/messages").no_key().send("").status, 401);
}

#[test]
fn deleted_mails_no_longer_count_against_the_memory() {
    let sandbox = Sandbox::with(&Settings { keep_mail_bytes: 300_000, ..Settings::default() });
    let large = email_with("attachments", json!([{"content": "A".repeat(100_000)}]));
    let mut emails = Vec::new();
    for _ in 0..20 {
        emails.push(sandbox.sent(&large));
        assert_eq!(sandbox.delete("/_/messages").json()["deleted"], 1);
        let raw = format!("From: a@b.test\r\nSubject: x\r\n\r\n{}", "x".repeat(100_000));
        let received = sandbox.service.receive(KEY, &["c@d.test"], raw).unwrap();
        assert_eq!(sandbox.delete(format!("/_/received/{received}")).json()["deleted"], 1);
    }
    // Nothing was evicted.
    for id in emails {
        assert_eq!(sandbox.get(format!("/emails/{id}")).status, 200);
    }
}

#[test]
fn mails_are_deleted_when_they_reach_the_maximum_age_by_the_clock() {
    let sandbox =
        Sandbox::with(&Settings { keep_for: Some(Duration::from_secs(24 * HOUR)), ..Settings::default() });
    let first = sandbox.sent(&email_with("subject", "first"));
    sandbox.advance(HOUR);
    sandbox.receive("second");
    sandbox.sent(&email_with("subject", "third"));
    sandbox.advance(23 * HOUR - 1);
    assert_eq!(sandbox.subjects("/_/messages"), ["third", "first"]);
    sandbox.advance(1);
    assert_eq!(sandbox.subjects("/_/messages"), ["third"]);
    assert_eq!(sandbox.last_event(&first), "delivered", "its email remains");
    assert_eq!(sandbox.subjects("/_/received"), ["second"]);
    // Mails of other accounts, and many of one instant.
    for _ in 0..1_000 {
        sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email());
    }
    sandbox.advance(HOUR);
    assert!(sandbox.mails().is_empty() && sandbox.ids("/_/received").is_empty());
    assert_eq!(sandbox.service.mails("sb_other").len(), 1_000);
    sandbox.advance(23 * HOUR);
    assert!(sandbox.service.mails("sb_other").is_empty());
    // An empty account starts again.
    sandbox.sent(&email_with("subject", "later"));
    sandbox.advance(24 * HOUR - 1);
    assert_eq!(sandbox.subjects("/_/messages"), ["later"]);
    sandbox.advance(1);
    assert!(sandbox.mails().is_empty());
}

#[test]
fn age_follows_a_clock_that_was_set_back() {
    let sandbox =
        Sandbox::with(&Settings { keep_for: Some(Duration::from_secs(10 * HOUR)), ..Settings::default() });
    sandbox.sent(&email_with("subject", "from the future"));
    sandbox.service.clock().set("2026-03-01T12:00:00Z".parse().unwrap());
    sandbox.sent(&email_with("subject", "from yesterday"));
    sandbox.advance(10 * HOUR);
    assert_eq!(sandbox.subjects("/_/messages"), ["from the future"], "it was captured later");
    sandbox.advance(24 * HOUR - 1);
    assert_eq!(sandbox.mails().len(), 1);
    sandbox.advance(1);
    assert!(sandbox.mails().is_empty());
}

#[test]
fn scheduled_mails_age_from_their_sending_even_if_the_clock_jumps() {
    let sandbox =
        Sandbox::with(&Settings { keep_for: Some(Duration::from_secs(HOUR)), ..Settings::default() });
    let id = sandbox.sent(&email_with("scheduled_at", "in 2 hours"));
    sandbox.advance(2 * HOUR + 60);
    assert_eq!(sandbox.mails().len(), 1);
    sandbox.advance(HOUR);
    assert!(sandbox.mails().is_empty());
    let second = sandbox.sent(&email_with("scheduled_at", "in 2 hours"));
    sandbox.advance(100 * HOUR);
    assert!(sandbox.mails().is_empty(), "sent and deleted in one jump");
    for id in [id, second] {
        assert_eq!(sandbox.last_event(&id), "delivered");
    }
    sandbox.service.clock().advance(Duration::MAX);
    sandbox.sent(&email());
}

#[test]
fn marks_deletions_and_the_maximum_age_survive_a_restart() {
    let an_hour = || Settings { keep_for: Some(Duration::from_secs(HOUR)), ..Settings::default() };
    let mut sandbox = Restartable::new();
    for subject in ["read", "deleted", "unread"] {
        sandbox.sent(&email_with("subject", subject));
    }
    let received = sandbox.receive("gone");
    sandbox.receive("in");
    sandbox.patch("/_/messages?subject=read", &json!({"unread": false}));
    sandbox.patch("/_/messages?subject=unread", &json!({"unread": true}));
    sandbox.delete("/_/messages?subject=deleted");
    sandbox.delete(format!("/_/received/{received}"));

    sandbox.restart_with(an_hour());
    assert_eq!(sandbox.subjects("/_/messages"), ["unread", "read"]);
    assert_eq!(sandbox.subjects("/_/messages?unread=true"), ["unread"]);
    assert_eq!(sandbox.subjects("/_/received"), ["in"]);
    assert_eq!(sandbox.hello()["unread"], json!({"sent": 1, "received": 1}));
    sandbox.advance(HOUR - 1);
    assert_eq!(sandbox.mails().len(), 2);

    sandbox.restart_with(an_hour());
    assert_eq!(sandbox.mails().len(), 2);
    sandbox.advance(1);
    assert!(sandbox.mails().is_empty() && sandbox.ids("/_/received").is_empty());

    // Older than allowed at the start.
    sandbox.restart();
    sandbox.sent(&email());
    sandbox.advance(3 * HOUR);
    sandbox.restart_with(an_hour());
    assert!(sandbox.mails().is_empty());
}
