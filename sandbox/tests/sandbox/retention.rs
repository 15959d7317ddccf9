//! Memory limits of a long-running sandbox.

use std::sync::{Arc, Mutex};

use http::Method;
use idempost_sandbox::Settings;
use serde_json::{Value, json};

use crate::support::{Sandbox, email, email_with};

#[test]
fn the_oldest_email_is_evicted_among_accounts_of_equal_size() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 3, ..Settings::default() });
    let first = sandbox.sent(&email());
    let second = sandbox.sent(&email());
    for _ in 0..2 {
        sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email());
    }
    assert_eq!(sandbox.get(format!("/emails/{first}")).status, 404);
    assert_eq!(sandbox.get(format!("/emails/{second}")).status, 200);
    assert_eq!(sandbox.mails().len(), 1, "its mail was evicted with it");
    assert_eq!(sandbox.service.mails("sb_other").len(), 2);
}

#[test]
fn accounts_without_data_are_evicted_before_the_least_recently_used() {
    let sandbox = Sandbox::with(&Settings { keep_tenants: 3, ..Settings::default() });
    let send = |key: &str, body: &Value| sandbox.ask(Method::POST, "/emails").key(key).json(body).status;
    let has_mail = |key: &str| sandbox.service.mails(key).len() == 1;
    for key in ["sb_a", "sb_b"] {
        assert_eq!(send(key, &email()), 200);
    }
    for number in 0..10 {
        assert_eq!(send(&format!("sb_empty{number}"), &json!({})), 422);
    }
    assert!(has_mail("sb_a") && has_mail("sb_b"));
    for key in ["sb_c", "sb_d"] {
        assert_eq!(send(key, &email()), 200);
    }
    assert_eq!(["sb_a", "sb_b", "sb_c", "sb_d"].map(has_mail), [false, true, true, true]);
}

#[test]
fn an_account_loses_nothing_to_another_that_uses_more() {
    let large = "x".repeat(20_000);
    for (settings, text) in [
        (Settings { keep_mails: 50, ..Settings::default() }, "It works"),
        (Settings { keep_mail_bytes: 400_000, ..Settings::default() }, &large),
    ] {
        let sandbox = Sandbox::with(&settings);
        let send = |key: &str, text: &str| {
            sandbox.account(key).sent(&email_with("text", text));
        };
        for _ in 0..5 {
            send("sb_a", "It works");
        }
        for _ in 0..200 {
            send("sb_b", text);
        }
        assert_eq!(sandbox.service.mails("sb_a").len(), 5);
        let others = sandbox.service.mails("sb_b").len();
        assert!((5..=45).contains(&others), "{others}");
    }
}

#[test]
fn the_log_of_an_account_loses_nothing_to_that_of_another() {
    let sandbox = Sandbox::with(&Settings { keep_requests: 50, ..Settings::default() });
    for (key, requests) in [("sb_a", 5), ("sb_b", 200)] {
        for _ in 0..requests {
            sandbox.ask(Method::POST, "/emails").key(key).json(&email());
        }
    }
    let logged = |key: &str| sandbox.account(key).items("/logs?limit=100").len();
    assert_eq!((logged("sb_b"), logged("sb_a")), (45, 5));
}

#[test]
fn emails_are_evicted_when_their_total_size_exceeds_the_limit() {
    let sandbox = Sandbox::with(&Settings { keep_mail_bytes: 3_000_000, ..Settings::default() });
    let large = email_with("attachments", json!([{"content": "A".repeat(1_000_000)}]));
    for _ in 0..5 {
        sandbox.sent(&large);
    }
    // The file is stored decoded, in 750,000 bytes.
    assert_eq!(sandbox.mails().len(), 3);
    assert_eq!(sandbox.items("/emails").len(), 3);
}

#[test]
fn an_evicted_scheduled_email_is_never_sent() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 1, ..Settings::default() });
    sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let kept = sandbox.sent(&email());
    sandbox.advance(7_200);
    assert_eq!(sandbox.mail().email_id, kept);
}

#[test]
fn the_request_log_is_bounded_by_count_and_bytes() {
    let sandbox =
        Sandbox::with(&Settings { keep_requests: 5, keep_request_bytes: 20_000, ..Settings::default() });
    for _ in 0..8 {
        sandbox.post("/emails", &json!({}));
    }
    assert_eq!(sandbox.service.requests().len(), 5);
    assert_eq!(sandbox.items("/logs").len(), 5);

    sandbox.post("/emails", &email_with("text", "x".repeat(40_000)));
    let requests = sandbox.service.requests();
    let last = requests.last().unwrap();
    assert!(last.bodies_dropped && last.body.is_empty(), "larger than the whole limit");
    let bytes: usize = requests.iter().map(|one| one.body.len() + one.answer_body.len()).sum();
    assert!(bytes <= 20_000);
}

