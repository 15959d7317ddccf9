//! `api`: sends arbitrary requests.

use idempost_reference_server::faults::Action;
use serde_json::{Value, json};

use crate::service::Service;

#[test]
fn the_response_is_printed_unchanged() {
    let service = Service::start();
    let post = r#"api POST /emails -f from=hi@acme.test -F 'to=["a@example.com"]' -f subject=7 -f text=x
        -H 'Idempotency-Key: order-17' --jq .id"#;
    let id = service.run(post).ok();
    let expected = [json!({"from": "hi@acme.test", "to": ["a@example.com"], "subject": "7", "text": "x"})];
    assert_eq!(service.bodies(), expected);
    assert_eq!(service.requests()[0].headers["idempotency-key"], "order-17");
    let segment = format!("id={}", id.trim_end());
    let record = service.run(&["api", "get", "emails/{id}", "--path", &segment]).json();
    assert_eq!(record["subject"], "7");
    let shown = service.run(&["api", "GET", "/emails", "-Q", "limit=1", "-i"]).ok();
    let (head, body) = shown.split_once("\n\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\n") && head.contains("\nx-request-id: "), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["data"][0]["id"], id.trim_end());
    assert_eq!(service.requests().last().unwrap().query.as_deref(), Some("limit=1"));
}

#[test]
fn all_pages_of_a_list_are_merged() {
    let service = Service::start();
    let batch: Vec<Value> = (0..5)
        .map(
            |i| json!({"from": "hi@acme.test", "to": "a@example.com", "subject": i.to_string(), "text": "x"}),
        )
        .collect();
    service.run_with(&["api", "POST", "/emails/batch", "--input", "-"], &json!(batch).to_string()).ok();
    let all = service.run(&["api", "GET", "/emails", "--all", "-Q", "limit=2", "--json"]).json();
    assert_eq!((all["data"].as_array().unwrap().len(), &all["has_more"]), (5, &json!(false)));
    let subjects = service.run("api GET /emails --all -Q limit=2 -o ndjson --jq .subject").ok();
    assert_eq!(subjects, "4\n3\n2\n1\n0\n");
}

#[test]
fn a_list_without_has_more_is_read_to_its_end() {
    let service = Service::start();
    let page = |ids: &[&str]| {
        let items: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
        Action::http_response(200, json!({ "object": "list", "data": items }).to_string())
    };
    for ids in [&["e", "d"][..], &["c", "b"], &["a"]] {
        service.faults().add_once(page(ids));
    }
    let command = ["api", "GET", "/emails", "--all", "-Q", "limit=2", "-o", "ndjson", "--jq", ".id"];
    assert_eq!(service.run(&command).ok(), "e\nd\nc\nb\na\n");
    let queries: Vec<_> = service.requests().into_iter().map(|request| request.query.unwrap()).collect();
    assert_eq!(queries, ["limit=2", "limit=2&after=d", "limit=2&after=b"]);
    service.faults().add_once(page(&["b", "a"]));
    service.run(&["topics", "list", "--limit", "2"]).says(&["more available · next: --after a"]);
}
