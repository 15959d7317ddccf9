use futures_util::TryStreamExt as _;
use http::Method;
use idempost_conformance::bench::Bench;
use serde_json::{Value, json};

use super::with;

/// A bench with `count` emails, and their IDs, newest first.
async fn emails(n: usize) -> (Bench, Vec<String>) {
    let bench = Bench::start().await;
    for i in 0..n {
        assert_eq!(bench.post("/emails", &with(json!({ "subject": i.to_string() }))).status, 200);
    }
    let list = bench.get("/emails?limit=100").json;
    (bench, ids(&list))
}

fn ids(list: &Value) -> Vec<String> {
    list["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_empty_list_is_a_list() {
    // GEN-27, GEN-29
    let bench = Bench::start().await;
    assert_eq!(bench.get("/emails").json, json!({ "object": "list", "data": [], "has_more": false }));
}

#[tokio::test]
async fn a_list_shows_twenty_of_twenty_five_newest_first() {
    // LIST-A1, SENT-12
    let (bench, _) = emails(25).await;
    for path in ["/emails", "/logs"] {
        let list = bench.get(path).json;
        assert_eq!((ids(&list).len(), &list["has_more"]), (20, &json!(true)), "{path}");
    }
    let list = bench.get("/emails").json;
    let subjects: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|item| item["subject"].clone()).collect();
    assert_eq!(subjects, (5..25).rev().map(|n| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_has_1_to_100_items() {
    // LIST-01, LIST-A2, LIST-A3, LIST-A5, LIM-10, LOG-06
    let (bench, _) = emails(3).await;
    for path in ["/emails", "/logs"] {
        for limit in ["0", "101", "-1", "abc", "1.5", "5abc", "1e2", ""] {
            let reply = bench.get_wrong(&format!("{path}?limit={limit}"));
            assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{path} {limit:?}");
            assert!(reply.message().contains("limit"));
        }
        assert_eq!(ids(&bench.get(&format!("{path}?limit=1")).json).len(), 1);
        assert_eq!(bench.get(&format!("{path}?limit=100")).status, 200);
    }
}

#[tokio::test]
async fn after_pages_to_older_items_without_gaps_or_repeats() {
    // LIST-02, LIST-05, LIST-07, LIST-11
    let (bench, all) = emails(5).await;
    for size in [1, 2, 4, 5, 6] {
        let mut seen = Vec::new();
        let mut list = bench.get(&format!("/emails?limit={size}")).json;
        loop {
            seen.extend(ids(&list));
            if list["has_more"] == false {
                break;
            }
            list = bench.get(&format!("/emails?limit={size}&after={}", seen.last().unwrap())).json;
        }
        assert_eq!(seen, all, "{size} a page");
    }
    assert_eq!(bench.get(&format!("/emails?after={}", all[4])).json["data"], json!([]));
}

#[tokio::test]
async fn before_pages_to_newer_items() {
    // LIST-03, LIST-06, LIST-07, LIST-11
    let (bench, all) = emails(5).await;
    let page = |limit: usize, before: usize| {
        let list = bench.get(&format!("/emails?limit={limit}&before={}", all[before])).json;
        (ids(&list), list["has_more"] == true)
    };
    assert_eq!(page(2, 4), (all[2..4].to_vec(), true));
    assert_eq!(page(2, 2), (all[0..2].to_vec(), false));
    assert_eq!(page(3, 4), (all[1..4].to_vec(), true));
    assert_eq!(page(4, 4), (all[0..4].to_vec(), false));
    assert_eq!(page(5, 0), (vec![], false));
}

#[tokio::test]
async fn has_more_is_true_exactly_if_more_items_follow() {
    // LIST-11
    let (bench, _) = emails(5).await;
    for (limit, more) in [(4, true), (5, false), (6, false)] {
        assert_eq!(bench.get(&format!("/emails?limit={limit}")).json["has_more"], more, "{limit}");
    }
}

#[tokio::test]
async fn two_cursors_and_an_unknown_one_are_refused() {
    // LIST-08
    let (bench, all) = emails(2).await;
    for query in [
        format!("after={}&before={}", all[0], all[1]),
        "after=4ef9a417-02e9-4d39-ad75-9611e0fcc33c".to_owned(),
        "before=nobody".to_owned(),
    ] {
        for path in ["/emails", "/logs"] {
            let reply = bench.get(&format!("{path}?{query}"));
            assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{path}?{query}");
        }
    }
}

#[tokio::test]
async fn the_client_sends_only_the_given_list_parameters() {
    // LIST-04, LIST-09, LIST-10
    let (bench, all) = emails(3).await;
    let client = bench.client();
    let before = bench.requests().len();
    client.emails().list().await.unwrap();
    client.emails().list().page_size(2).await.unwrap();
    client.emails().list().page_size(2).after(&all[0]).await.unwrap();
    // One cursor replaces the other: both can't be set.
    client.emails().list().after(&all[0]).before(&all[2]).await.unwrap();
    client.logs().list().page_size(100).await.unwrap();
    let queries: Vec<_> = bench.requests()[before..].iter().map(|request| request.query.clone()).collect();
    let text = |query: String| Some(query);
    assert_eq!(
        queries,
        [
            None,
            text("limit=2".into()),
            text(format!("limit=2&after={}", all[0])),
            text(format!("before={}", all[2])),
            text("limit=100".into()),
        ]
    );
}

#[tokio::test]
async fn a_page_size_out_of_range_is_not_sent() {
    // A-31; text that isn't a number can't be passed
    let bench = Bench::start().await;
    for limit in [0, 101, 255] {
        let error = bench.client().emails().list().page_size(limit).await.unwrap_err();
        assert!(error.to_string().contains("nothing was sent"), "{error}");
    }
    assert!(bench.requests().is_empty());
    for limit in [1, 100] {
        bench.client().emails().list().page_size(limit).await.unwrap();
    }
}

#[tokio::test]
async fn a_stream_walks_all_items_in_pages_of_a_hundred() {
    // LIST-12
    let bench = Bench::start().await;
    for _ in 0..2 {
        let batch: Value = (0..100).map(|_| super::least()).collect();
        assert_eq!(bench.post("/emails/batch", &batch).status, 200);
    }
    bench.post("/emails", &super::least());
    let before = bench.requests().len();
    let client = bench.client();
    let all: Vec<_> = client.emails().list().stream().map_ok(|email| email.id).try_collect().await.unwrap();
    let distinct: std::collections::HashSet<_> = all.iter().map(idempost::EmailId::as_str).collect();
    assert_eq!((all.len(), distinct.len(), bench.requests().len() - before), (201, 201, 3));

    let newer = client.emails().list().before(&all[200]).page_size(50).stream();
    let newer: Vec<_> = newer.map_ok(|email| email.id).try_collect().await.unwrap();
    assert_eq!(newer, all[..200].iter().rev().cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn list_items_are_available_as_json() {
    let (bench, all) = emails(2).await;
    let page = bench.client().emails().list().as_json().await.unwrap();
    assert_eq!(page.data[0]["id"], *all[0]);
    assert_eq!(page.data[0], bench.get("/emails").json["data"][0]);
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

/// A bench on which every list has 25 items, and the lists: in mode A, and in mode B.
async fn full_bench() -> (Bench, [String; 5], [String; 13]) {
    const ITEMS: usize = 25;
    let bench = Bench::start().await;
    let made = |path: &str, body: &Value| {
        let reply = bench.post(path, body);
        assert!(reply.status.is_success(), "{path}: {}", reply.message());
        reply.json["id"].as_str().unwrap_or_default().to_owned()
    };
    let contact = made("/contacts", &json!({ "email": "first@example.com" }));
    let crowded = made("/segments", &json!({ "name": "all" }));
    let trigger = json!({ "name": "on", "status": "enabled", "connections": [],
        "steps": [{ "key": "start", "type": "trigger", "config": { "event_name": "user.created" } }] });
    let automation = made("/automations", &trigger);
    for i in 0..ITEMS {
        made("/emails", &with(json!({ "subject": i.to_string() })));
        made("/templates", &json!({ "name": i.to_string(), "html": "x" }));
        made("/contact-properties", &json!({ "key": format!("k{i}"), "type": "string" }));
        made("/topics", &json!({ "name": i.to_string(), "default_subscription": "opt_in" }));
        made("/domains", &json!({ "name": format!("d{i}.test") }));
        made("/webhooks", &json!({ "endpoint": "https://acme.test/h", "events": ["email.sent"] }));
        made("/api-keys", &json!({ "name": i.to_string() }));
        made("/events/send", &json!({ "event": "user.created", "email": "first@example.com" }));
        bench.service().receive("sb_test", &["in@acme.test"], mail_with_files(1)).unwrap();
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
        let add = bench.request(Method::POST, &format!("/contacts/{contact}/segments/{segment}"));
        assert_eq!(bench.ask(add, "").status, 200);
        if i > 0 {
            made("/automations", &trigger);
        }
    }
    let received = bench.service().receive("sb_test", &["in@acme.test"], mail_with_files(ITEMS)).unwrap();
    let mode_a = ["/emails", "/templates", "/logs", "/automations", "/contact-properties"].map(str::to_owned);
    let mode_b = [
        "/emails/receiving".to_owned(),
        format!("/emails/receiving/{received}/attachments"),
        "/broadcasts".to_owned(),
        "/contacts".to_owned(),
        "/contacts/first@example.com/topics".to_owned(),
        format!("/contacts/{contact}/segments"),
        "/segments".to_owned(),
        format!("/segments/{crowded}/contacts"),
        "/audiences".to_owned(),
        format!("/automations/{automation}/runs"),
        "/webhooks".to_owned(),
        "/domains".to_owned(),
        "/api-keys".to_owned(),
    ];
    (bench, mode_a, mode_b)
}

#[tokio::test]
async fn every_list_has_the_mode_that_the_specification_gives_it() {
    // LIST-A1, LIST-A2, LIST-A3, LIST-A5, LIST-B1, LIST-B5, CONT-04, LOG-06
    let (bench, mode_a, mode_b) = full_bench().await;
    for path in &mode_a {
        let list = bench.get(path).json;
        assert_eq!((ids(&list).len(), &list["has_more"]), (20, &json!(true)), "{path}");
    }
    for path in &mode_b {
        let list = bench.get(path).json;
        assert!(ids(&list).len() >= 25 && list["has_more"] == false, "{path}: {}", ids(&list).len());
    }
    for path in mode_a.iter().chain(&mode_b) {
        for limit in ["0", "101", "-1", "abc", "1.5", ""] {
            let refused = bench.get_wrong(&format!("{path}?limit={limit}"));
            assert_eq!(
                (refused.status.as_u16(), refused.name()),
                (422, "validation_error"),
                "{path} {limit:?}"
            );
        }
        assert_eq!(ids(&bench.get(&format!("{path}?limit=1")).json).len(), 1, "{path}");
    }
}

#[tokio::test]
async fn every_list_pages_both_ways_without_gaps_or_repeats() {
    // LIST-02, LIST-03, LIST-05, LIST-06, LIST-07, LIST-11, LIST-B4
    let (bench, mode_a, mode_b) = full_bench().await;
    // The log grows while it is read, so another test pages through it.
    for path in mode_a.iter().filter(|path| *path != "/logs").chain(&mode_b) {
        let all = ids(&bench.get(&format!("{path}?limit=100")).json);
        for (towards, start) in [("after", &all[0]), ("before", all.last().unwrap())] {
            let (mut seen, mut cursor) = (vec![start.clone()], start.clone());
            loop {
                let list = bench.get(&format!("{path}?limit=7&{towards}={cursor}")).json;
                let mut page = ids(&list);
                if towards == "before" {
                    page.reverse();
                }
                cursor = page.last().unwrap_or(&cursor).clone();
                seen.extend(page);
                if list["has_more"] == false {
                    break;
                }
            }
            if towards == "before" {
                seen.reverse();
            }
            assert_eq!(seen, all, "{path} {towards}");
        }
    }
}
