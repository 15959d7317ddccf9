use futures_util::TryStreamExt as _;
use posthaste_conformance::bench::Bench;
use serde_json::{Value, json};

use super::with;

/// A bench with so many emails, and their ids, newest first.
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
async fn after_walks_to_older_items_without_a_gap_or_a_repeat() {
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
async fn before_walks_to_newer_items() {
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
async fn there_is_more_exactly_when_there_is_more() {
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
async fn the_client_asks_for_what_it_is_told_and_for_nothing_else() {
    // LIST-04, LIST-09, LIST-10
    let (bench, all) = emails(3).await;
    let client = bench.client();
    let before = bench.requests().len();
    client.emails().list().await.unwrap();
    client.emails().list().limit(2).await.unwrap();
    client.emails().list().limit(2).after(&all[0]).await.unwrap();
    // One cursor takes the other's place: there is no way to give both.
    client.emails().list().after(&all[0]).before(&all[2]).await.unwrap();
    client.logs().list().limit(100).await.unwrap();
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
async fn a_limit_out_of_range_never_leaves_the_client() {
    // 31 of the client's inputs; text that is no number can't be given
    let bench = Bench::start().await;
    for limit in [0, 101, 255] {
        let error = bench.client().emails().list().limit(limit).await.unwrap_err();
        assert!(error.to_string().contains("nothing was sent"), "{error}");
    }
    assert!(bench.requests().is_empty());
    for limit in [1, 100] {
        bench.client().emails().list().limit(limit).await.unwrap();
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
    let distinct: std::collections::HashSet<_> = all.iter().map(posthaste::EmailId::as_str).collect();
    assert_eq!((all.len(), distinct.len(), bench.requests().len() - before), (201, 201, 3));

    let newer = client.emails().list().before(&all[200]).limit(50).stream();
    let newer: Vec<_> = newer.map_ok(|email| email.id).try_collect().await.unwrap();
    assert_eq!(newer, all[..200].iter().rev().cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn items_can_be_had_as_the_service_wrote_them() {
    let (bench, all) = emails(2).await;
    let page = bench.client().emails().list().as_json().await.unwrap();
    assert_eq!(page.data[0]["id"], *all[0]);
    assert_eq!(page.data[0], bench.get("/emails").json["data"][0]);
}
