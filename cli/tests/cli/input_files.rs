//! `--input` of the commands that create or change something.

use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{Idempost, has};

/// The body that the command would send.
fn body(idempost: &Idempost, arguments: &[&str], input: &str) -> Value {
    let arguments = [arguments, &["--input", "-", "--dry-run"]].concat();
    idempost.run_with(&arguments, input).json()["dry_run"]["body"].clone()
}

/// The problems of a command line as `path code`.
fn problems(idempost: &Idempost, arguments: &[&str], input: &str) -> Vec<String> {
    let arguments = [arguments, &["--input", "-", "--json"]].concat();
    let error = idempost.run_with(&arguments, input).error(2);
    let problems = error["problems"].as_array().unwrap_or_else(|| panic!("{error}"));
    let text = |problem: &Value, field: &str| problem[field].as_str().unwrap_or_default().to_owned();
    problems.iter().map(|problem| format!("{} {}", text(problem, "path"), text(problem, "code"))).collect()
}

#[test]
fn a_file_has_the_fields_of_a_request_and_flags_override_them() {
    let service = Service::start();
    let idempost = service.idempost();
    let file = idempost.home().join("topic.json");
    let topic = json!({ "name": "News", "default_subscription": "opt_in", "visibility": "public" });
    std::fs::write(&file, topic.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let id = idempost.run(&["topics", "create", "--input", file]).ok();
    idempost.run(&["topics", "create", "Other", "--visibility", "private", "--input", file]).ok();
    let expected = json!({ "name": "Other", "default_subscription": "opt_in", "visibility": "private" });
    assert_eq!(service.bodies(), [topic, expected]);
    let patch = idempost.home().join("patch.json");
    std::fs::write(&patch, json!({ "name": "Weekly", "description": "x" }).to_string()).unwrap();
    let update =
        ["topics", "update", id.trim(), "--clear", "description", "--input", patch.to_str().unwrap()];
    idempost.run(&update).ok();
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
        (&["segments", "create"][..], json!({ "name": "Readers" })),
        (&["api-keys", "create"], json!({ "name": "CI", "permission": "sending_access", "domain_id": "d" })),
        (
            &["templates", "create"],
            json!({ "name": "Welcome", "html": "x", "variables": [{ "key": "A", "type": "number", "fallback_value": 7 }] }),
        ),
        (&["webhooks", "update", "w"], json!({ "events": ["email.sent"] })),
        (&["events", "create"], json!({ "name": "user.created", "schema": { "plan": "string" } })),
        (&["properties", "create"], json!({ "key": "city", "type": "string", "fallback_value": "x" })),
        (&["inboxes", "create"], json!({ "email_address": "support@acme.test" })),
        (
            &["broadcasts", "create"],
            json!({ "segment_id": "s", "from": "a@b.test", "subject": "x", "html": "y", "reply_to": ["c@d.test"] }),
        ),
        (
            &["inboxes", "update-draft", "i", "d"],
            json!({ "to": null, "thread_id": null, "attachments": null }),
        ),
    ] {
        assert_eq!(body(&idempost, command, &input.to_string()), input, "{command:?}");
    }
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
    idempost.run_with(&(&create, "--input -"), input).fails_with(
        2,
        &[
            "7",
            "\"secret\"",
            "the request has no field `default`",
            "did you mean `default_subscription`?",
            "missing: --default-subscription",
            "4:3",
        ],
    );
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
        let shown = idempost.run_with(&["topics", "create", "--input", "-"], input).fails(2);
        assert!(shown.contains(rule) && !shown.contains("missing"), "{input}: {shown}");
    }
    let shown = idempost.run(&["topics", "create", "--input", "none.json"]).fails(2);
    assert!(shown.contains("none.json") && !shown.contains("missing"), "{shown}");
    let twice = ["inboxes", "reply", "i", "t", "e", "--input", "-", "--text-file", "-"];
    idempost.run_with(&twice, "{}").fails_with(2, &["only once"]);
}

#[test]
fn a_file_that_changes_nothing_is_reported() {
    Idempost::new().run_with("topics update t --input -", "{}").fails_with(2, &["a field to change"]);
}

#[test]
fn attachments_of_a_file_are_sent_unless_flags_replace_them() {
    let service = Service::start();
    let idempost = service.idempost();
    let draft = json!({ "text": "x", "attachments": [{ "filename": "a.txt", "content": "YWI=" }] });
    let create = ["inboxes", "create-draft", "i"];
    let shown = body(&idempost, &create, &draft.to_string());
    has(&shown["attachments"][0], &json!({"filename": "a.txt", "content": {"bytes": 2}}));
    let replaced = [&create[..], &["--attach-url", "https://acme.test/b.pdf"]].concat();
    let shown = body(&idempost, &replaced, &draft.to_string());
    assert_eq!(shown["attachments"], json!([{ "path": "https://acme.test/b.pdf" }]));
    let wrong = json!({ "text": "x", "attachments": [{ "content": "?" }, {}] });
    let expected = ["/attachments/0/content base64", "/attachments/1 required"];
    assert_eq!(problems(&idempost, &create, &wrong.to_string()), expected);
}

#[test]
fn an_invalid_value_is_explained_without_the_words_of_a_library() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (json, junk) = (path("mail.json", "{\"subject\": \"a\nb\"}"), path("junk.pem", "junk"));
    let lines = path("people.jsonl", "{\"to\": tru}\n{\"to\"\n");
    let idempost = Idempost::new();
    for (arguments, expected) in [
        (&["sandbox", "serve", "--port", "x"][..], "--port must be a whole number"),
        (&["sandbox", "serve", "--port", "99999"], "--port must be in the range 0 to 65535"),
        (&["sandbox", "serve", "--host", "nope"], "--host must be an IP address"),
        (&["sandbox", "serve", "--compat", "x"], "--compat must be one of spec, live"),
        (&["sandbox", "serve", "--public-url", "nope"], "--public-url must be an absolute URL"),
        (
            &["sandbox", "serve", "--allow-host", "mail:8025"],
            "--allow-host must be a host name without a port",
        ),
        (
            &["sandbox", "serve", "--allow-host", "*.internal"],
            "--allow-host must be a host name without a port or wildcard",
        ),
        (
            &["sandbox", "serve", "--allow-host", "."],
            "--allow-host must be a host name without a port or wildcard",
        ),
        (&["sandbox", "serve", "--smtp", "nope"], "--smtp must be smtp://HOST:PORT"),
        (&["sandbox", "serve", "--max-memory", "x"], "--max-memory must be a size of at least 16MiB"),
        (&["mcp", "--http", "x"], "--http must be a whole number"),
        (&["mcp", "--only", "x"], "--only must name groups of tools"),
        (&["--sandbox", "emails", "send", "--input", &json], "must not contain line breaks"),
        (
            &["--sandbox", "bulk", "plan", &lines, "--from=hi@acme.test", "--subject=Hi", "--text=Hi"],
            "expected `true`, `false` or `null` at column 11",
        ),
    ] {
        let ran = idempost.run(arguments);
        let error = &ran.stderr;
        assert!(ran.code == Some(2) && error.contains(expected), "{arguments:?}: {ran:?}");
        for words in ["invalid digit", "relative URL", "ident", "not in 0..", "EOF", "invalid value"] {
            assert!(!error.contains(words), "{arguments:?}: {error}");
        }
    }
    let serve = ["sandbox", "serve", "--port", "0", "--smtp-port", "0"];
    let ran = idempost.run(&(&serve, &["--smtp-cert", &junk, "--smtp-key", &junk]));
    ran.says(&["there is no private key in PEM format"]);
}
