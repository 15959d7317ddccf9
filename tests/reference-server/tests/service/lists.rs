//! `GET /emails` and `GET /logs`: the rules of both list modes that apply to mode A.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::cpu_time::cpu_time;
use crate::support::{Answer, Sandbox, email, email_with};

/// Fills both lists with `count` items; returns their ids in creation order.
fn filled(count: usize) -> (Sandbox, Vec<(&'static str, Vec<String>)>) {
    let sandbox = Sandbox::new();
    let mut emails: Vec<_> =
        (0..count).map(|n| sandbox.sent(&email_with("subject", n.to_string()))).collect();
    emails.reverse();
    // Reading the log adds an entry to it, so it is read once and later entries are excluded.
    let mut logs = Vec::new();
    let mut after = String::new();
    while logs.len() < count {
        let page = sandbox.get(format!("/logs?limit=100{after}")).json();
        let found: Vec<_> = ids(&page).into_iter().collect();
        let sends = page["data"].as_array().unwrap().iter().zip(found);
        let sends = sends.filter(|(item, _)| item["method"] == "POST").map(|(_, id)| id);
        logs.extend(sends);
        let Some(last) = logs.last() else { break };
        after = format!("&after={last}");
    }
    (sandbox, vec![("/emails", emails), ("/logs", logs)])
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn has_more(page: &Value) -> bool {
    page["has_more"].as_bool().unwrap()
}

fn refused(answer: &Answer, words: &str) {
    assert_eq!((answer.status.as_u16(), answer.name().as_str()), (422, "validation_error"));
    assert!(answer.message().contains(words), "{words:?} is not in {}", answer.message());
}

#[test]
fn gen_29_an_empty_list_has_empty_data_and_has_more_false() {
    // GEN-27, GEN-29
    let sandbox = Sandbox::new();
    // The log of a key begins with its first request, so each list has a key of its own.
    for (path, key) in [("/emails", "sb_fresh"), ("/logs", "sb_fresher")] {
        let answer = sandbox.ask(Method::GET, path).key(key).send("");
        assert_eq!(answer.json(), json!({"object": "list", "data": [], "has_more": false}), "{path}");
    }
}

#[test]
fn list_a1_the_default_page_size_is_twenty() {
    // LIST-A1, SENT-12, LOG-06, LIM-10
    let (_, lists) = filled(20);
    assert_eq!(lists[0].1.len(), 20);
    for count in [20, 25] {
        let (sandbox, lists) = filled(count);
        let page = sandbox.get("/emails").json();
        assert_eq!(ids(&page), lists[0].1[..20]);
        assert_eq!(has_more(&page), count > 20);
        let page = sandbox.get("/logs").json();
        assert_eq!(ids(&page).len(), 20);
        assert!(has_more(&page));
    }
}

#[test]
fn list_a2_limit_is_an_integer_from_1_to_100() {
    // LIST-01, LIST-A2, LIST-A3, LIST-A5
    let (sandbox, lists) = filled(101);
    for (path, _) in &lists {
        for limit in [1, 99, 100] {
            let page = sandbox.get(format!("{path}?limit={limit}")).json();
            assert_eq!(ids(&page).len(), limit);
            assert!(has_more(&page));
        }
        for limit in
            ["0", "101", "-1", "1.5", "abc", "5abc", "1e2", "%2B5", "", "%20", "99999999999999999999"]
        {
            refused(
                &sandbox.get(format!("{path}?limit={limit}")),
                "`limit` must be a whole number from 1 to 100",
            );
        }
    }
}

#[test]
fn list_05_after_pages_to_older_items_without_gaps_or_duplicates() {
    // LIST-02, LIST-05, LIST-07, LIST-11, SENT-14
    let (sandbox, lists) = filled(7);
    for (path, all) in lists {
        for limit in 1..=8 {
            let mut seen = vec![all[0].clone()];
            loop {
                let page = sandbox.get(format!("{path}?limit={limit}&after={}", seen.last().unwrap())).json();
                let found = ids(&page);
                assert!(!found.contains(seen.last().unwrap()), "the cursor itself is excluded");
                seen.extend(found);
                assert_eq!(has_more(&page), seen.len() < all.len(), "{path} limit {limit}");
                if !has_more(&page) {
                    break;
                }
            }
            assert_eq!(seen, all, "{path} limit {limit}");
        }
    }
}

#[test]
fn list_06_before_returns_the_newer_items_adjacent_to_the_cursor() {
    // LIST-03, LIST-06, LIST-07, LIST-11
    let (sandbox, lists) = filled(7);
    let (path, all) = &lists[0];
    let page = sandbox.get(format!("{path}?limit=3&before={}", all[6])).json();
    assert_eq!(ids(&page), all[3..6], "newest first, and adjacent to the cursor");
    assert!(has_more(&page));
    let page = sandbox.get(format!("{path}?limit=3&before={}", all[3])).json();
    assert_eq!(ids(&page), all[0..3]);
    assert!(!has_more(&page));
    let page = sandbox.get(format!("{path}?before={}", all[0])).json();
    assert_eq!((ids(&page).len(), has_more(&page)), (0, false));

    let (path, all) = &lists[1];
    let page = sandbox.get(format!("{path}?limit=2&before={}", all[6])).json();
    assert_eq!(ids(&page), all[4..6]);
}

#[test]
fn list_08_both_cursors_together_are_rejected() {
    // LIST-08
    let (sandbox, lists) = filled(2);
    for (path, all) in lists {
        refused(
            &sandbox.get(format!("{path}?after={}&before={}", all[0], all[1])),
            "Only one of `after` and `before`",
        );
    }
}

#[test]
fn an_unknown_cursor_is_rejected() {
    let (sandbox, lists) = filled(1);
    for (path, _) in lists {
        for cursor in ["00000000-0000-4000-8000-000000000000", "nonsense", ""] {
            refused(
                &sandbox.get(format!("{path}?after={cursor}")),
                "`after` must be the id of an item of the list",
            );
            refused(&sandbox.get(format!("{path}?before={cursor}")), "`before`");
        }
    }
    let other = sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email()).json();
    let id = other["id"].as_str().unwrap();
    refused(&sandbox.get(format!("/emails?after={id}")), "there is none with the id");
}

#[test]
fn items_are_newest_first_and_have_exactly_the_specified_fields() {
    // SENT-05, SENT-06, SENT-14, LOG-01, GEN-17, GEN-20, GEN-21
    let (sandbox, _) = filled(2);
    let page = sandbox.get("/emails").json();
    assert_eq!(page["data"][0]["subject"], "1");
    let fields: Vec<_> = page["data"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "id",
            "message_id",
            "to",
            "from",
            "created_at",
            "subject",
            "bcc",
            "cc",
            "reply_to",
            "last_event",
            "scheduled_at"
        ]
    );
    let page = sandbox.get("/logs").json();
    let fields: Vec<_> = page["data"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["id", "created_at", "endpoint", "method", "response_status", "user_agent"]);
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
    let rows: Vec<_> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| json!([item["method"], item["endpoint"], item["response_status"], item["user_agent"]]))
        .collect();
    assert_eq!(
        rows,
        [
            json!(["GET", "/emails", 401, null]),
            json!(["GET", "/nowhere", 404, null]),
            json!(["GET", "/emails", 200, null]),
            json!(["POST", "/emails", 422, null]),
            json!(["POST", "/emails", 200, "agent/1.0 (x)"]),
        ]
    );
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
    let made = |path: &str, body: &Value| {
        let answer = sandbox.post(path, body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let segments: Vec<_> = (0..2).map(|n| made("/segments", &json!({"name": n.to_string()}))).collect();
    let contact = |n: usize| {
        let body = json!({"email": format!("{n}@example.com"), "segments": [{"id": segments[n % 2]}]});
        made("/contacts", &body)
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
                refused(&answer, parameter);
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
    sandbox.ask(Method::DELETE, format!("/segments/{segment}")).send("");
    let gone = sandbox.get(format!("/contacts/{}/segments?after={segment}", contacts[2]));
    refused(&gone, "after");
}
