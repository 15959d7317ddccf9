//! `emails list`, `emails get`, `logs list`: output for users, pipes and programs.

use idempost_reference_server::faults::{Action, Rule};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{SEND, has, wait_until};

/// A service that has accepted `n` emails, numbered from the oldest.
fn with_emails(n: usize) -> Service {
    let service = Service::start();
    let batch: Vec<Value> = (0..n)
        .map(|i| json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": i.to_string(), "text": "x"}))
        .collect();
    for some in batch.chunks(100) {
        service.run_with(&["emails", "batch", "-"], &json!(some).to_string()).ok();
    }
    service
}

fn subjects(envelope: &Value) -> Vec<usize> {
    let items = envelope["data"].as_array().unwrap();
    items.iter().map(|item| item["subject"].as_str().unwrap().parse().unwrap()).collect()
}

fn queries(service: &Service, path: &str) -> Vec<Option<String>> {
    let requests = service.requests();
    requests
        .iter()
        .filter(|request| request.path == path && request.method == "GET")
        .map(|request| request.query.clone())
        .collect()
}

#[test]
fn only_the_given_flags_are_sent() {
    // LIST-04, LIST-10
    let service = with_emails(3);
    let page = service.run(&["emails", "list", "--json"]).json();
    let id = page["data"][1]["id"].as_str().unwrap();
    let newer = service.run(&["emails", "list", "--json", "--before", id]).json();
    let older = service.run(&["emails", "list", "--json", "--after", id, "--limit", "1"]).json();
    assert_eq!((subjects(&newer), subjects(&older)), (vec![2], vec![0]));
    let expected = [None, Some(format!("before={id}")), Some(format!("limit=1&after={id}"))];
    assert_eq!(queries(&service, "/emails"), expected);
    let newest = page["data"][0]["id"].as_str().unwrap();
    service.run(&["emails", "list", "--before", newest]).says(&["no newer items"]).ok();
    let oldest = page["data"][2]["id"].as_str().unwrap();
    service.run(&["emails", "list", "--after", oldest]).says(&["no older items"]).ok();
}

#[test]
fn columns_without_a_table_are_reported() {
    let service = with_emails(1);
    let id = service.run("emails list --columns id").hides(&["--columns has"]).ok();
    for command in [("emails get", [id.trim()]), ("api GET", ["/emails"])] {
        service.run(&(command, "--columns id")).says(&["--columns has no effect"]).ok();
    }
    assert!(service.run(&("emails get --columns id -q", [id.trim()])).stderr.is_empty());
}

#[test]
fn a_response_that_is_no_list_is_an_error_and_not_an_empty_list() {
    let service = Service::start().unjudged();
    for body in ["", "1", "\"x\"", "[]", "{}", "null", r#"{"object":"list"}"#, r#"{"data":{}}"#] {
        for flags in [&["--json"][..], &[], &["--all"], &["--limit", "150"]] {
            service.faults().clear();
            service.faults().add(Rule::new(Action::http_response(200, body)).always());
            let ran = service.run(&("domains list", flags));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{body} {flags:?}: {ran:?}");
            assert!(ran.stderr.contains("status 200"), "{body} {flags:?}: {ran:?}");
        }
    }
}

#[test]
fn a_limit_above_one_page_fetches_and_merges_several() {
    // LIST-12, A-31
    let service = with_emails(230);
    let some = service.run(&["emails", "list", "--limit", "150", "--json"]).json();
    assert_eq!(subjects(&some), (80..230).rev().collect::<Vec<_>>());
    has(&some, &json!({"object": "list", "has_more": true}));
    let all = service.run(&["emails", "list", "--all", "--json"]).json();
    assert_eq!((subjects(&all).len(), &all["has_more"]), (230, &json!(false)));
    let lines = service.run(&["emails", "list", "--all", "-o", "ndjson", "--jq", ".subject"]).ok();
    let expected = (0..230).rev().collect::<Vec<_>>();
    assert_eq!(lines.lines().map(|line| line.parse().unwrap()).collect::<Vec<usize>>(), expected);
    assert_eq!(service.run(&["emails", "list", "--all", "--json", "--jq", ".data | length"]).ok(), "230\n");
    let oldest = all["data"][229]["id"].as_str().unwrap();
    let newer = service.run(&["emails", "list", "--all", "--before", oldest, "--json"]).json();
    assert_eq!(subjects(&newer), (1..230).rev().collect::<Vec<_>>(), "newest first, in both directions");
}

#[test]
fn a_terminal_shows_a_table_and_notes_what_it_omits() {
    let service = with_emails(3);
    let idempost = service.idempost().env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1");
    let ran = idempost.run(&["emails", "list", "--limit", "2"]);
    let rows: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(rows.len(), 3, "{ran:?}");
    let headings: Vec<&str> = rows[0].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(headings, ["ID", "TO", "SUBJECT", "LAST EVENT", "CREATED"]);
    assert!(
        ran.stderr.starts_with("2 shown, more available · next: --after ")
            && ran.stderr.ends_with(" · all: --all\n"),
        "{ran:?}"
    );
    assert_eq!(idempost.run(&["emails", "list"]).stderr, "");
    assert_eq!(idempost.run(&["emails", "list", "--limit", "2", "--quiet"]).stderr, "");
}

#[test]
fn a_list_is_shown_at_every_width() {
    // G-07
    let service = with_emails(2);
    for width in ["1", "2", "20", "9999"] {
        let terminal = service.idempost().env("IDEMPOST_FORCE_TTY", width).env("NO_COLOR", "1");
        for arguments in [&["emails", "list"][..], &["logs", "list"], &["config", "list"], &["usage"]] {
            let shown = terminal.run(arguments).ok();
            assert!(!shown.is_empty() && !shown.contains('\u{1b}'), "{width} {arguments:?}: {shown:?}");
        }
        let id = terminal.run(&["emails", "list", "--jq", ".data[0].id"]).ok();
        terminal.run(&["emails", "list"]).ok_with(&[id.trim()]);
        terminal.run(&["emails", "sned"]).fails(2);
    }
}

#[test]
fn a_pipe_gets_complete_ids_and_no_heading() {
    let service = with_emails(2);
    let rows = service.run(&["emails", "list"]).ok();
    let cells: Vec<&str> = rows.lines().next().unwrap().split('\t').collect();
    assert_eq!((cells.len(), cells[0].len(), cells[1], cells[2]), (5, 36, "ada@example.com", "1"));
    assert!(cells[4].ends_with('Z'), "{cells:?}");
    let rows = service.run(&["emails", "list", "--columns", "subject,from"]).ok();
    assert_eq!(rows, "1\thi@acme.test\n0\thi@acme.test\n");
}

#[test]
fn json_output_is_the_service_s_response() {
    // G-05: including terminal control sequences
    let service = Service::start();
    let evil = "\u{85}\u{9b}2J\u{202e}é👩🏽‍🚀";
    let document = json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": evil, "text": "x"});
    let id = service.run_with(&["emails", "send", "--input", "-"], &document.to_string()).ok();
    let record = service.run(&["emails", "get", id.trim_end(), "--json"]).json();
    assert_eq!(record["subject"], evil);
    let requests = service.requests();
    assert_eq!(record, serde_json::from_slice::<Value>(&requests.last().unwrap().answer_body).unwrap());
    let terminal = service.idempost().env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1");
    for arguments in
        [&["emails", "get", id.trim_end()][..], &["emails", "list"], &["emails", "list", "--json"]]
    {
        let shown = terminal.run(arguments).ok();
        assert!(!shown.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    }
}

#[test]
fn the_log_is_filtered_locally_over_as_many_pages_as_needed() {
    // LIST-04
    let service = with_emails(1);
    for _ in 0..3 {
        service.run(&["emails", "get", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"]).fails(5);
    }
    let entries = service.run("logs list --status 4xx --method get --limit 2 --json").json();
    let entries = entries["data"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert!(
        entries.iter().all(|entry| entry["response_status"] == 404 && entry["method"] == "GET"),
        "{entries:?}"
    );
    let rows = service.run("logs list --method POST --columns endpoint,response_status").ok();
    assert_eq!(rows, "/emails/batch\t200\n");
}

#[test]
fn emails_are_filtered_locally_by_recipient_status_and_time() {
    let service = with_emails(3);
    for to in ["Bob <bob@example.com>", "bounced@example.com"] {
        service.run(&[&SEND[..2], &["--to", to], &SEND[2..4], &SEND[6..]].concat()).ok();
    }
    wait_until("the email bounces", || {
        service.run(&["emails", "list", "--limit", "1", "--jq", ".data[0].last_event"]).ok() == "bounced\n"
    });
    let list = |flags: &[&str]| {
        let list = service.run(&("emails list --json", flags)).json();
        assert_eq!(list["object"], "list");
        list["data"].as_array().unwrap().iter().map(|email| email["to"][0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(list(&["--to", "BOB"]), ["Bob <bob@example.com>"]);
    assert_eq!(list(&["--status", "bounced,failed"]), ["bounced@example.com"]);
    assert_eq!(list(&["--subject", "hell", "--from", "hi@"]).len(), 2);
    assert_eq!(list(&["--since", "1h", "--to", "ada", "--limit", "2"]).len(), 2);
    let bob = service.run(&["emails", "list", "--to", "bob", "--jq", ".data[0].created_at"]).ok();
    // Without an offset, it is in UTC.
    for since in [bob.trim(), bob.trim().trim_end_matches("+00")] {
        assert_eq!(list(&["--since", since]), ["bounced@example.com", "Bob <bob@example.com>"], "{since}");
    }
    for flag in ["--to", "--from", "--subject"] {
        let rule = format!("{flag} must not be empty");
        service.run(&["emails", "list", flag, ""]).fails_with(2, &[&rule]);
    }
    let ran = service.run(&["emails", "list", "--to", "carol"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "no matching emails\n"));
}

#[test]
fn a_filter_searches_a_limited_number_of_pages_and_says_so() {
    let service = with_emails(2_001);
    service.run(&["emails", "list", "--subject", "none", "--since", "2999-01-01"]).ok();
    assert_eq!(queries(&service, "/emails").len(), 1, "older emails can't match");
    let ran = service.run(&["emails", "list", "--subject", "none"]);
    assert_eq!(queries(&service, "/emails").len(), 21);
    assert!(ran.stderr.starts_with("only 2000 items were searched; to search all: --all"), "{ran:?}");
    let found = service.run(&["emails", "list", "--subject", "none", "--json"]).says(&["only 2000"]);
    assert_eq!(found.json()["has_more"], true);
    let ran = service.run(&["emails", "list", "--subject", "0", "--all", "--jq", ".data[-1].subject"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("0\n", ""));
}
