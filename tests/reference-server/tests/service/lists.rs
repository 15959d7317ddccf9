//! Lists: `GET /emails` and `GET /logs` in detail, and the modes of all lists.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::cpu_time::cpu_time;
use crate::support::{KEY, Sandbox, UNKNOWN_ID, email, email_with};

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn has_more(page: &Value) -> bool {
    page["has_more"].as_bool().unwrap()
}

#[test]
fn gen_29_an_empty_list_has_empty_data_and_has_more_false() {
    // GEN-27, GEN-29
    let sandbox = Sandbox::new();
    // The log of a key begins with its first request, so each list has its own key.
    let lists = "/emails /logs /emails/receiving /templates /broadcasts /contacts /contact-properties /segments \
        /audiences /topics /webhooks /suppressions /automations /events";
    for (number, path) in lists.split_whitespace().enumerate() {
        let list = sandbox.account(&format!("sb_fresh_{number}")).get(path).json();
        assert_eq!(list, json!({"object": "list", "data": [], "has_more": false}), "{path}");
    }
}

#[test]
fn a_page_has_twenty_items_unless_a_limit_of_1_to_100_is_given() {
    // LIST-01, LIST-A1, LIST-A2, SENT-12, LIM-10
    let sandbox = Sandbox::new();
    let send = |count: usize| {
        let emails: Value = (0..count).map(|_| email()).collect();
        sandbox.post("/emails/batch", &emails).expect_status(200);
    };
    for (more, query, items, older) in [
        (20, "", 20, false),
        (1, "", 20, true),
        (80, "?limit=1", 1, true),
        (0, "?limit=99", 99, true),
        (0, "?limit=100", 100, true),
    ] {
        if more > 0 {
            send(more);
        }
        let page = sandbox.get(format!("/emails{query}")).json();
        assert_eq!((ids(&page).len(), has_more(&page)), (items, older), "{query}");
    }
}

#[test]
fn the_log_is_paged_although_reading_it_adds_an_entry() {
    // LIST-02, LIST-03, LIST-05, LIST-06, LIST-07, LIST-11
    let sandbox = Sandbox::new();
    (0..7).for_each(|_| drop(sandbox.sent(&email())));
    let log = sandbox.ids("/logs");
    for (query, items, more) in [
        (format!("limit=3&after={}", log[0]), 1..4, true),
        (format!("limit=3&after={}", log[3]), 4..7, false),
        (format!("limit=2&before={}", log[6]), 4..6, true),
    ] {
        let page = sandbox.get(format!("/logs?{query}")).json();
        assert_eq!((ids(&page), has_more(&page)), (log[items].to_vec(), more), "{query}");
    }
}

