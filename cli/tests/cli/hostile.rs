//! Untrusted text can't control a terminal, and secrets stay hidden: a malicious service, and a search through the output of
//! every command.

use idempost_conformance::peer::Act;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::service::ScriptedPeer;
use crate::support::{Idempost, Ran, concurrently};

/// Title, clipboard, cursor, C1, bidirectional, line separator, tag: one of each kind.
const EVIL: &str = "a\u{1b}]0;owned\u{7}\u{1b}]52;c;YQ==\u{7}\u{1b}[2J\u{9b}31m\u{202e}b\u{2028}\u{e0041}\r";

/// A service that always returns this response, and the program at a terminal.
fn service(status: u16, body: &Value) -> (Idempost, ScriptedPeer) {
    let service = ScriptedPeer::new([Act::json(status, &body.to_string())]);
    (Idempost::at(service.base_url(), "sb_x").env("IDEMPOST_FORCE_TTY", "100").env("NO_COLOR", "1"), service)
}

#[track_caller]
fn is_harmless(ran: &Ran) {
    // Tabs separate the cells of a list.
    let bad = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202e}' | '\u{2028}' | '\u{e0041}')
    };
    assert!(!ran.stdout.contains(bad) && !ran.stderr.contains(bad), "{ran:?}");
}

#[test]
fn an_error_message_cannot_control_the_terminal_and_its_json_is_lossless() {
    // G-01, G-02, G-06
    let error = json!({ "statusCode": 422, "name": EVIL, "message": EVIL });
    for form in ["human", "json", "ndjson"] {
        let (idempost, _service) = service(422, &error);
        let ran = idempost.run(&("emails list --retries 0 -vvv -o", [form])).exits(3);
        is_harmless(&ran);
        if form == "human" {
            ran.says(&["\\u{1b}]52;c;YQ=="]);
        } else {
            assert_eq!(ran.last_error()["api"]["message"], EVIL.trim());
        }
    }
}

#[test]
fn an_invalid_command_line_cannot_control_the_terminal() {
    // G-01, G-02
    let idempost = Idempost::new().env("IDEMPOST_FORCE_TTY", "100").env("NO_COLOR", "1");
    for arguments in [
        &["emails", EVIL][..],
        &["emails", "list", EVIL],
        &["--json", "emails", "list", EVIL],
        &["config", "get", EVIL],
        &["--profile", EVIL, "config", "list"],
        &["help", EVIL],
        &["config", "list", "--columns", EVIL],
    ] {
        let ran = idempost.run(arguments).exits(2);
        is_harmless(&ran);
        ran.says(&["0;owned"]);
    }
}

#[test]
fn a_curl_command_cannot_control_the_terminal_and_sends_the_same_text() {
    let service = crate::service::Service::start();
    let text = "one\u{9b}31m two\u{202e} three\n";
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hello --text";
    for columns in ["", "100"] {
        let idempost = service.idempost().env("IDEMPOST_FORCE_TTY", columns);
        let ran = idempost.run(&(&send, &[text, "--dry-run=curl"])).prints(&["\\u009b31m two\\u202e three"]);
        is_harmless(&ran);
    }
}

#[test]
fn exported_contacts_cannot_control_the_terminal() {
    // G-01
    let contact = json!({ "object": "contact", "id": "e169aa45-1ecf-4183-9955-b1499d5701d3", "email": EVIL, "first_name": EVIL,
        "last_name": null, "created_at": "2026-03-01T12:00:00Z", "unsubscribed": false, "properties": {} });
    let list = json!({ "object": "list", "data": [contact], "has_more": false });
    let (idempost, _service) = service(200, &list);
    is_harmless(&idempost.run("contacts export --no-properties").prints(&["52;c;YQ=="]));
}

#[test]
fn the_secret_of_an_unreadable_response_cannot_control_the_terminal() {
    // G-01
    let (idempost, _service) = service(201, &json!({ "token": EVIL }));
    is_harmless(&idempost.run("api-keys create --name CI").exits(9).prints(&["52;c;YQ=="]));
}

