//! `--input` of the commands that create or change something.

use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{CommandLine, Idempost, has};

/// The body that the command would send.
fn body(idempost: &Idempost, line: &(impl CommandLine + ?Sized), input: &str) -> Value {
    idempost.run_with(&(line, "--input - --dry-run"), input).json()["dry_run"]["body"].clone()
}

/// The problems of a command line as `path code`.
fn problems(idempost: &Idempost, line: &(impl CommandLine + ?Sized), input: &str) -> Vec<String> {
    let error = idempost.run_with(&(line, "--input - --json"), input).error(2);
    let problems = error["problems"].as_array().unwrap_or_else(|| panic!("{error}"));
    let text = |problem: &Value, field: &str| problem[field].as_str().unwrap_or_default().to_owned();
    problems.iter().map(|problem| format!("{} {}", text(problem, "path"), text(problem, "code"))).collect()
}

#[test]
fn a_file_has_the_fields_of_a_request_and_flags_override_them() {
    let (service, idempost) = Service::with_program();
    let topic = json!({ "name": "News", "default_subscription": "opt_in", "visibility": "public" });
    idempost.write("topic.json", topic.to_string());
    let id = idempost.run("topics create --input topic.json").ok();
    idempost.run("topics create Other --visibility private --input topic.json").ok();
    let expected = json!({ "name": "Other", "default_subscription": "opt_in", "visibility": "private" });
    assert_eq!(service.bodies(), [topic, expected]);
    idempost.write("patch.json", r#"{"name": "Weekly", "description": "x"}"#);
    idempost.run(&("topics update --clear description --input patch.json", [id.trim()])).ok();
    assert_eq!(service.bodies()[2], json!({ "name": "Weekly", "description": null }));
}

#[test]
fn standard_input_has_the_body_as_the_service_reads_it() {
    let idempost = Idempost::new();
    let contact = json!({
        "email": "ada@example.com", "properties": { "orders": 3 }, "segments": [{ "id": "s" }],
        "topics": [{ "id": "t", "subscription": "opt_out" }],
    });
    assert_eq!(body(&idempost, &["contacts", "create"], &contact.to_string()), contact);
    let flags = ["contacts", "create", "--segment-id", "x", "--first-name", "Ada"];
    let changed = body(&idempost, &flags, &contact.to_string());
    has(&changed, &json!({"segments": [{ "id": "x" }], "first_name": "Ada"}));
    let domain =
        json!({ "name": "acme.test", "capabilities": { "sending": "enabled", "receiving": "enabled" } });
    let changed = body(&idempost, &["domains", "create", "--sending", "disabled"], &domain.to_string());
    assert_eq!(changed["capabilities"], json!({ "sending": "disabled", "receiving": "enabled" }));
    for (command, input) in [
        ("segments create", json!({ "name": "Readers" })),
        ("api-keys create", json!({ "name": "CI", "permission": "sending_access", "domain_id": "d" })),
        (
            "templates create",
            json!({ "name": "Welcome", "html": "x", "variables": [{ "key": "A", "type": "number", "fallback_value": 7 }] }),
        ),
        ("webhooks update w", json!({ "events": ["email.sent"] })),
        ("events create", json!({ "name": "user.created", "schema": { "plan": "string" } })),
        ("properties create", json!({ "key": "city", "type": "string", "fallback_value": "x" })),
        ("inboxes create", json!({ "email_address": "support@acme.test" })),
        (
            "broadcasts create",
            json!({ "segment_id": "s", "from": "a@b.test", "subject": "x", "html": "y", "reply_to": ["c@d.test"] }),
        ),
        ("inboxes update-draft i d", json!({ "to": null, "thread_id": null, "attachments": null })),
    ] {
        assert_eq!(body(&idempost, command, &input.to_string()), input, "{command:?}");
    }
}

#[test]
fn a_flag_for_one_entry_keeps_the_other_entries_of_a_file() {
    let idempost = Idempost::new();
    let contact = json!({ "email": "ada@example.com", "properties": { "city": "Paris", "orders": 1 } });
    let sent = body(&idempost, "contacts create --property-json orders=2", &contact.to_string());
    assert_eq!(sent["properties"], json!({ "city": "Paris", "orders": 2 }));
    let sent =
        body(&idempost, &["contacts", "create", "--properties", r#"{"orders": 2}"#], &contact.to_string());
    assert_eq!(sent["properties"], json!({ "orders": 2 }), "a whole object replaces that of the file");
    let cleared = "contacts update ada@example.com --property-json orders=2 --clear-property city";
    let patch = json!({ "properties": { "plan": "pro", "city": "Paris" } });
    let sent = body(&idempost, cleared, &patch.to_string());
    assert_eq!(sent["properties"], json!({ "plan": "pro", "city": null, "orders": 2 }));
    let event =
        json!({ "event": "signed_up", "email": "ada@example.com", "payload": { "plan": "pro", "seats": 1 } });
    let sent = body(&idempost, "events send --payload-json seats=2", &event.to_string());
    assert_eq!(sent["payload"], json!({ "plan": "pro", "seats": 2 }));
    let event = json!({ "name": "signed_up", "schema": { "plan": "string", "seats": "string" } });
    for (command, flags) in
        [("events create", "--field seats=number"), ("events update signed_up", "--field seats=number")]
    {
        let mut event = event.clone();
        if command.contains("update") {
            event.as_object_mut().unwrap().remove("name");
        }
        let sent = body(&idempost, &(command, flags), &event.to_string());
        assert_eq!(sent["schema"], json!({ "plan": "string", "seats": "number" }));
    }
}

#[test]
fn a_file_can_name_the_event_to_send() {
    let (service, idempost) = Service::with_program();
    let event = json!({ "event": "signed_up", "email": "ada@example.com" });
    idempost.write("event.json", event.to_string());
    assert_eq!(idempost.run("events send --input event.json").ok(), "signed_up\n");
    assert_eq!(idempost.run("events send other --input event.json").ok(), "other\n");
    assert_eq!(service.bodies(), [event, json!({ "event": "other", "email": "ada@example.com" })]);
    idempost.run("events send --email ada@example.com").fails_with(2, &["missing: EVENT"]);
}

#[test]
fn a_flag_that_contradicts_a_file_is_shown_itself() {
    let input = r#"{"key": "city", "type": "string", "fallback_value": "x"}"#;
    let shown = Idempost::new().run_with("properties create --fallback-number 3 --input -", input);
    shown.fails_with(2, &["--> --fallback-number:1:1", "`fallback_value` must be a string"]);
}

#[test]
fn all_problems_of_a_file_and_the_flags_beside_it_are_reported_at_once() {
    let idempost = Idempost::new();
    let input = "{\n  \"name\": 7,\n  \"visibility\": \"secret\",\n  \"default\": \"opt_in\"\n}";
    let create = ["topics", "create", "--description", &"x".repeat(201)];
    let found = problems(&idempost, &create, input);
    for expected in ["/name type", "/visibility type", "/default unknown", "/description length"] {
        assert!(found.iter().any(|problem| problem == expected), "{expected}: {found:?}");
    }
    let expected = [
        "7",
        "\"secret\"",
        "the request has no field `default`",
        "did you mean `default_subscription`?",
        "missing: --default-subscription",
        "4:3",
    ];
    let shown = idempost.run_with(&(&create, "--input -"), input).fails_with(2, &expected);
    let saved_on_windows = input.replace('\n', "\r\n");
    assert_eq!(idempost.run_with(&(&create, "--input -"), &saved_on_windows).fails(2), shown);
    let contact = json!({ "email": "ada@example.com", "segments": [{ "id": 1 }], "topics": [1, { "id": "t", "x": 1 }] });
    let expected =
        ["/segments/0/id type", "/topics/0 type", "/topics/1/subscription required", "/topics/1/x unknown"];
    assert_eq!(problems(&idempost, &["contacts", "create"], &contact.to_string()), expected);
}

#[test]
fn what_is_not_a_json_object_is_rejected_without_further_problems() {
    let idempost = Idempost::new();
    for (input, rule) in [
        ("[]", "expected a JSON object"),
        ("{\"name\": }", "not JSON"),
        ("", "not JSON"),
        ("{\"name\": \"a\", \"name\": \"b\", \"default_subscription\": \"opt_in\"}", "this key is repeated"),
    ] {
        idempost.run_with("topics create --input -", input).hides(&["missing"]).fails_with(2, &[rule]);
    }
    idempost.run("topics create --input none.json").hides(&["missing"]).fails_with(2, &["none.json"]);
    let twice = idempost.run_with("inboxes reply i t e --input - --text-file -", "{}");
    twice.fails_with(2, &["only once"]);
}

#[test]
fn a_file_that_changes_nothing_is_reported() {
    Idempost::new().run_with("topics update t --input -", "{}").fails_with(2, &["a field to change"]);
}

#[test]
fn attachments_of_a_file_are_sent_unless_flags_replace_them() {
    let (_service, idempost) = Service::with_program();
    let draft = json!({ "text": "x", "attachments": [{ "filename": "a.txt", "content": "YWI=" }] });
    let create = "inboxes create-draft i";
    let shown = body(&idempost, create, &draft.to_string());
    has(&shown["attachments"][0], &json!({"filename": "a.txt", "content": {"bytes": 2}}));
    let shown = body(&idempost, &(create, "--attach-url https://acme.test/b.pdf"), &draft.to_string());
    assert_eq!(shown["attachments"], json!([{ "path": "https://acme.test/b.pdf" }]));
    let wrong = json!({ "text": "x", "attachments": [{ "content": "?" }, {}] });
    let expected = ["/attachments/0/content base64", "/attachments/1 required"];
    assert_eq!(problems(&idempost, create, &wrong.to_string()), expected);
}

#[test]
fn an_invalid_value_is_explained_without_the_words_of_a_library() {
    let idempost = Idempost::new();
    idempost.write("mail.json", "{\"subject\": \"a\nb\"}");
    idempost.write("junk.pem", "junk");
    idempost.write("people.jsonl", "{\"to\": tru}\n{\"to\"\n");
    let host = "--allow-host must be a host name without a port or wildcard";
    let row = "expected `true`, `false` or `null` at column 11";
    for (line, expected) in [
        ("sandbox serve --port x", "--port must be a whole number"),
        ("sandbox serve --port 99999", "--port must be in the range 0 to 65535"),
        ("sandbox serve --host nope", "--host must be an IP address"),
        ("sandbox serve --compat x", "--compat must be one of spec, live"),
        ("sandbox serve --public-url nope", "--public-url must be an absolute URL"),
        ("sandbox serve --allow-host mail:8025", "--allow-host must be a host name without a port"),
        ("sandbox serve --allow-host '*.internal'", host),
        ("sandbox serve --allow-host .", host),
        ("sandbox serve --smtp nope", "--smtp must be smtp://HOST:PORT"),
        ("sandbox serve --max-memory x", "--max-memory must be a size of at least 16MiB"),
        ("mcp --http x", "--http must be a whole number"),
        ("mcp --only x", "--only must name groups of tools"),
        ("--sandbox emails send --input mail.json", "must not contain line breaks"),
        ("--sandbox bulk plan people.jsonl --from=hi@acme.test --subject=Hi --text=Hi", row),
    ] {
        let words = ["invalid digit", "relative URL", "ident", "not in 0..", "EOF", "invalid value"];
        let ran = idempost.run(line).exits(2).says(&[expected]);
        assert!(!words.iter().any(|word| ran.stderr.contains(word)), "{ran:?}");
    }
    let ran = idempost.run("sandbox serve --port 0 --smtp-port 0 --smtp-cert junk.pem --smtp-key junk.pem");
    ran.says(&["there is no private key in PEM format"]);
}