#[test]
fn items_are_newest_first_and_have_exactly_the_specified_fields() {
    // SENT-05, SENT-06, SENT-14, LOG-01, GEN-17, GEN-20, GEN-21
    let sandbox = Sandbox::new();
    for subject in ["0", "1"] {
        sandbox.sent(&email_with("subject", subject));
    }
    let page = sandbox.get("/emails").json();
    assert_eq!(page["data"][0]["subject"], "1");
    let full = json!({
        "from": "Acme <hi@acme.test>", "to": ["ada@example.com", "Bob <bob@example.com>"], "subject": "All fields", "text": "x",
        "cc": ["c@example.com"], "bcc": ["b@example.com"], "reply_to": ["r@acme.test"], "scheduled_at": "2026-03-02T13:00:00Z",
    });
    let record = sandbox.record(&sandbox.sent(&full));
    let item = sandbox.get("/emails?limit=1").json()["data"][0].clone();
    for field in ["from", "to", "subject", "cc", "bcc", "reply_to"] {
        assert_eq!(item[field], full[field], "{field}");
    }
    for field in ["id", "message_id", "created_at", "last_event", "scheduled_at"] {
        assert_eq!(item[field], record[field], "{field}");
    }
    assert_eq!(item["created_at"], "2026-03-02 12:00:00.000000+00");
    assert_eq!(item["scheduled_at"], "2026-03-02 13:00:00.000000+00");
    let fields = |page: &Value| {
        let item = page["data"][0].as_object().unwrap();
        item.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let all = "id message_id to from created_at subject bcc cc reply_to last_event scheduled_at";
    assert_eq!(fields(&page), all);
    let page = sandbox.get("/logs").json();
    assert_eq!(fields(&page), "id created_at endpoint method response_status user_agent");
    assert_eq!(page["data"][0]["created_at"], "2026-03-02 12:00:00.000000+00");
}

#[test]
fn gen_10_requests_are_logged_with_path_method_status_and_user_agent() {
    // GEN-10, LOG-02, LOG-03, LOG-04, LOG-05
    let sandbox = Sandbox::new();
    sandbox.ask(Method::POST, "/emails").header("user-agent", "agent/1.0 (x)").json(&email());
    sandbox.ask(Method::POST, "/emails").json(&json!({}));
    sandbox.ask(Method::GET, "/emails?limit=5").send("");
    sandbox.ask(Method::GET, "/nowhere").send("");
    sandbox.ask(Method::GET, "/emails").key("sb_test_sending").send("");
    let page = sandbox.get("/logs").json();
    let row = |item: &Value| {
        ["method", "endpoint", "response_status", "user_agent"].map(|field| item[field].clone())
    };
    let rows: Vec<_> = page["data"].as_array().unwrap().iter().map(row).collect();
    let expected = json!([
        ["GET", "/emails", 401, null],
        ["GET", "/nowhere", 404, null],
        ["GET", "/emails", 200, null],
        ["POST", "/emails", 422, null],
        ["POST", "/emails", 200, "agent/1.0 (x)"],
    ]);
    assert_eq!(json!(rows), expected);
}

#[test]
fn a_page_takes_constant_time_regardless_of_list_length() {
    let time = |count: usize| {
        let sandbox = Sandbox::new();
        let emails: Value = (0..100).map(|_| email()).collect();
        for _ in 0..count / 100 {
            assert_eq!(sandbox.post("/emails/batch", &emails).status, 200);
        }
        let first = sandbox.get("/emails?limit=100").json();
        let middle = first["data"][99]["id"].as_str().unwrap().to_owned();
        let path = format!("/emails?limit=100&after={middle}");
        let page = || assert_eq!(sandbox.get(path.as_str()).status, 200);
        (0..20).map(|_| cpu_time(page)).min().unwrap()
    };
    let (short, long) = (time(300), time(6_000));
    // A scan of the whole list would take twenty times as long.
    assert!(long < short * 5 + Duration::from_millis(1), "{short:?} for 300, {long:?} for 6,000");
}

#[test]
fn a_cursor_outside_the_list_is_rejected() {
    let sandbox = Sandbox::new();
    let segments = ["0", "1"].map(|name| sandbox.created("/segments", &json!({ "name": name })));
    let contact = |n: usize| {
        let body = json!({"email": format!("{n}@example.com"), "segments": [{"id": segments[n % 2]}]});
        sandbox.created("/contacts", &body)
    };
    let contacts: Vec<_> = (0..6).map(contact).collect();
    for (path, member, other) in [
        (format!("/segments/{}/contacts", segments[0]), &contacts[2], &contacts[3]),
        (format!("/audiences/{}/contacts", segments[1]), &contacts[3], &contacts[2]),
        (format!("/contacts?segment_id={}", segments[0]), &contacts[2], &contacts[3]),
        (format!("/contacts/{}/segments", contacts[0]), &segments[0], &segments[1]),
    ] {
        let joint = if path.contains('?') { '&' } else { '?' };
        for parameter in ["after", "before"] {
            let answer = sandbox.get(format!("{path}{joint}{parameter}={member}"));
            assert_eq!(answer.status, 200, "{path} {parameter}: {}", answer.text());
            for limit in ["", "&limit=1"] {
                let answer = sandbox.get(format!("{path}{joint}{parameter}={other}{limit}"));
                answer.invalid(parameter);
            }
        }
    }
    // A removed contact remains a valid cursor; a deleted segment has none.
    let page = |path: &str, after: &str| sandbox.get(format!("{path}?after={after}")).json();
    let (members, segment) = (format!("/segments/{}/contacts", segments[0]), &segments[0]);
    let leave = sandbox.ask(Method::DELETE, format!("/contacts/{}/segments/{segment}", contacts[2]));
    assert_eq!(leave.send("").status, 200);
    assert_eq!(ids(&page(&members, &contacts[2])), [&*contacts[0]]);
    assert_eq!(ids(&page(&format!("/contacts/{}/segments", contacts[2]), segment)), [""; 0]);
    sandbox.delete(format!("/segments/{segment}"));
    sandbox.get(format!("/contacts/{}/segments?after={segment}", contacts[2])).invalid("after");
    let other = sandbox.account("sb_other").post("/emails", &email()).id();
    sandbox.get(format!("/emails?after={other}")).invalid("there is none with the id");
}

/// A mail with `count` attachments.
fn mail_with_files(n: usize) -> String {
    let mut mail =
        "From: ada@example.com\r\nTo: in@acme.test\r\nSubject: Files\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n".to_owned();
    for i in 0..n {
        let name = format!("Content-Disposition: attachment; filename={i}.txt");
        let part = format!("--m\r\nContent-Type: text/plain\r\n{name}\r\n\r\n{i}\r\n");
        mail.push_str(&part);
    }
    mail + "--m--\r\n"
}

/// A sandbox in which every list has 25 items, and the lists: in mode A, and in mode B.
fn all_lists() -> (Sandbox, [String; 6], [String; 14]) {
    const ITEMS: usize = 25;
    let sandbox = Sandbox::new();
    let made = |path: &str, body: &Value| {
        let answer = sandbox.post(path, body);
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
        answer.json()["id"].as_str().unwrap_or_default().to_owned()
    };
    let contact = made("/contacts", &json!({ "email": "first@example.com" }));
    let crowded = made("/segments", &json!({ "name": "all" }));
    let trigger = json!({ "name": "on", "status": "enabled", "connections": [],
        "steps": [{ "key": "start", "type": "trigger", "config": { "event_name": "user.created" } }] });
    let automation = made("/automations", &trigger);
    for i in 0..ITEMS {
        made("/emails", &email_with("subject", i.to_string()));
        made("/templates", &json!({ "name": i.to_string(), "html": "x" }));
        made("/contact-properties", &json!({ "key": format!("k{i}"), "type": "string" }));
        made("/topics", &json!({ "name": i.to_string(), "default_subscription": "opt_in" }));
        made("/domains", &json!({ "name": format!("d{i}.test") }));
        made("/webhooks", &json!({ "endpoint": "https://acme.test/h", "events": ["email.sent"] }));
        made("/api-keys", &json!({ "name": i.to_string() }));
        made("/events/send", &json!({ "event": "user.created", "email": "first@example.com" }));
        sandbox.service.receive(KEY, &["in@acme.test"], mail_with_files(1)).unwrap();
        let segment = made("/segments", &json!({ "name": i.to_string() }));
        made(
            "/broadcasts",
            &json!({ "segment_id": segment, "from": "a@acme.test", "subject": "s", "text": "t" }),
        );
        let member = made(
            "/contacts",
            &json!({ "email": format!("{i}@example.com"), "segments": [{ "id": crowded }] }),
        );
        assert!(!member.is_empty());
        let add = sandbox.ask(Method::POST, format!("/contacts/{contact}/segments/{segment}"));
        assert_eq!(add.send("").status, 200);
        if i > 0 {
            made("/automations", &trigger);
        }
    }
    let received = sandbox.service.receive(KEY, &["in@acme.test"], mail_with_files(ITEMS)).unwrap();
    let mode_a = ["/emails", "/templates", "/logs", "/automations", "/contact-properties", "/topics"]
        .map(str::to_owned);
    let mode_b = [
        "/emails/receiving".to_owned(),
        format!("/emails/receiving/{received}/attachments"),
        "/broadcasts".to_owned(),
        "/contacts".to_owned(),
        "/contacts/first@example.com/topics".to_owned(),
        format!("/contacts/{contact}/segments"),
        "/contacts/first%40example.com/segments".to_owned(),
        "/segments".to_owned(),
        format!("/segments/{crowded}/contacts"),
        "/audiences".to_owned(),
        format!("/automations/{automation}/runs"),
        "/webhooks".to_owned(),
        "/domains".to_owned(),
        "/api-keys".to_owned(),
    ];
    (sandbox, mode_a, mode_b)
}

#[test]
fn every_list_has_the_mode_that_the_specification_gives_it() {
    // LIST-01, LIST-08, LIST-A1, LIST-A2, LIST-A3, LIST-A5, LIST-B1, LIST-B5, CONT-04, LOG-06, AUD-01, SENT-12
    // LIST-A4, LIST-B2, LIST-B3, PROP-03, AUTO-05, RUN-07, CONT-05, GEN-08, RECV-12, HOOK-13, BCAST-25, SEG-02, RATT-06
    let (sandbox, mode_a, mode_b) = all_lists();
    let page = |path: &str| {
        let answer = sandbox.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let list = answer.json();
        assert_eq!(list["object"], "list", "{path}");
        list
    };
    for path in &mode_a {
        let list = page(path);
        assert_eq!((ids(&list).len(), has_more(&list)), (20, true), "{path}");
    }
    for path in &mode_b {
        let list = page(path);
        assert!(ids(&list).len() >= 25 && !has_more(&list), "{path}: {}", ids(&list).len());
    }
    for path in mode_a.iter().chain(&mode_b) {
        for limit in
            ["0", "101", "-1", "1.5", "abc", "5abc", "1e2", "%2B5", "", "%20", "99999999999999999999"]
        {
            let answer = sandbox.get(format!("{path}?limit={limit}"));
            answer.invalid("`limit` must be a whole number from 1 to 100");
        }
        assert_eq!(ids(&sandbox.get(format!("{path}?limit=1")).json()).len(), 1, "{path}");
        for cursor in [UNKNOWN_ID, "nonsense", ""] {
            let after = sandbox.get(format!("{path}?after={cursor}"));
            after.invalid("`after` must be the id of an item of the list");
            sandbox.get(format!("{path}?before={cursor}")).invalid("`before`");
        }
        let all = sandbox.ids(path);
        let both = sandbox.get(format!("{path}?after={}&before={}", all[0], all[1]));
        both.invalid("Only one of `after` and `before`");
    }
}

#[test]
fn every_list_pages_both_ways_without_gaps_or_repeats() {
    // LIST-02, LIST-03, LIST-05, LIST-06, LIST-07, LIST-11, LIST-B4, SENT-14
    let (sandbox, mode_a, mode_b) = all_lists();
    // The log grows while it is read, so another test pages through it.
    for path in mode_a.iter().filter(|path| *path != "/logs").chain(&mode_b) {
        let all = ids(&sandbox.get(format!("{path}?limit=100")).json());
        for limit in [1, 7, all.len() - 1, all.len()] {
            for (towards, start) in [("after", &all[0]), ("before", all.last().unwrap())] {
                let (mut seen, mut cursor) = (vec![start.clone()], start.clone());
                while seen.len() < all.len() {
                    let list = sandbox.get(format!("{path}?limit={limit}&{towards}={cursor}")).json();
                    let mut page = ids(&list);
                    if towards == "before" {
                        page.reverse();
                    }
                    cursor = page.last().expect("there are more items").clone();
                    seen.extend(page);
                    assert_eq!(has_more(&list), seen.len() < all.len(), "{path} {towards} {limit}");
                }
                if towards == "before" {
                    seen.reverse();
                }
                assert_eq!(seen, all, "{path} {towards} {limit}");
                let end = sandbox.get(format!("{path}?{towards}={cursor}")).json();
                assert_eq!((ids(&end).len(), has_more(&end)), (0, false), "{path} {towards}");
            }
        }
    }
}
