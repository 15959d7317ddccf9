//! Untrusted text can't control a terminal, and secrets stay hidden: a malicious service, and a search through the output of
//! every command.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::{Idempost, Ran, concurrently};

/// Title, clipboard, cursor, C1, bidirectional, line separator, tag: one of each kind.
const EVIL: &str = "a\u{1b}]0;owned\u{7}\u{1b}]52;c;YQ==\u{7}\u{1b}[2J\u{9b}31m\u{202e}b\u{2028}\u{e0041}\r";

/// Responds to every request with the same response, on one connection after another.
fn service(status: u16, headers: &'static str, body: &Value) -> (Idempost, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let body = body.to_string();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = BufReader::new(stream.try_clone().unwrap());
        let mut length = 0;
        loop {
            let mut line = String::new();
            request.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        request.read_exact(&mut vec![0; length]).unwrap();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
    });
    let idempost = Idempost::new()
        .env("IDEMPOST_BASE_URL", base_url)
        .env("IDEMPOST_API_KEY", "sb_x")
        .env("IDEMPOST_FORCE_TTY", "100")
        .env("NO_COLOR", "1");
    (idempost, thread)
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
fn an_error_message_cannot_control_the_terminal() {
    // G-01, G-02
    let error = json!({ "statusCode": 422, "name": EVIL, "message": EVIL });
    let (idempost, thread) = service(422, "", &error);
    let ran = idempost.run(&["emails", "list", "--retries", "0", "-vvv"]);
    thread.join().unwrap();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("\\u{1b}]52;c;YQ=="), "{ran:?}");
    is_harmless(&ran);
}

#[test]
fn json_on_standard_error_cannot_control_the_terminal_and_is_lossless() {
    // G-06
    let error = json!({ "statusCode": 422, "name": EVIL, "message": EVIL });
    for form in ["json", "ndjson"] {
        let (idempost, thread) = service(422, "", &error);
        let ran = idempost.run(&["emails", "list", "--retries", "0", "-vvv", "-o", form]);
        thread.join().unwrap();
        is_harmless(&ran);
        let last: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
        assert_eq!(last["error"]["api"]["message"], EVIL.trim());
    }
}

#[test]
fn an_invalid_command_line_cannot_control_the_terminal() {
    // G-01
    for arguments in [&["emails", EVIL][..], &["emails", "list", EVIL], &["--json", "emails", "list", EVIL]] {
        let ran = Idempost::new().env("IDEMPOST_FORCE_TTY", "100").run(arguments);
        assert_eq!(ran.code, Some(2));
        is_harmless(&Ran { stderr: ran.stderr.replace("\u{1b}[", ""), ..ran });
    }
}

#[test]
fn a_curl_command_cannot_control_the_terminal_and_sends_the_same_text() {
    let service = crate::service::Service::start();
    let text = "one\u{9b}31m two\u{202e} three\n";
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hello --text";
    for columns in ["", "100"] {
        let idempost = service.idempost().env("IDEMPOST_FORCE_TTY", columns);
        let ran = idempost.run(&(&send, &[text, "--dry-run=curl"]));
        assert!(ran.stdout.contains("\\u009b31m two\\u202e three"), "{ran:?}");
        is_harmless(&ran);
    }
}

#[test]
fn exported_contacts_cannot_control_the_terminal() {
    // G-01
    let contact = json!({ "object": "contact", "id": "e169aa45-1ecf-4183-9955-b1499d5701d3", "email": EVIL, "first_name": EVIL,
        "last_name": null, "created_at": "2026-03-01T12:00:00Z", "unsubscribed": false, "properties": {} });
    let list = json!({ "object": "list", "data": [contact], "has_more": false });
    let (idempost, thread) = service(200, "", &list);
    let ran = idempost.run(&["contacts", "export", "--no-properties"]);
    thread.join().unwrap();
    assert!(ran.stdout.contains("52;c;YQ=="), "{ran:?}");
    is_harmless(&ran);
}

#[test]
fn a_key_of_a_megabyte_is_shortened_in_the_error() {
    let text = json!({ "x".repeat(1_000_000): 1 }).to_string();
    concurrently(["human", "json"], |form| {
        let ran = Idempost::new().run_with(&["emails", "send", "--input", "-", "-o", form], &text);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.len() < 20_000, "{} bytes", ran.stderr.len());
    });
}

