//! The output streams: full disks, closed pipes, terminals, and JSON for programs.

use std::process::Stdio;

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::json;

use crate::support::{Idempost, SEND, closed_pipe, exit_code, full_disk, has};

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    // F-07
    for line in
        ["help input", "--help", "--version", "emails send --help", "completions bash", "config list --json"]
    {
        Idempost::new().run_to(full_disk(), line).exits(1).says(&["couldn't write to standard output"]);
    }
}

#[test]
fn a_closed_pipe_ends_the_program_silently() {
    // F-07
    let ran = Idempost::new().run_to(closed_pipe(), "help input").exits(0);
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_invalid_command_line_is_a_json_object_if_json_is_requested() {
    // G-06
    let idempost = Idempost::new();
    for arguments in ["--json emials", "config --json=x --nonsense", "-o ndjson config get"] {
        let error = idempost.run(arguments).error(2);
        has(&error, &json!({"kind": "usage", "outcome": "not_sent"}));
    }
    let error = idempost.run(&["config", "lsit", "--json"]).error(2);
    assert!(error["hint"].as_str().unwrap().contains("`list` or"), "{error}");
}

#[test]
fn an_invalid_filter_is_reported_before_anything_is_changed() {
    let idempost = Idempost::new();
    idempost.run("config set retries 5 --jq .data[.subject").fails_with(2, &[" --> --jq:1:15\n"]);
    assert!(!idempost.config_file().exists());
}

#[test]
fn a_filter_prints_strings_raw_and_other_values_as_json() {
    let idempost = Idempost::new();
    let filter = r#".settings[] | select(.name == "retries") | .value, {source}"#;
    assert_eq!(idempost.run(&["config", "list", "--jq", filter]).ok(), "3\n{\"source\":\"built-in\"}\n");
    idempost.run(&["config", "list", "--jq", ".settings | keys | .x"]).exits(1);
}

#[test]
fn json_is_compact_in_a_pipe_and_indented_at_a_terminal() {
    let compact = Idempost::new().run(&["config", "path", "--json"]).ok();
    assert!(compact.starts_with("{\"path\":\""), "{compact}");
    let idempost = Idempost::new().env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1");
    assert!(idempost.run(&["config", "path", "--json"]).ok().starts_with("{\n  \"path\": \""));
}

#[test]
fn selected_fields_are_printed_and_unknown_ones_are_warned_about() {
    let ran = Idempost::new().run(&["config", "path", "--json=path,pth"]).says(&["unknown field `pth`"]);
    assert_eq!(ran.document().as_object().unwrap().len(), 1);
}

#[test]
fn a_result_without_any_of_the_selected_fields_is_an_error() {
    let service = crate::service::Service::start();
    service.run(&SEND).ok();
    let error = service.run(&["emails", "list", "--json=subjct"]).error(1);
    assert_eq!(error["hint"], "did you mean `subject`?", "{error}");
    assert!(
        error["message"].as_str().unwrap().starts_with("unknown field `subjct`; the fields are: id, "),
        "{error}"
    );
    // The change took effect and is reported.
    let error = service.run(&(SEND, "--json=foo")).error(1);
    has(&error, &json!({"outcome": "accepted", "ids": [service.mails()[0].email_id]}));
    assert_eq!(service.mails().len(), 2);
    // An item of a list can lack an optional field.
    let items = json!([{ "id": "1" }, { "id": "2", "subject": "Hello" }]);
    let list = json!({ "object": "list", "has_more": false, "data": items }).to_string();
    let rule = || Rule::new(Action::http_response(200, list.clone())).on_request(Method::GET, "/emails");
    for (format, printed) in [
        ("ndjson", "{}\n{\"subject\":\"Hello\"}\n"),
        ("json", "{\"object\":\"list\",\"has_more\":false,\"data\":[{},{\"subject\":\"Hello\"}]}\n"),
    ] {
        service.faults().add(rule());
        assert_eq!(service.run(&["emails", "list", "-o", format, "--json=subject"]).ok(), printed);
        service.faults().add(rule());
        service.run(&["emails", "list", "-o", format, "--json=foo"]).fails(1);
    }
    // Nothing shows which fields an empty list has.
    service.run(&["segments", "list", "--json=foo"]).ok();
}

#[test]
fn a_terminal_gets_a_table_and_a_pipe_gets_tabs() {
    let idempost = Idempost::new();
    idempost.run(&["config", "list", "--columns", "value,name"]).ok_with(&["human\toutput\n"]);

    let eyes = Idempost::new().env("IDEMPOST_FORCE_TTY", "40").env("NO_COLOR", "1");
    let table = eyes.run(&["config", "list", "--origin"]).ok();
    assert!(table.starts_with("NAME ") && table.lines().count() > 1, "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 40), "{table}");
    assert_eq!(eyes.run("config list -o tsv").ok(), idempost.run("config list -o tsv").ok());
}

#[test]
fn output_is_colored_only_at_a_terminal() {
    // G-07
    let has_escapes = |ran: crate::support::Ran| (ran.stdout + ran.stderr.as_str()).contains('\u{1b}');
    let bad = ["config", "get", "zebra"];
    assert!(!has_escapes(Idempost::new().run(&bad)));
    assert!(!has_escapes(Idempost::new().env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1").run(&bad)));
    assert!(!has_escapes(Idempost::new().env("IDEMPOST_FORCE_TTY", "80").env("TERM", "dumb").run(&bad)));
    assert!(has_escapes(Idempost::new().env("IDEMPOST_FORCE_TTY", "80").run(&bad)));
    assert!(has_escapes(Idempost::new().run(&["--color", "always", "config", "get", "zebra"])));
}

#[test]
fn standard_input_is_read_only_if_named() {
    let mut child = Idempost::new().command().args(["config", "list"]).stdin(Stdio::piped()).spawn().unwrap();
    // The pipe stays open: a program that reads it would block forever.
    let held = child.stdin.take();
    assert_eq!(exit_code(&mut child), Some(0));
    drop(held);
}