/// Emails with 50 KB in one of their parts.
fn large_emails() -> Vec<(&'static str, Value)> {
    let text = "x".repeat(50_000);
    vec![
        ("subject", email_with("subject", text.clone())),
        ("from", email_with("from", format!("{text} <hi@acme.test>"))),
        ("to", email_with("to", json!([format!("{text} <ada@example.com>")]))),
        ("cc", email_with("cc", json!([format!("{text} <ada@example.com>")]))),
        ("reply_to", email_with("reply_to", json!([format!("{text} <ada@example.com>")]))),
        ("headers", email_with("headers", json!({"X-Large": text}))),
        ("text", email_with("text", text.clone())),
        ("html", email_with("html", text.clone())),
        ("attachments", email_with("attachments", json!([{"content": "A".repeat(50_000)}]))),
    ]
}

#[test]
fn every_byte_of_an_email_counts_even_before_it_is_sent() {
    for schedule in [None, Some("in 1 hour")] {
        for (field, mut large) in large_emails() {
            let sandbox = Sandbox::with(&Settings { keep_mail_bytes: 250_000, ..Settings::default() });
            if let Some(time) = schedule {
                large["scheduled_at"] = time.into();
            }
            for _ in 0..10 {
                let answer = sandbox.post("/emails", &large);
                assert_eq!(answer.status, 200, "{field}: {}", answer.text());
            }
            let kept = sandbox.items("/emails").len();
            assert!((1..=6).contains(&kept), "{field} {schedule:?}: {kept} are kept");
        }
    }
}

#[test]
fn every_byte_of_a_received_email_counts() {
    let sandbox = Sandbox::with(&Settings { keep_mail_bytes: 3_000_000, ..Settings::default() });
    let name = "n".repeat(500);
    let part = format!("--m\r\nContent-Disposition: attachment; filename={name}\r\n\r\n\r\n");
    let rest = "From: a@b.test\r\nContent-Type: multipart/mixed; boundary=m\r\n";
    let mail = format!("{rest}\r\n{}--m--", part.repeat(1_000));
    // The mail takes 600 KB, and its attachment metadata as much again.
    for _ in 0..10 {
        sandbox.service.receive("sb_test", &["c@d.test"], mail.clone()).unwrap();
    }
    let kept = sandbox.items("/emails/receiving").len();
    assert!((1..=2).contains(&kept), "{kept} are kept");
}

#[test]
fn every_byte_of_a_request_counts() {
    let long = "x".repeat(300_000);
    let address = format!("/emails?{}", "x".repeat(60_000));
    for (what, path, header) in [("a header", "/emails", &*long), ("the address", &*address, "")] {
        let settings = Settings { keep_request_bytes: 1_000_000, ..Settings::default() };
        let sandbox = Sandbox::with(&settings);
        for _ in 0..40 {
            sandbox.ask(Method::GET, path).no_key().header("x-long", header).send("");
        }
        let kept = sandbox.service.requests();
        let bytes: usize = kept
            .iter()
            .map(|one| {
                let headers = one.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
                one.path.len() + one.query.as_ref().map_or(0, String::len) + headers.sum::<usize>()
            })
            .sum();
        assert!(bytes <= 1_000_000 && !kept.is_empty(), "{what}: {bytes} bytes");
    }
    let sandbox = Sandbox::with(&Settings { keep_request_bytes: 100_000, ..Settings::default() });
    sandbox.ask(Method::GET, "/emails").header("x-long", long).send("");
    let requests = sandbox.service.requests();
    assert!(requests[0].headers.is_empty() && requests[0].bodies_dropped, "larger than the whole limit");
    assert_eq!(requests[0].path, "/emails");
}

#[test]
fn records_over_their_memory_share_are_rejected_until_some_are_deleted() {
    // A quarter of the memory is for records.
    let sandbox = Sandbox::with(&Settings { max_memory: 1 << 20, ..Settings::default() });
    let template = json!({"name": "t", "html": "x".repeat(50_000)});
    let answers: Vec<_> = (0..6).map(|_| sandbox.post("/templates", &template)).collect();
    let made: Vec<_> = answers.iter().filter(|answer| answer.status.is_success()).collect();
    assert_eq!(made.len(), 5, "{}", answers[5].text());
    assert_eq!(answers[5].status, 403);
    for part in ["--max-memory", "262144", "templates", "Delete", "reset"] {
        assert!(answers[5].text().contains(part), "{part}: {}", answers[5].text());
    }
    let first = format!("/templates/{}", made[0].json()["id"].as_str().unwrap());
    let change = |html: usize| sandbox.patch(&first, &json!({"html": "x".repeat(html)})).status;
    assert_eq!([change(90_000), change(100), change(40_000)], [403, 200, 200]);
    // Tenants share the memory for records; emails have a separate share.
    let other = || sandbox.ask(Method::POST, "/templates").key("sb_other").json(&template).status;
    assert_eq!(other(), 403);
    sandbox.sent(&email());
    assert_eq!(sandbox.delete(&first).status, 200);
    assert!(other().is_success());
    sandbox.service.reset();
    assert!(sandbox.post("/templates", &template).status.is_success());
}

