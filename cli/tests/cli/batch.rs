//! `emails batch`: several emails in one request.

use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{Idempost, has};

fn email(i: usize) -> Value {
    json!({"from": "hi@acme.test", "to": [format!("u{i}@example.com")], "subject": "Hi", "text": i.to_string()})
}

fn emails(n: usize) -> Vec<Value> {
    (0..n).map(email).collect()
}

fn lines(emails: &[Value]) -> String {
    emails.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_array_and_lines_are_equivalent_and_the_ids_are_in_order() {
    // BATCH-01, BATCH-07, BATCH-08
    let service = Service::start();
    for text in [json!(emails(3)).to_string(), lines(&emails(3))] {
        let ids = service.run_with(&["emails", "batch", "-"], &text).ok();
        let of_subject = |id: &str| {
            let record = service.run(&["emails", "get", id, "--json"]).json();
            record["text"].clone()
        };
        assert_eq!(ids.lines().map(of_subject).collect::<Vec<_>>(), ["0", "1", "2"]);
    }
    assert_eq!(service.bodies()[0], json!(emails(3)));
}

#[test]
fn a_batch_has_1_to_100_emails() {
    // BATCH-03, A-29
    let service = Service::start();
    service.run_with(&["emails", "batch", "-"], "[]").fails_with(2, &["at least 1 email"]);
    service.run_with("emails batch -", &lines(&emails(101))).fails_with(2, &["at most 100 emails"]);
    assert_eq!(service.asked(), 0);
    assert_eq!(service.run_with(&["emails", "batch", "-"], &lines(&emails(100))).ok().lines().count(), 100);
}

#[test]
fn every_problem_in_every_email_is_reported_at_its_place() {
    // BATCH-05, BATCH-06, A-30
    let idempost = Idempost::new();
    let text = "[\n  {\"from\": \"hi@acme.test\", \"to\": \"a@example.com\", \"subject\": \"Hi\", \"text\": \"x\"},\n  \
        {\"from\": \"Acme a@acme.test\", \"to\": \"bob@example.com\", \"subject\": \"Hi\",\n   \
        \"tags\": [{\"name\": \"week 47\", \"value\": \"x\"}], \"scheduled_at\": \"in 1 hour\", \"attachments\": [], \
        \"to\": \"c@example.com\", \"txt\": \"x\"},\n  7]";
    idempost.write("batch.json", text);
    let error = idempost.run(&["emails", "batch", "batch.json", "--json"]).error(2);
    let problems = error["problems"].as_array().unwrap();
    let mut reported: Vec<_> = problems
        .iter()
        .map(|found| (found["path"].as_str().unwrap(), found["code"].as_str().unwrap()))
        .collect();
    reported.sort_unstable();
    assert_eq!(
        reported,
        [
            ("/1", "required"),
            ("/1/attachments", "unsupported"),
            ("/1/from", "address"),
            ("/1/scheduled_at", "unsupported"),
            ("/1/tags/0/name", "charset"),
            ("/1/to", "repeated"),
            ("/1/txt", "unknown"),
            ("/2", "type"),
        ]
    );
    let from = problems.iter().find(|found| found["path"] == "/1/from").unwrap();
    assert_eq!(from["origin"], json!({"file": "batch.json", "line": 3, "column": 12}));
    let stderr = idempost.run(&["emails", "batch", "batch.json"]).fails(2);
    assert!(
        stderr.starts_with("error: 8 problems in 2 of 3 emails; nothing was sent\n --> batch.json:"),
        "{stderr}"
    );
}

#[test]
fn with_permissive_the_valid_emails_are_sent_and_the_exit_code_is_10() {
    let service = Service::start().unjudged();
    let mut batch = emails(2);
    batch.insert(1, json!({"from": "hi@acme.test", "to": "b@example.com", "text": "no subject"}));
    let text = json!(batch).to_string();
    let ran = service.run_with(&["emails", "batch", "-", "--permissive"], &text);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(10), 2), "{ran:?}");
    assert!(ran.stderr.contains("error: 1 email rejected, 2 emails accepted\n  /1: "), "{ran:?}");
    let ran = service.run_with(&["emails", "batch", "-", "--permissive", "--json"], &text);
    assert_eq!((&ran.document()["errors"][0]["index"], ran.code), (&json!(1), Some(10)));
    assert_eq!(ran.last_error()["kind"], "partial");
    service.run_with(&["emails", "batch", "-"], &text).exits(2);
}

#[test]
fn a_key_that_was_first_used_with_permissive_lists_what_was_rejected_only_with_it() {
    let service = Service::start().unjudged();
    let mut batch = emails(2);
    batch[1]["from"] = json!("Acme");
    let text = json!(batch).to_string();
    let command = ["emails", "batch", "-", "--no-validate", "--idempotency-key", "news-17"];
    let permissive = [&command[..], &["--permissive"]].concat();
    let first = service.run_with(&permissive, &text);
    assert_eq!((first.code, first.stdout.lines().count()), (Some(10), 1), "{first:?}");
    let strict = service
        .run_with(&command, &text)
        .exits(10)
        .says(&["1 of 2 emails were accepted and 1 rejected", "run the same command with --permissive"]);
    assert!(!strict.stderr.contains("next:"), "the same command would fail again: {strict:?}");
    assert_eq!(service.run_with(&permissive, &text).stdout, first.stdout);
}

#[test]
fn a_dry_run_shows_the_batch() {
    let shown = Idempost::new().run_with("emails batch - -n --idempotency-key k", &lines(&emails(2))).json();
    let shown = &shown["dry_run"];
    has(shown, &json!({"path": "/emails/batch", "body": emails(2), "headers": {"idempotency-key": "k"}}));
}

#[test]
fn a_malformed_line_is_reported_with_its_number() {
    let lines = "{\"from\": \"a@x.test\"}\n{\"from\": }\n";
    let error = Idempost::new().run_with("emails batch - --json", lines).error(2);
    assert_eq!(error["problems"][0]["origin"], json!({"stdin": "-", "line": 2, "column": 10}));
}