#[test]
fn a_key_of_a_megabyte_is_shortened_in_the_error() {
    let text = json!({ "x".repeat(1_000_000): 1 }).to_string();
    concurrently(["human", "json"], |form| {
        let ran = Idempost::new().run_with(&["emails", "send", "--input", "-", "-o", form], &text).exits(2);
        assert!(ran.stderr.len() < 20_000, "{} bytes", ran.stderr.len());
    });
}

#[test]
fn a_failing_filter_does_not_quote_a_new_secret() {
    let key = json!({ "id": "dacf4072-4119-4d88-932f-6202748ac7c8", "token": "sb_sentinel" });
    let (idempost, _service) = service(201, &key);
    idempost.run("api POST /api-keys --jq '.token|keys'").exits(1).hides(&["sentinel"]);
}

#[test]
fn a_list_cannot_control_the_terminal_and_its_json_is_lossless() {
    // G-01, G-05
    let email = json!({ "id": EVIL, "to": [EVIL], "from": EVIL, "subject": EVIL, "created_at": EVIL, "last_event": EVIL,
        "message_id": EVIL, "bcc": null, "cc": null, "reply_to": null, "scheduled_at": null });
    let list = json!({ "object": "list", "data": [email], "has_more": false });
    let (idempost, _service) = service(200, &list);
    for form in ["human", "tsv", "json", "ndjson"] {
        let ran = idempost.run(&["emails", "list", "-o", form]);
        is_harmless(&ran);
        let shown = ran.ok();
        match form {
            "json" => assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), list),
            "ndjson" => assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), email),
            _ => assert!(shown.contains("\\u{1b}]0;owned"), "{shown:?}"),
        }
    }
    is_harmless(&idempost.run("emails list --jq .data[0].subject"));
}

#[test]
fn a_pipe_gets_the_bytes_unchanged() {
    // G-05
    let list =
        json!({ "object": "list", "data": [{ "id": "x", "subject": "\u{9b}\u{202e}é" }], "has_more": false });
    let (idempost, _service) = service(200, &list);
    let printed = idempost.env("IDEMPOST_FORCE_TTY", "").run("api GET /emails --jq .data[0].subject").ok();
    assert_eq!(printed, "\u{9b}\u{202e}é\n");
}

#[test]
fn no_command_prints_the_key() {
    // G-08
    const KEY: &str = "sb_sentinel_5f1c9e";
    let sandbox = Sandbox::start(&["-vvv"]);
    let own = Idempost::new();
    let file = own.write("key", KEY);
    let commands = [
        "emails send --from a@acme.test --to b@example.com --subject s --text t",
        "emails send --from a@acme.test --to b@example.com --subject s --text t --dry-run",
        "emails send --from a@acme.test --to b@example.com --subject s --text t --to nonsense",
        "emails list",
        "emails get nobody",
        "logs list",
        "api GET /emails",
        "api GET /nowhere",
        "config list --origin",
        "config set api_key sb_sentinel_5f1c9e",
        "doctor",
        "sandbox inbox list",
        "--base-url http://127.0.0.1:9 --retries 0 emails list",
        "--base-url https://api.example.com sandbox reset",
    ];
    concurrently(commands, |command| {
        for more in ["", "-vvv", "--json -vvv"] {
            let idempost = Idempost::new().env("IDEMPOST_BASE_URL", &sandbox.base_url);
            let by_file = idempost.run(&((command, more), ["--api-key-file", &file]));
            let by_env = idempost.env("IDEMPOST_API_KEY", KEY).run(&(command, more));
            // A misplaced key is shown only to the user who typed it there.
            if !command.contains(KEY) {
                by_file.hides(&["sentinel"]);
                by_env.hides(&["sentinel"]);
            }
        }
    });
}