#[test]
fn the_oldest_webhook_events_are_evicted_when_their_total_size_exceeds_the_limit() {
    // An eighth is for events, which has space for the newest five only.
    let sandbox = Sandbox::with(&Settings { max_memory: 4 << 20, ..Settings::default() });
    let webhook = json!({"endpoint": "http://127.0.0.1:9/", "events": ["email.sent"]});
    let webhook = sandbox.created("/webhooks", &webhook);
    for _ in 0..20 {
        sandbox.sent(&email_with("subject", "x".repeat(100_000)));
    }
    assert_eq!(sandbox.items(format!("/webhooks/{webhook}/events")).len(), 5);
    let waiting = std::iter::from_fn(|| sandbox.service.next_post()).count();
    assert_eq!(waiting, 5, "an evicted event isn't delivered");
}

#[test]
fn deleting_a_webhook_frees_the_memory_of_its_events() {
    // As above, space for five events.
    let sandbox = Sandbox::with(&Settings { max_memory: 4 << 20, ..Settings::default() });
    let create = || {
        let webhook = json!({"endpoint": "http://127.0.0.1:9/", "events": ["email.sent"]});
        format!("/webhooks/{}", sandbox.post("/webhooks", &webhook).json()["id"].as_str().unwrap())
    };
    let set = |path: &str, status: &str| {
        assert_eq!(sandbox.patch(path, &json!({"status": status})).status, 200);
    };
    let send = || sandbox.sent(&email_with("subject", "x".repeat(100_000)));
    let kept = create();
    send();
    set(&kept, "disabled");
    let deleted = create();
    (0..4).for_each(|_| drop(send()));
    assert_eq!(sandbox.delete(&*deleted).status, 200);
    set(&kept, "enabled");
    (0..4).for_each(|_| drop(send()));
    assert_eq!(sandbox.items(format!("{kept}/events")).len(), 5);
}

#[test]
fn a_request_that_only_reads_creates_no_account_and_evicts_none() {
    let sandbox = Sandbox::with(&Settings { keep_tenants: 2, ..Settings::default() });
    for key in ["sb_a", "sb_b"] {
        sandbox.account(key).sent(&email());
    }
    for number in 0..10 {
        let key = format!("sb_reader{number}");
        for path in ["/emails", "/logs", "/domains/x", "/nowhere", "/_/messages", "/_/", "/api/v1/messages"] {
            sandbox.ask(Method::GET, path).key(&key).send("");
            sandbox.ask(Method::GET, format!("{path}?key={key}")).no_key().send("");
        }
        sandbox.ask(Method::POST, "/nowhere").key(&key).send("");
    }
    assert_eq!(sandbox.items("/_/tenants").len(), 2);
    assert_eq!(["sb_a", "sb_b"].map(|key| sandbox.service.mails(key).len()), [1, 1]);
}

#[test]
fn the_account_that_sent_or_read_least_recently_is_evicted_first() {
    let sandbox = Sandbox::with(&Settings { keep_tenants: 2, ..Settings::default() });
    let send = |key: &str| sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status;
    for (method, path, kept) in
        [(Method::POST, "/emails", 2), (Method::GET, "/emails", 1), (Method::GET, "/_/messages", 1)]
    {
        sandbox.service.reset();
        send("sb_a");
        send("sb_b");
        sandbox.ask(method, path).key("sb_a").json(&email());
        send("sb_c");
        let mails = ["sb_a", "sb_b", "sb_c"].map(|key| sandbox.service.mails(key).len());
        assert_eq!(mails, [kept, 0, 1], "{path}");
    }
}

#[test]
fn an_evicted_account_is_reported_by_the_beginning_of_its_key() {
    let sandbox = Sandbox::with(&Settings { keep_tenants: 1, ..Settings::default() });
    let reported = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&reported);
    sandbox.service.on_evicted(move |account| reports.lock().unwrap().push(account.to_owned()));
    for key in ["sb_first_worker", "sb_local", "sb_third"] {
        sandbox.ask(Method::POST, "/emails").key(key).json(&email());
    }
    assert_eq!(*reported.lock().unwrap(), ["sb_fir…", "sb_local"]);
}

#[test]
fn a_reset_deletes_everything() {
    let sandbox = Sandbox::new();
    let email: Value = email_with("scheduled_at", "in 1 hour");
    sandbox.sent(&email);
    sandbox.service.reset();
    sandbox.advance(7_200);
    assert!(sandbox.mails().is_empty());
    assert_eq!(sandbox.get("/emails").json()["data"], json!([]));
}
