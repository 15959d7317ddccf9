//! `suppressions`.

use idempost_reference_server::faults::{Action, Rule};
use serde_json::json;

use crate::service::Service;
use crate::support::Idempost;

/// The addresses on the list, newest first.
fn listed(service: &Service) -> Vec<String> {
    let list = service.run(&["suppressions", "list", "--all", "--json"]).json();
    list["data"].as_array().unwrap().iter().map(|entry| entry["email"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_address_is_added_shown_and_removed() {
    let service = Service::start();
    let id = service.done(&["suppressions", "add", "ada@example.com"]);
    assert_eq!(service.done(&["suppressions", "add", "ADA@example.com"]), id);
    let shown = service.done(&["suppressions", "get", "ada@example.com"]);
    assert!(shown.contains("manual") && shown.contains(&id), "{shown}");
    assert_eq!(service.done(&["suppressions", "ls", "--columns", "email,origin"]), "ada@example.com\tmanual");
    assert_eq!(service.done(&["suppressions", "rm", &id]), id);
    for command in [["suppressions", "get", "ada@example.com"], ["suppressions", "remove", "ada@example.com"]]
    {
        service.run(&command).fails(5);
    }
}

#[test]
fn several_addresses_are_one_request() {
    let service = Service::start();
    let ids = service.done(&["suppressions", "add", "a@x.test", "b@x.test", "c@x.test"]);
    assert_eq!(ids.lines().count(), 3);
    let ran = service.run(&["suppressions", "remove", "b@x.test", "unknown@x.test"]);
    assert_eq!(ran.stdout.trim(), ids.lines().nth(1).unwrap());
    assert!(ran.code == Some(10) && ran.stderr.contains("1 of 2 entries weren't on the list"), "{ran:?}");
    service.run(&["suppressions", "remove", "b@x.test", "unknown@x.test"]).exits(5);
    let ids: Vec<_> = ids.lines().collect();
    // A repeated entry counts once.
    let removed = service.done(&["suppressions", "remove", ids[0], ids[2], ids[0]]);
    assert_eq!(removed.lines().collect::<Vec<_>>(), [ids[0], ids[2]]);
    assert_eq!(
        service.bodies(),
        [
            json!({ "emails": ["a@x.test", "b@x.test", "c@x.test"] }),
            json!({ "emails": ["b@x.test", "unknown@x.test"] }),
            json!({ "emails": ["b@x.test", "unknown@x.test"] }),
            json!({ "ids": [ids[0], ids[2]] }),
        ]
    );
}

#[test]
fn after_a_lost_response_the_number_of_removed_entries_is_unknown() {
    let service = Service::start();
    let ids = service.done("suppressions add a@x.test b@x.test");
    for (fault, removed, code, message) in [
        (
            Action::DropAfter,
            "a@x.test b@x.test",
            9,
            "2 of 2 entries aren't on the list; a request without a response may have removed them",
        ),
        (Action::TooMany { retry_after: None }, "a@x.test b@x.test", 5, "2 of 2 entries weren't on the list"),
    ] {
        service.faults().add_once(fault);
        service.run(&("suppressions remove", removed)).fails_with(code, &[message]);
    }
    assert_eq!((ids.lines().count(), listed(&service).len()), (2, 0));
}

#[test]
fn more_than_a_hundred_addresses_are_imported_instead() {
    let service = Service::start();
    let many: Vec<_> = (0..101).map(|n| format!("u{n}@x.test")).collect();
    let many: Vec<_> = ["suppressions", "add"].into_iter().chain(many.iter().map(String::as_str)).collect();
    service.run(&many).fails_with(2, &["suppressions import"]);
    let shown = service.run(&["suppressions", "add", "a@x.test", "b@x.test", "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["body"], json!({ "emails": ["a@x.test", "b@x.test"] }), "{shown}");
    assert_eq!(service.asked(), 0);
}

#[test]
fn check_answers_by_its_exit_code() {
    let service = Service::start();
    let check = "suppressions check ada@example.com";
    let check_as_json = "suppressions check ada@example.com --json";
    assert_eq!(service.run(check).ok(), "ada@example.com  not suppressed\n");
    let document = service.run(check_as_json).json();
    let expected = json!({ "object": "suppression_check", "email": "ada@example.com", "suppressed": false, "suppression": null });
    assert_eq!(document, expected);
    let id = service.done(&["suppressions", "add", "Ada@Example.com"]);
    let ran = service.run(check).exits(3).says(&["idempost suppressions remove ada@example.com"]);
    assert!(ran.stdout.starts_with("ada@example.com  suppressed  manual  "), "{ran:?}");
    assert_eq!(service.run(check_as_json).exits(3).document()["suppression"]["id"], json!(id));
    // A service that can't be reached doesn't respond.
    Idempost::at("http://127.0.0.1:9", "sb_x").run(&(check, "--retries 0")).fails(7);
}

#[test]
fn a_502_with_a_client_errors_name_says_nothing_about_an_address() {
    // B-14
    let service = Service::start();
    service.done(&["suppressions", "add", "ada@example.com"]);
    service.faults().add(Rule::new(Action::error(502, "not_found", "no route")).always());
    service.run(&["suppressions", "check", "ada@example.com", "--retries", "0"]).fails(7);
}

#[test]
fn a_list_is_exported_and_imported_in_every_format() {
    let service = Service::start();
    let emails: Vec<_> = (0..205).map(|n| format!("user{n}@example.com")).collect();
    let lines = emails.join("\n");
    let idempost = service.idempost();
    let imported = idempost.run_with(&["suppressions", "import", "-"], &lines).ok();
    assert_eq!(imported, "205 addresses are on the suppression list\n");
    let batches: Vec<_> =
        service.bodies().iter().map(|body| body["emails"].as_array().unwrap().len()).collect();
    assert_eq!(batches, [100, 100, 5]);
    let expected: Vec<_> = emails.iter().rev().cloned().collect();
    assert_eq!(listed(&service), expected);
    for format in ["csv", "ndjson"] {
        let exported = idempost.run(&["suppressions", "export", "--format", format]).ok();
        let copy = Service::start();
        copy.run_with(&["suppressions", "import", "-"], &exported).ok();
        assert_eq!(listed(&copy).len(), 205, "{format}");
    }
    let csv = idempost.run(&["suppressions", "export"]).ok();
    assert!(csv.starts_with("email,origin,created_at,source_id,id\nuser204@example.com,manual,"), "{csv}");
    assert_eq!(
        idempost.run(&["suppressions", "export", "--origin", "bounce"]).ok(),
        "email,origin,created_at,source_id,id\n"
    );
    let output = idempost.run("suppressions export --output-file list.csv").ok();
    assert_eq!(output, "205 addresses written to list.csv\n");
    assert_eq!(idempost.read("list.csv"), csv);
}

#[test]
fn an_import_reports_every_problem_with_its_line_and_sends_nothing() {
    let service = Service::start();
    let rows = (0..150).map(|n| format!("{n},user{n}@example.com\n"));
    let mut text = format!("id,email\n{}", rows.collect::<String>());
    text.push_str("x,nobody\ny,Ada <ada@example.com>\n");
    let ran = service.run_with(&["suppressions", "import", "-"], &text);
    ran.fails_with(2, &["2 problems", "standard input:152:1", "153 | y,Ada", "nobody"]);
    let ran = service.run_with("suppressions import -", "{\"email\":\"a@x.test\"}\n{\"email\":1}\n");
    ran.fails_with(2, &["standard input:2:", "must be a string"]);
    let ran = service.run_with("suppressions import -", "email,note\na@x.test,\"spam\nb@x.test,\n");
    ran.fails_with(2, &["standard input:2:1", "a quote in this row is never closed"]);
    for empty in ["", "\n"] {
        service.run_with("suppressions import -", empty).fails_with(2, &["standard input is empty"]);
    }
    service.run(&["suppressions", "import", "missing.csv"]).fails_with(2, &["missing.csv"]);
    let ran = Idempost::new().run_with(&["suppressions", "import", "-", "--dry-run"], "a@x.test\n");
    ran.exits(0).says(&["nothing sent"]);
    assert_eq!(service.asked(), 0);
}