#[test]
fn a_failing_filter_does_not_quote_a_new_secret() {
    let (idempost, thread) =
        service(201, "", &json!({ "id": "dacf4072-4119-4d88-932f-6202748ac7c8", "token": "sb_sentinel" }));
    let ran = idempost.run(&["api", "POST", "/api-keys", "--jq", ".token|keys"]);
    thread.join().unwrap();
    assert_eq!(ran.code, Some(1));
    assert!(!ran.stderr.contains("sentinel"), "{ran:?}");
}

#[test]
fn a_list_cannot_control_the_terminal_and_its_json_is_lossless() {
    // G-01, G-05
    let email = json!({ "id": EVIL, "to": [EVIL], "from": EVIL, "subject": EVIL, "created_at": EVIL, "last_event": EVIL,
        "message_id": EVIL, "bcc": null, "cc": null, "reply_to": null, "scheduled_at": null });
    let list = json!({ "object": "list", "data": [email], "has_more": false });
    for form in ["human", "tsv", "json", "ndjson"] {
        let (idempost, thread) = service(200, "", &list);
        let ran = idempost.run(&["emails", "list", "-o", form]);
        thread.join().unwrap();
        is_harmless(&ran);
        let shown = ran.ok();
        match form {
            "json" => assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), list),
            "ndjson" => assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), email),
            _ => assert!(shown.contains("\\u{1b}]0;owned"), "{shown:?}"),
        }
    }
    let (idempost, thread) = service(200, "", &list);
    let ran = idempost.run(&["emails", "list", "--jq", ".data[0].subject"]);
    thread.join().unwrap();
    is_harmless(&ran);
}

#[test]
fn a_pipe_gets_the_bytes_unchanged() {
    // G-05
    let list =
        json!({ "object": "list", "data": [{ "id": "x", "subject": "\u{9b}\u{202e}é" }], "has_more": false });
    let (idempost, thread) = service(200, "", &list);
    let ran = idempost.env("IDEMPOST_FORCE_TTY", "").run("api GET /emails --jq .data[0].subject");
    thread.join().unwrap();
    assert_eq!(ran.ok(), "\u{9b}\u{202e}é\n");
}

#[test]
fn a_redirect_is_not_followed_and_the_key_is_not_sent_elsewhere() {
    // B-15
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let location = format!("location: http://{}/emails\r\n", elsewhere.local_addr().unwrap());
    let (idempost, thread) = service(307, Box::leak(location.into_boxed_str()), &json!({}));
    let ran = idempost.run(&["emails", "list", "--retries", "0"]);
    thread.join().unwrap();
    assert!(ran.fails(4).contains("redirects aren't followed"));
    assert!(elsewhere.accept().is_err(), "the redirect was not followed");
}

#[test]
fn no_command_prints_the_key() {
    // G-08
    const KEY: &str = "sb_sentinel_5f1c9e";
    let sandbox = Sandbox::start(&["-vvv"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, KEY).unwrap();
    let file = file.to_str().unwrap();
    let send =
        ["emails", "send", "--from", "a@acme.test", "--to", "b@example.com", "--subject", "s", "--text", "t"];
    let commands: &[&[&str]] = &[
        &send,
        &[&send[..], &["--dry-run"]].concat(),
        &[&send[..], &["--to", "nonsense"]].concat(),
        &["emails", "list"],
        &["emails", "get", "nobody"],
        &["logs", "list"],
        &["api", "GET", "/emails"],
        &["api", "GET", "/nowhere"],
        &["config", "list", "--origin"],
        &["config", "set", "api_key", KEY],
        &["doctor"],
        &["sandbox", "inbox", "list"],
        &["--base-url", "http://127.0.0.1:9", "--retries", "0", "emails", "list"],
        &["--base-url", "https://api.example.com", "sandbox", "reset"],
    ];
    concurrently(commands, |command| {
        for more in [&[][..], &["-vvv"], &["--json", "-vvv"]] {
            let idempost = Idempost::new().env("IDEMPOST_BASE_URL", &sandbox.base_url);
            let arguments = [command, more, &["--api-key-file", file]].concat();
            let by_file = idempost.run(&arguments);
            let by_env = idempost.env("IDEMPOST_API_KEY", KEY).run(&arguments[..arguments.len() - 2]);
            for ran in [by_file, by_env] {
                // A misplaced key is shown only to the user who typed it there.
                let stderr = ran.stdout.clone() + ran.stderr.as_str();
                assert!(!stderr.contains("sentinel") || command.contains(&KEY), "{arguments:?} {ran:?}");
            }
        }
    });
}
