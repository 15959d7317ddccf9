//! Contact imports.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, KEY, Sandbox, expect_fields_of, http_client};

const FORM: &str = "multipart/form-data; boundary=b0undary";

/// A form with these parts.
fn form(file: &[u8], parts: &[(&str, &str)]) -> Bytes {
    let mut form = Vec::new();
    for (name, text) in parts {
        let part = format!("--b0undary\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
        form.extend_from_slice(part.as_bytes());
    }
    form.extend_from_slice(
        b"--b0undary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"people.csv\"\r\nContent-Type: text/csv\r\n\r\n",
    );
    form.extend_from_slice(file);
    form.extend_from_slice(b"\r\n--b0undary--\r\n");
    form.into()
}

fn post(sandbox: &Sandbox, body: Bytes) -> Answer {
    sandbox.ask(Method::POST, "/contacts/imports").header("content-type", FORM).send(body)
}

/// Starts an import that must be accepted; returns its ID.
fn start(sandbox: &Sandbox, file: impl AsRef<[u8]>, parts: &[(&str, &str)]) -> String {
    let answer = post(sandbox, form(file.as_ref(), parts)).expect_status(201);
    assert_eq!(answer.json()["object"], "contact_import");
    answer.id()
}

fn import(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.get(format!("/contacts/imports/{id}")).expect_status(200).json()
}

/// Runs an import until its end; returns its status and counts: total, created, updated, skipped, failed.
fn run(sandbox: &Sandbox, file: impl AsRef<[u8]>, parts: &[(&str, &str)]) -> (String, [u64; 5]) {
    let id = start(sandbox, file, parts);
    sandbox.advance(60);
    let import = import(sandbox, &id);
    let counts = ["total", "created", "updated", "skipped", "failed"];
    let counts = counts.map(|name| import["counts"][name].as_u64().unwrap());
    (import["status"].as_str().unwrap().to_owned(), counts)
}

fn completed(counts: [u64; 5]) -> (String, [u64; 5]) {
    ("completed".to_owned(), counts)
}

fn contact(sandbox: &Sandbox, email: &str) -> Value {
    let answer = sandbox.get(format!("/contacts/{email}"));
    assert_eq!(answer.status, 200, "{email}: {}", answer.text());
    answer.json()
}

/// A file with this number of contacts.
fn people(count: usize) -> String {
    let mut file = "email,first_name\n".to_owned();
    for n in 0..count {
        writeln!(file, "p{n}@example.com,Name {n}").unwrap();
    }
    file
}

#[test]
fn a_file_becomes_contacts_in_the_background() {
    let sandbox = Sandbox::new();
    let file = "email,first_name,last_name,unsubscribed,note\r\nada@example.com,Ada,\"Love\"\"lace, Countess\",false,x\r\n\
        grace@example.com,,,TRUE,y\r\nnobody,,,,\r\n";
    let id = start(&sandbox, file, &[]);
    let queued = import(&sandbox, &id);
    expect_fields_of(&json!({"status": "queued", "completed_at": null}), &queued);
    assert_eq!(queued["counts"]["total"], 0);
    assert_eq!(sandbox.get("/contacts").json()["data"], json!([]));
    sandbox.advance(1);
    let expected = json!({
        "object": "contact_import", "id": id, "status": "completed", "created_at": queued["created_at"],
        "completed_at": "2026-03-02 12:00:00.100000+00",
        "counts": {"total": 3, "created": 2, "updated": 0, "skipped": 0, "failed": 1},
    });
    assert_eq!(import(&sandbox, &id), expected);
    let ada = contact(&sandbox, "ada@example.com");
    expect_fields_of(
        &json!({"first_name": "Ada", "last_name": "Love\"lace, Countess", "unsubscribed": false}),
        &ada,
    );
    assert_eq!(contact(&sandbox, "grace@example.com")["unsubscribed"], true);
}

#[test]
fn rows_with_one_address_update_or_skip_the_contact_of_the_first() {
    for (conflict, counts, name) in [
        (Some("upsert"), [5, 1, 4, 0, 0], "Third"),
        (Some("skip"), [5, 1, 0, 4, 0], "First"),
        (None, [5, 1, 4, 0, 0], "Third"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.post(
            "/contacts",
            &json!({"email": "old@example.com", "first_name": "Old", "last_name": "Known"}),
        );
        let file = "email,first_name\nnew@example.com,First\nold@example.com,Changed\nNEW@example.com,Second\n\
            new@example.com,Third\nOLD@example.com,\n";
        let parts = conflict.map(|conflict| ("on_conflict", conflict));
        assert_eq!(run(&sandbox, file, parts.as_slice()), completed(counts));
        assert_eq!(contact(&sandbox, "new@example.com")["first_name"], name);
        let old = contact(&sandbox, "old@example.com");
        let expected = if conflict == Some("skip") { "Old" } else { "Changed" };
        expect_fields_of(&json!({ "first_name": expected, "last_name": "Known" }), &old);
    }
}

#[test]
fn columns_are_mapped_to_fields_and_properties_whatever_their_names_and_characters() {
    let sandbox = Sandbox::new();
    sandbox.created("/contact-properties", &json!({"key": "city", "type": "string"}));
    sandbox.created("/contact-properties", &json!({"key": "age", "type": "number"}));
    let map = json!({
        "email": "E-Mail", "last_name": "Näme", "first_name": "first_name",
        "properties": {"city": {"column": "Stadt", "type": "string"}, "age": {"column": "Alter"}},
    });
    let file = "\u{feff}E-Mail,Näme,Stadt,Alter,first_name,unsubscribed\nada@bücher.test,Żółć,東京,36.5,Ada,true\n\
        b@x.test,,,,,\nc@x.test,,,old,,\n";
    assert_eq!(run(&sandbox, file, &[("column_map", &map.to_string())]), completed([3, 2, 0, 0, 1]));
    let ada = contact(&sandbox, "ada@b%C3%BCcher.test");
    expect_fields_of(&json!({ "last_name": "Żółć", "first_name": "Ada" }), &ada);
    assert_eq!(ada["unsubscribed"], false, "a column that isn't in the map isn't imported");
    assert_eq!(
        ada["properties"],
        json!({"age": {"type": "number", "value": 36.5}, "city": {"type": "string", "value": "東京"}})
    );
    assert_eq!(contact(&sandbox, "b@x.test")["properties"], json!({}));
    assert_eq!(sandbox.get("/contacts/c@x.test").status, 404);
}

#[test]
fn contacts_join_segments_and_topics_unless_they_are_skipped() {
    let sandbox = Sandbox::new();
    let segment = sandbox.created("/segments", &json!({"name": "All"}));
    let topic = sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_in"}));
    sandbox.post("/contacts", &json!({"email": "old@example.com"}));
    let segments = json!([{ "id": segment }]).to_string();
    let topics = json!([{"id": topic, "subscription": "opt_out"}]).to_string();
    let parts = [("segments", segments.as_str()), ("topics", topics.as_str())];
    let file = "email\nold@example.com\nnew@example.com\n";
    let members = || sandbox.ids(format!("/segments/{segment}/contacts")).len();
    let skipping = [parts[0], parts[1], ("on_conflict", "skip")];
    assert_eq!(run(&sandbox, file, &skipping), completed([2, 1, 0, 1, 0]));
    assert_eq!(members(), 1);
    assert_eq!(run(&sandbox, file, &parts), completed([2, 0, 2, 0, 0]));
    assert_eq!(members(), 2);
    let topics = sandbox.get("/contacts/old@example.com/topics").json();
    assert_eq!(topics["data"][0]["subscription"], "opt_out");
}

#[test]
fn deleting_a_segment_topic_or_property_ends_its_effect_on_the_remaining_rows() {
    let sandbox = Sandbox::new();
    let segment = sandbox.created("/segments", &json!({"name": "All"}));
    let topic = sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_in"}));
    let property = sandbox.created("/contact-properties", &json!({"key": "city", "type": "string"}));
    let (map, segments) = (json!({"properties": {"city": {"column": "city"}}}), json!([{ "id": segment }]));
    let topics = json!([{"id": topic, "subscription": "opt_out"}]);
    let [map, segments, topics] = [map, segments, topics].map(|part| part.to_string());
    let file = "email,city\nada@example.com,London\n";
    let parts = [("column_map", map.as_str()), ("segments", &segments), ("topics", &topics)];
    let id = start(&sandbox, file, &parts);
    for path in [
        format!("/segments/{segment}"),
        format!("/topics/{topic}"),
        format!("/contact-properties/{property}"),
    ] {
        assert_eq!(sandbox.ask(Method::DELETE, path).send(Bytes::new()).status, 200);
    }
    sandbox.advance(1);
    assert_eq!(import(&sandbox, &id)["counts"]["created"], 1);
    assert_eq!(contact(&sandbox, "ada@example.com")["properties"], json!({}));
    assert_eq!(sandbox.get("/contacts/ada@example.com/segments").json()["data"], json!([]));
}

#[test]
fn an_invalid_request_names_the_part_and_starts_nothing() {
    let sandbox = Sandbox::new();
    sandbox.created("/contact-properties", &json!({"key": "age", "type": "number"}));
    let wide = (0..30).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    for (file, message) in [
        ("", "`file` is empty"),
        ("E-Mail,Name\na@x.test,A\n", "`file` must have a column `email`, or `column_map.email`"),
        ("E-Mail,Name\na@x.test,A\n", "its columns are \"E-Mail\", \"Name\""),
        (&wide, "\"c19\" and 10 more"),
    ] {
        post(&sandbox, form(file.as_bytes(), &[])).invalid(message);
    }
    let (map, property) = ("column_map", "`column_map.properties.age");
    for (part, value, message) in [
        (map, r#"{"first_name": "Vorname"}"#, "`column_map.first_name` must be one of"),
        (map, r#"{"email": 1}"#, "`column_map.email` must be a string; found a number"),
        (map, "[]", "`column_map` must be an object; found an array"),
        (map, "{", "`column_map` must be JSON"),
        (map, r#"{"properties": {"x": {"column": "email"}}}"#, "no contact property"),
        (
            map,
            r#"{"properties": {"age": {"column": "email", "type": "boolean"}}}"#,
            &format!("{property}.type` must be the property's type, `number`; found `boolean`"),
        ),
        (map, r#"{"properties": {"age": {}}}"#, &format!("Missing {property}.column`")),
        ("on_conflict", "", "`on_conflict` must be one of `upsert`, `skip`"),
        ("on_conflict", "replace", "`on_conflict` must be one of `upsert`, `skip`"),
        ("segments", r#"[{"id": "x"}]"#, "`segments[0].id` must be a UUID"),
        ("topics", "{}", "`topics` must be an array"),
    ] {
        post(&sandbox, form(b"email\n", &[(part, value)])).invalid(message);
    }
    let missing =
        "--b0undary\r\nContent-Disposition: form-data; name=\"on_conflict\"\r\n\r\nreplace\r\n--b0undary--";
    post(&sandbox, missing.into()).invalid("1 more problem");
    let answer = sandbox.post("/contacts/imports", &json!({}));
    answer.rejected(400, "validation_error", "multipart/form-data");
    post(&sandbox, form(b"email\n", &[]).slice(..100)).expect_status(400);
    assert_eq!(sandbox.get("/contacts/imports").json()["data"], json!([]));
    assert_eq!(sandbox.patch("/contacts/imports", &json!({})).status, 405);
}

#[test]
fn unknown_parts_are_ignored_and_reported() {
    let sandbox = Sandbox::new();
    let answer = post(&sandbox, form(b"email\n", &[("on_error", "stop")]));
    assert_eq!((answer.status.as_u16(), answer.header("x-sandbox-ignored-fields")), (201, Some("/on_error")));
}

#[test]
fn imports_are_listed_newest_first_and_by_status() {
    let sandbox = Sandbox::new();
    let mut ids: Vec<_> = (0..12).map(|_| start(&sandbox, "email\na@x.test\n", &[])).collect();
    sandbox.advance(1);
    ids.push(start(&sandbox, "email\na@x.test\n", &[]));
    let listed = |query: &str| {
        let page = sandbox.get(format!("/contacts/imports{query}"));
        (page.ids(), page.json()["has_more"].as_bool().unwrap())
    };
    let newest: Vec<_> = ids.iter().rev().cloned().collect();
    for (index, id) in [(0, &newest[0]), (1, &newest[1])] {
        assert_eq!(sandbox.get("/contacts/imports").json()["data"][index], import(&sandbox, id));
    }
    assert_eq!(listed(""), (newest[..10].to_vec(), true));
    assert_eq!(listed(&format!("?after={}", newest[9])), (newest[10..].to_vec(), false));
    assert_eq!(listed("?status=queued"), (newest[..1].to_vec(), false));
    assert_eq!(listed("?status=completed&limit=100"), (newest[1..].to_vec(), false));
    assert_eq!(listed("?status=in_progress"), (Vec::new(), false));
    let wrong = sandbox.get("/contacts/imports?status=done");
    assert_eq!((wrong.status.as_u16(), wrong.message().contains("`in_progress`")), (422, true));
    assert_eq!(sandbox.get("/contacts/imports/78261eea-8f8b-4381-83c6-79fa7120f1cf").status, 404);
    assert_eq!(sandbox.get("/contacts/imports/x").status, 422);
    let other = sandbox.ask(Method::GET, format!("/contacts/imports/{}", ids[0])).key("sb_other");
    assert_eq!(other.send(Bytes::new()).status, 404);
}

#[test]
fn no_events_are_sent_for_the_rows() {
    let sandbox = Sandbox::new();
    let webhook =
        json!({"endpoint": "https://hooks.acme.test/", "events": ["contact.created", "contact.updated"]});
    let webhook = sandbox.created("/webhooks", &webhook);
    run(&sandbox, "email,first_name\na@x.test,A\na@x.test,B\n", &[]);
    let events = || sandbox.ids(format!("/webhooks/{webhook}/events")).len();
    assert_eq!(events(), 0);
    sandbox.post("/contacts", &json!({"email": "a@x.test", "first_name": "C"}));
    assert_eq!(events(), 1);
}

#[test]
fn a_row_without_end_fails_the_import_and_rows_beyond_the_limit_fail_alone() {
    let sandbox = Sandbox::with(&Settings { keep_records: 3, ..Settings::default() });
    let file = format!("email\na@x.test\n\"{}", "x".repeat(3 << 20));
    assert_eq!(run(&sandbox, file, &[]), ("failed".to_owned(), [1, 1, 0, 0, 0]));
    assert_eq!(run(&sandbox, people(4), &[]), completed([4, 2, 0, 0, 2]));
}

#[test]
fn the_memory_of_a_file_counts_until_its_import_ends() {
    let sandbox = Sandbox::with(&Settings { max_memory: 8 << 20, ..Settings::default() });
    let file = format!("email,note\na@x.test,{}\n", "x".repeat(1_000_000));
    let start = || post(&sandbox, form(file.as_bytes(), &[])).status.as_u16();
    assert_eq!([start(), start(), start()], [201, 201, 403]);
    sandbox.advance(1);
    assert_eq!([start(), start(), start()], [201, 201, 403]);
    sandbox.service.reset();
    assert_eq!([start(), start(), start()], [201, 201, 403]);
}

#[test]
fn a_hundred_thousand_rows_are_imported_in_steps_while_requests_are_handled() {
    const ROWS: usize = 100_000;
    let sandbox = Sandbox::unread();
    let id = start(&sandbox, people(ROWS), &[]);
    sandbox.service.clock().advance(Duration::from_millis(100));
    let first = import(&sandbox, &id);
    assert_eq!((&first["status"], &first["counts"]["total"]), (&json!("in_progress"), &json!(10_000)));
    let moving = Arc::clone(&sandbox.service);
    let moved = std::thread::spawn(move || moving.clock().advance(Duration::from_secs(10)));
    let mut waits = Vec::new();
    let started = Instant::now();
    while !moved.is_finished() {
        let started = Instant::now();
        import(&sandbox, &id);
        waits.push(started.elapsed());
    }
    moved.join().unwrap();
    let total = started.elapsed();
    let last = import(&sandbox, &id);
    let counts = json!({"total": ROWS, "created": ROWS, "updated": 0, "skipped": 0, "failed": 0});
    assert_eq!(last["counts"], counts);
    assert_eq!(last["completed_at"], "2026-03-02 12:00:01.100000+00");
    assert_eq!(contact(&sandbox, "p99999@example.com")["first_name"], "Name 99999");
    waits.sort_unstable();
    let p99 = waits[(waits.len() * 99).div_ceil(100) - 1];
    assert!(waits.len() > 100 && p99 * 20 < total, "{} requests, p99 {p99:?} of {total:?}", waits.len());
}

#[test]
fn a_restart_fails_an_unfinished_import_and_keeps_its_contacts() {
    let mut sandbox = Restartable::new();
    let done = start(&sandbox, "email\na@x.test\n", &[]);
    sandbox.advance(1);
    let half = start(&sandbox, people(10_001), &[]);
    sandbox.service.clock().advance(Duration::from_millis(100));
    let queued = start(&sandbox, "email\nb@x.test\n", &[]);
    let before = import(&sandbox, &done);
    sandbox.restart();
    sandbox.advance(60);
    assert_eq!(import(&sandbox, &done), before);
    let (half, queued) = (import(&sandbox, &half), import(&sandbox, &queued));
    assert_eq!((&half["status"], &half["counts"]["created"]), (&json!("failed"), &json!(10_000)));
    assert_eq!((&queued["status"], &queued["counts"]["total"]), (&json!("failed"), &json!(0)));
    assert!(half["completed_at"].is_string() && queued["completed_at"].is_string());
    assert_eq!(contact(&sandbox, "p9999@example.com")["first_name"], "Name 9999");
    assert_eq!(sandbox.get("/contacts/b@x.test").status, 404);
    // The same file again has the rest.
    let again = run(&sandbox, people(10_001), &[("on_conflict", "skip")]);
    assert_eq!(again, completed([10_001, 1, 0, 10_000, 0]));
}

#[tokio::test]
async fn a_file_may_be_larger_than_other_bodies_and_has_a_limit() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let server = idempost_sandbox::start(Settings { body_limit: 1_000, ..Settings::default() }).await;
    let file = format!("email,note\n{}", format!("a@x.test,{}\n", "x".repeat(999_990)).repeat(70));
    let http = http_client();
    let url = format!("{}/contacts/imports", server.base_url());
    let request = http.post(&url).bearer_auth(KEY).header("content-type", FORM);
    let answer = request.body(form(file.as_bytes(), &[])).send().await.unwrap();
    assert_eq!(answer.status(), 201);

    let address = server.base_url().trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /contacts/imports HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\ncontent-type: {FORM}\r\ncontent-length: 202000000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.contains("larger than 201048576 bytes"),
        "{answer}"
    );
}
