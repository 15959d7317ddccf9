//! `emails send`: from the command line to the delivered email.

use idempost_reference_server::faults::{Action, Rule};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{CommandLine as _, Finish as _, Idempost, SEND, has};

#[test]
fn only_the_id_is_printed_on_standard_output() {
    // EMAIL-01, EMAIL-64, EMAIL-65
    let service = Service::start();
    let ran = service.run(&SEND);
    assert!(
        ran.stderr.starts_with("accepted for 1 recipient · view it: idempost sandbox inbox latest"),
        "{ran:?}"
    );
    let id = ran.ok();
    assert_eq!((id.len(), id.lines().count()), (37, 1), "{id:?}");
    let mails = service.mails();
    assert_eq!((mails.len(), mails[0].email_id.as_str()), (1, id.trim_end()));
    let document = service.run(&(SEND, "--json")).json();
    assert_eq!(document.as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
}

#[test]
fn a_name_with_a_comma_is_quoted_in_the_dry_run_and_the_send() {
    // EMAIL-05
    let service = Service::start();
    let mut email = SEND.to_vec();
    (email[3], email[5]) = ("Acme, Inc <hi@acme.test>", "Lovelace, Ada <ada@example.com>");
    let (from, to) = ("\"Acme, Inc\" <hi@acme.test>", "\"Lovelace, Ada\" <ada@example.com>");
    service.run(&(&email, "--dry-run")).ok_with(&[&json!(from).to_string(), &json!(to).to_string()]);
    service.run(&email).ok();
    let mail = &service.mails()[0];
    assert_eq!((mail.from.as_str(), mail.to.as_slice()), (from, &[to.to_owned()][..]));
}

#[test]
fn the_attachments_of_a_sent_email_are_shown() {
    // SENT-11
    let (_service, idempost) = Service::with_program();
    idempost.write("notes.txt", "notes");
    let id = idempost.run(&(SEND, "--attach notes.txt")).ok();
    let record = idempost.run(&["emails", "get", id.trim_end(), "--json"]).json();
    let file = &record["attachments"][0];
    has(file, &json!({"filename": "notes.txt", "size": 5}));
    idempost.run(&["emails", "get", id.trim_end()]).ok_with(&["attachments  [", "notes.txt"]);
}

#[test]
fn the_note_about_a_scheduled_email_leads_to_its_record() {
    let service = Service::start();
    let ran = service.run(&(SEND, "--scheduled-at 'in 1 hour'"));
    assert!(ran.stderr.starts_with("scheduled for 1 recipient · view it: idempost emails get "), "{ran:?}");
    ran.ok();
}

#[test]
fn every_flag_sets_its_field() {
    // EMAIL-07, EMAIL-08, EMAIL-12, EMAIL-13, EMAIL-16, EMAIL-17, EMAIL-20, EMAIL-22, EMAIL-28, EMAIL-31, EMAIL-33, EMAIL-34, GEN-16
    let service = Service::start();
    // Not validated: the test uses an unknown topic.
    service.faults().add(Rule::new(Action::http_response(200, "{\"id\":\"1\"}")).always());
    let idempost = service.idempost();
    idempost.write("body.html", "<p>Hi</p>");
    idempost.write("a;b.txt", "abc");
    let send = r#"emails send --from 'Acme <hi@acme.test>' --to '"Doe, J" <j@example.com>' --to b@example.com
        --cc c@example.com --bcc d@example.com --reply-to e@example.com --subject '' --text '' --html-file body.html
        --header 'X-Order: 17' --tag kind=invoice --topic-id t1 --scheduled-at 'in 1 min'
        --attach a;b.txt;name=x.txt;type=text/plain;cid=c1 --attach-url https://example.com/r.pdf;name=r.pdf
        --idempotency-key order-17"#;
    idempost.run(send).ok();
    let request = &service.requests()[0];
    assert_eq!(request.headers["idempotency-key"], "order-17");
    assert_eq!(
        service.bodies(),
        [json!({
            "from": "Acme <hi@acme.test>", "to": ["\"Doe, J\" <j@example.com>", "b@example.com"], "cc": ["c@example.com"],
            "bcc": ["d@example.com"], "reply_to": ["e@example.com"], "subject": "", "text": "", "html": "<p>Hi</p>",
            "headers": {"X-Order": "17"}, "tags": [{"name": "kind", "value": "invoice"}], "topic_id": "t1",
            "scheduled_at": "in 1 min",
            "attachments": [
                {"filename": "x.txt", "content_type": "text/plain", "content_id": "c1", "content": "YWJj"},
                {"filename": "r.pdf", "path": "https://example.com/r.pdf"},
            ],
        })]
    );
}

#[test]
fn a_variable_is_text_unless_given_as_json() {
    // EMAIL-46, EMAIL-60, A-15
    let (service, idempost) = Service::with_program();
    idempost.write("name", "Ada");
    let shown = idempost
        .run(
            "emails send --template welcome --to ada@example.com --var N=007 --var NAME=@name --var \
             AT=@@x --var-json APPLES=17 --dry-run",
        )
        .json();
    let variables = json!({"N": "007", "NAME": "Ada", "AT": "@x", "APPLES": 17});
    let expected = json!({"to": ["ada@example.com"], "template": {"id": "welcome", "variables": variables}});
    assert_eq!(shown["dry_run"]["body"], expected);
    assert_eq!(service.asked(), 0);
}

#[test]
fn flags_override_the_document() {
    let service = Service::start();
    let document = json!({
        "from": "a@acme.test", "to": ["x@example.com"], "subject": "s", "text": "t", "headers": {"X-A": "1", "X-B": "2"},
        "tags": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
    });
    let flags = "emails send --input - --to y@example.com --tag b=3 --tag c=4 --header 'X-B: 5'";
    service.run_with(&flags, &document.to_string()).ok();
    let mut expected = document;
    expected["to"] = json!(["y@example.com"]);
    expected["tags"] =
        json!([{"name": "a", "value": "1"}, {"name": "b", "value": "3"}, {"name": "c", "value": "4"}]);
    expected["headers"]["X-B"] = json!("5");
    assert_eq!(service.bodies(), [expected]);
}

#[test]
fn json_errors_name_the_flag_and_its_occurrence() {
    let error = Idempost::new().run(&(SEND, "--to x --tag 'a=é' --json")).error(2);
    assert_eq!(
        error["problems"],
        json!([
            {"path": "/to/1", "origin": {"flag": "--to", "n": 2}, "code": "address", "message": "an address must have exactly one `@`", "found": "x"},
            {"path": "/tags/0/value", "origin": {"flag": "--tag", "n": 1}, "code": "charset",
             "message": "a tag value must contain only ASCII letters, digits, `_` and `-`", "found": "é"},
        ])
    );
    has(&error, &json!({"kind": "usage", "outcome": "not_sent"}));
}

#[test]
fn a_place_in_the_document_has_a_line_and_column() {
    // A-50
    let idempost = Idempost::new();
    let text = "\u{feff}{\n  \"from\": \"hi@acme.test\",\n  \"to\": [\"a@example.com\", 7],\n  \"subjct\": \"x\", \"text\": \"t\",\n  \"subject\": \"s\"\n}";
    idempost.write("mail.json", text);
    let error = idempost.run(&["emails", "send", "--input", "mail.json", "--json"]).error(2);
    let at = |i: usize| (error["problems"][i]["path"].clone(), error["problems"][i]["origin"].clone());
    assert_eq!(at(0), (json!("/to/1"), json!({"file": "mail.json", "line": 3, "column": 27})));
    assert_eq!(at(1), (json!("/subjct"), json!({"file": "mail.json", "line": 4, "column": 3})));
    assert_eq!(error["problems"][1]["hint"], "did you mean `subject`?");
    let error = idempost.run_with(&["emails", "send", "--input", "-", "--json"], "{\"to\": }").error(2);
    assert_eq!(error["problems"][0]["origin"], json!({"stdin": "-", "line": 1, "column": 8}));
}

#[test]
fn every_kind_of_invalid_input_is_refused_and_nothing_is_sent() {
    // EMAIL-09, EMAIL-30, EMAIL-39, EMAIL-40, EMAIL-50, EMAIL-57, A-01, A-03, A-05, A-10, A-13, A-23, A-51
    let (service, idempost) = Service::with_program();
    let long_tag = format!("--tag {}=x", "n".repeat(257));
    let long_key = format!("--idempotency-key {}", "k".repeat(257));
    let too_many = (0..50).map(|i| format!("--to u{i}@example.com")).collect::<Vec<_>>().join(" ");
    std::fs::File::create(idempost.home().join("big")).unwrap().set_len(31_457_281).unwrap();
    let wrong: &[(&str, &str)] = &[
        (&too_many, "/to/50: `to` must have at most 50 addresses"),
        ("--to ''", "/to/1: an address must not be empty"),
        (
            "--to 'a@x.test, b@x.test'",
            "help: repeat the flag for each address: a comma can be part of a name",
        ),
        ("--cc 'a@x.test\r\nBcc: victim@x.test'", "/cc/0: an address must not contain control characters"),
        ("--header 'X A: b'", "a header name must be visible ASCII"),
        ("--header X-A", "--header must be `NAME: VALUE`"),
        ("--header 'X-A: a\nBcc: x'", "/headers/X-A: a header value must not contain control characters"),
        ("--header 'X-A: a' --header 'x-a: b'", "`x-a` is repeated"),
        ("--tag a=1 --tag A=1 --tag a=2", "`a` is repeated"),
        ("--template t --var N=1 --var-json N=2", "`N` is repeated"),
        ("--tag x", "--tag must be NAME=VALUE"),
        ("--tag a=", "/tags/0/value: a tag value must not be empty"),
        (&long_tag, "/tags/0/name: a tag name must have at most 256 characters"),
        ("--template t", "/text: `text` and `template` are mutually exclusive"),
        (
            "--template t --var FIRST_NAME=x",
            "/template/variables/FIRST_NAME: the variable key `FIRST_NAME` is reserved",
        ),
        ("--template t --var-json N=9007199254740992", "a number variable"),
        ("--template t --var-json N=true", "a variable must be a string or a number"),
        ("--template t --var-json N=x", "help: for text, use --var N=…"),
        ("--text-file x.txt", "--text and --text-file can't be used together"),
        ("--html-file x.html", "couldn't read x.html"),
        ("--idempotency-key ''", "an idempotency key must not be empty"),
        (&long_key, "an idempotency key must have at most 256 characters"),
        ("--idempotency-key ' k'", "an idempotency key must contain only visible ASCII"),
        ("--attach nowhere.pdf", "couldn't attach the file: No such file"),
        ("--attach https://example.com/r.pdf", "help: to attach the file at a URL: --attach-url URL"),
        ("--attach .", "couldn't attach the file: not a regular file"),
        ("--attach /dev/null", "couldn't attach the file: not a regular file"),
        ("--attach -", "an attachment from standard input needs a file name"),
        ("--attach big", "/attachments: `attachments` must have at most 40 MB in total after Base64"),
        ("--attach 'big;cid=a b'", "/attachments/0/content_id"),
        ("--attach-url file:///etc/passwd", "/attachments/0/path"),
        ("--scheduled-at ''", "/scheduled_at: `scheduled_at` must not be empty"),
        ("--wait=opened", "--wait must be `delivered`"),
        ("--wait --wait-timeout 0s", "--wait-timeout"),
        ("--dry-run=wget", "--dry-run must be json or curl"),
        ("--timeout 0", "--timeout"),
        ("--retries -1", "--retries"),
        ("--base-url http://api.example.com", "--base-url"),
    ];
    for (flags, expected) in wrong {
        idempost.run(&(SEND, flags)).fails_with(2, &[expected]);
    }
    assert_eq!(service.asked(), 0);
}

#[test]
fn a_document_that_is_not_an_email_is_refused() {
    // A-30, A-50, A-20
    let idempost = Idempost::new();
    let deep = "[".repeat(100_000);
    for (text, expected) in [
        ("", "not JSON"),
        ("[]", "expected a JSON object"),
        (deep.as_str(), "nested too deeply"),
        ("{\"to\": \"a@x.test\", \"to\": \"b@x.test\"}", "/to: this key is repeated"),
        ("{\"attachments\": [{\"content\": \"Y*==\"}]}", "/attachments/0/content: `content` must be Base64"),
        ("{\"attachments\": [{}]}", "/attachments/0: `content` or `path` is required"),
        ("{\"react\": 1}", "/react: an email has no field `react`"),
    ] {
        let stderr = idempost.run_with(&["emails", "send", "--input", "-"], text).fails_with(2, &[expected]);
        let read = text.starts_with('{');
        assert!(read || !stderr.contains("missing:"), "missing fields are unknown: {stderr}");
    }
    let twice = idempost.run_with("emails send --input - --api-key-file -", "sb_x");
    twice.fails_with(2, &["standard input can be read only once, and --api-key-file already reads it"]);
    std::fs::File::create(idempost.home().join("huge.json")).unwrap().set_len(2 << 30).unwrap();
    idempost.run(&["emails", "send", "--input", "huge.json"]).fails_with(2, &["larger than 64 MiB"]);
    idempost.write("latin1.json", b"{\"subject\": \"\xe9\"}");
    let ran = idempost.run(&["emails", "send", "--input", "latin1.json"]);
    ran.fails_with(2, &["not UTF-8 text: invalid byte 13 (line 1)"]);
}

#[test]
fn a_document_with_ten_thousand_problems_is_reported_quickly() {
    let idempost = Idempost::new();
    let start = std::time::Instant::now();
    let mut email = json!({"from": "a@x.test", "to": ["b@x.test"], "subject": "s", "text": "t"});
    for i in 0..10_000 {
        email[format!("k{i}")] = json!(1);
    }
    let sent = |text: &Value, command: &[&str]| idempost.run_with(command, &text.to_string());
    let error = sent(&email, &["emails", "send", "--input", "-", "--json"]).error(2);
    assert_eq!(error["problems"].as_array().unwrap().len(), 1_000);
    let expected = (&json!(9_000), &json!("unknown"));
    assert_eq!((&error["problems_omitted"], &error["problems"][999]["code"]), expected);
    sent(&email, &["emails", "send", "--input", "-"]).fails_with(
        2,
        &["10000 problems; nothing was sent", "and 9980 more problems; for the first 1,000: --json"],
    );
    let batch = json!(vec![json!({"from": "a@x.test", "to": "nobody", "subject": "s", "text": "t"}); 5_000]);
    let error = sent(&batch, &["emails", "batch", "-", "--json"]).error(2);
    assert_eq!(
        (&error["problems"][0]["path"], &error["problems_omitted"]),
        (&json!("/0/to/0"), &json!(4_001))
    );
    // With quadratic complexity, these took minutes.
    assert!(start.elapsed() < 2 * crate::support::TIMEOUT, "{:?}", start.elapsed());
}

#[test]
fn a_dry_run_shows_the_request_without_a_service() {
    let idempost = Idempost::new();
    idempost.write("a.txt", "abc");
    let shown = idempost.run(&(SEND, "--idempotency-key k --attach a.txt -n")).json();
    let shown = &shown["dry_run"];
    has(shown, &json!({"method": "POST", "path": "/emails", "headers": {"idempotency-key": "k"}}));
    assert_eq!(shown["headers"]["authorization"], "Bearer [redacted]");
    assert_eq!(
        shown["body"]["attachments"],
        json!([{"filename": "a.txt", "content": {
            "bytes": 3, "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}])
    );
    let secret = idempost.env("IDEMPOST_API_KEY", "sb_sentinel");
    for form in ["--dry-run", "--dry-run=curl"] {
        let ran = secret.run(&(SEND, &[form]));
        assert!(!format!("{ran:?}").contains("sentinel"), "{ran:?}");
    }
}

#[test]
fn the_curl_command_sends_the_same_request() {
    let (service, idempost) = Service::with_program();
    let ran = idempost.run(&(SEND, &["--subject", "it's", "--idempotency-key", "k", "--dry-run=curl"]));
    ran.fails_with(2, &["can't be used multiple times"]);
    let text = "it's \"5\" $HOME\n`x`";
    let command = idempost.run(&((&SEND[..9], [text]), "--idempotency-key k --dry-run=curl")).ok();
    // The shell must parse the words as intended, independent of the real `curl`.
    let script = format!("curl() {{ for word; do printf '%s\\0' \"$word\"; done; }}\n{command}");
    let mut shell = idempost.wrapped("sh");
    let words = shell.arg("-c").arg(script).env("IDEMPOST_API_KEY", "sb_x").finish().stdout;
    let words: Vec<_> = words.split('\0').map(str::to_owned).collect();
    let body = &words[words.iter().position(|word| word == "--data-binary").unwrap() + 1];
    assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["text"], text);
    assert!(words.contains(&format!("{}/emails", service.base_url())), "{words:?}");
    assert!(words.contains(&"Authorization: Bearer sb_x".to_owned()), "{words:?}");
}

#[test]
fn the_curl_command_sends_the_attachments() {
    let idempost = Idempost::new();
    idempost.write("it's.bin", "abc");
    let flags = "--attach \"it's.bin\" --attach '-;name=b.txt' --dry-run=curl";
    let command = idempost.run_with(&(SEND, flags), "def").ok();
    let script = format!("curl() {{ cat; }}\n{command}");
    let body: serde_json::Value = serde_json::from_str(&idempost.shell(&script).ok()).unwrap();
    let expected =
        json!([{"filename": "it's.bin", "content": "YWJj"}, {"filename": "b.txt", "content": "ZGVm"}]);
    assert_eq!(body["attachments"], expected);
}

#[test]
fn standard_input_can_be_attached_as_documented() {
    let service = Service::start();
    service.run_with(&(SEND, "--attach '-;name=report.csv'"), "a,b").ok();
    assert_eq!(service.bodies()[0]["attachments"], json!([{"filename": "report.csv", "content": "YSxi"}]));
    service.run(&(SEND, "--attach --to")).fails_with(2, &["--attach needs a file path"]);
}

#[test]
fn the_profile_supplies_the_sender_except_for_a_template() {
    let idempost =
        Idempost::new().config("default_profile = \"p\"\n[profiles.p]\nfrom = \"Acme <hi@acme.test>\"\n");
    let body = |flags: &[&str]| idempost.run(flags).json()["dry_run"]["body"].clone();
    let shown = body(&["emails", "send", "--to", "a@x.test", "--subject", "s", "--text", "t", "-n"]);
    assert_eq!(shown["from"], "Acme <hi@acme.test>");
    let shown = body(&["emails", "send", "--to", "a@x.test", "--template", "t", "-n"]);
    assert_eq!(shown.get("from"), None);
}

#[test]
fn unknown_fields_can_be_sent_with_no_validate() {
    let service = Service::start().unjudged();
    let idempost = service.idempost();
    idempost.write("a.txt", "abc");
    let document =
        json!({"from": "a@acme.test", "to": "b@example.com", "subject": "s", "text": "t", "new_field": 1});
    let flags = ["emails", "send", "--input", "-", "--no-validate", "--attach", "a.txt"];
    idempost.run_with(&flags, &document.to_string()).ok();
    let mut expected = document;
    expected["attachments"] = json!([{"filename": "a.txt", "content": "YWJj"}]);
    assert_eq!(service.bodies(), [expected]);
    assert!(service.requests()[0].headers.contains_key("idempotency-key"));
}

#[test]
fn a_large_attachment_logs_its_upload_progress() {
    let (_service, idempost) = Service::with_program();
    idempost.write("a.bin", vec![0; 3_000_000]);
    idempost.run(&(SEND, "--attach a.bin --progress plain")).says(&["upload: "]).ok();
}

#[test]
fn a_pipe_is_the_text_if_nothing_else_gives_a_body() {
    let service = Service::start();
    let piped = service.run_with(&SEND[..8], "Hello from a pipe\n").ok();
    let text = |id: &str| service.run(&["emails", "get", id.trim(), "--jq", ".text"]).ok();
    assert_eq!(text(&piped), "Hello from a pipe\n\n");
    assert_eq!(text(&service.run_with(&(SEND, "--cc bob@example.com"), "ignored").ok()), "It works\n");
    let document = r#"{"html": "<p>Hi</p>"}"#;
    let id = service.run_with(&(&SEND[..8], "--input -"), document).ok();
    assert_eq!(service.run(&["emails", "get", id.trim(), "--jq", ".html"]).ok(), "<p>Hi</p>\n");
    for attach in ["--attach '-;name=a.txt'", "--api-key-file -"] {
        let ran = service.run_with(&(&SEND[..8], attach), "sb_test");
        ran.fails_with(2, &["missing: --text, --html or --template"]);
    }
}

#[test]
fn an_empty_pipe_is_an_error_and_an_absent_one_is_not_read() {
    let idempost = Idempost::new();
    for empty in ["", "\n"] {
        let error = idempost.run_with(&(&SEND[..8], "--json"), empty).error(2);
        assert_eq!(error["problems"].as_array().unwrap().len(), 1, "{error}");
        let message = error["problems"][0]["message"].as_str().unwrap();
        assert!(message.starts_with("standard input is empty") && message.contains("--text"), "{error}");
    }
    // Standard input is /dev/null.
    idempost.run(&SEND[..8]).fails_with(2, &["missing: --text, --html or --template"]);
}

#[test]
fn a_redirected_file_is_the_text_and_a_closed_input_is_none() {
    let idempost = Idempost::new();
    let dry_run = format!(
        "{} {} --dry-run --jq .dry_run.body.text",
        env!("CARGO_BIN_EXE_idempost"),
        SEND[..8].join(" ")
    );
    let shown = idempost.shell(&format!("echo Hello > note; {dry_run} < note")).ok();
    assert_eq!(shown, "Hello\n\n");
    idempost.shell(&format!("{dry_run} <&-")).fails_with(2, &["missing: --text, --html or --template"]);
}

#[test]
fn a_dash_as_a_body_reads_standard_input() {
    let idempost = Idempost::new();
    let broadcast = "broadcasts create --segment-id s --subject x --from hi@acme.test";
    for command in [SEND[..8].words(), broadcast.words()] {
        let line = (&command, "--text - --dry-run --jq .dry_run.body.text");
        assert_eq!(idempost.run_with(&line, "Hello").ok(), "Hello\n", "{command:?}");
    }
    let twice = (&SEND[..8], "--text - --html -");
    idempost.run_with(&twice, "Hello").fails_with(2, &["--text already reads it"]);
}

mod edit {
    //! `--edit`, with scripts as editors.

    use rustix::process::Signal;

    use super::*;
    use crate::support::{exit_code, signal, wait_until};

    /// The program with an editor that runs this script; the file is `$1`.
    fn with_editor(service: &Service, script: &str) -> Idempost {
        let idempost = service.idempost();
        idempost.write("editor", script);
        let (editor, temporary) = (idempost.home().join("editor"), idempost.home().join("tmp"));
        std::fs::create_dir(&temporary).unwrap();
        let temporary = temporary.to_str().unwrap().to_owned();
        idempost.env("EDITOR", format!("sh {}", editor.display())).env("TMPDIR", temporary)
    }

    fn left(idempost: &Idempost) -> usize {
        std::fs::read_dir(idempost.home().join("tmp")).unwrap().count()
    }

    #[test]
    fn the_body_is_written_in_the_editor_and_the_file_is_removed() {
        let service = Service::start();
        let idempost =
            with_editor(&service, "stat -c %a \"$1\" > mode; cat \"$1\" > draft; echo Edited >> \"$1\"");
        for (flags, field, draft, expected) in [
            ("", "text", "", "Edited\n"),
            ("--text 'Hello\n'", "text", "Hello\n", "Hello\nEdited\n"),
            ("--html '<p>Hi</p>\n'", "html", "<p>Hi</p>\n", "<p>Hi</p>\nEdited\n"),
        ] {
            let id = idempost.run(&((&SEND[..8], flags), "--edit")).ok();
            let sent = idempost.run(&["emails", "get", id.trim(), "--json"]).json();
            assert_eq!(sent[field], expected);
            let read = |name: &str| std::fs::read_to_string(idempost.home().join(name)).unwrap();
            assert_eq!((read("mode").as_str(), read("draft").as_str(), left(&idempost)), ("600\n", draft, 0));
        }
    }

    #[test]
    fn an_empty_or_unchanged_message_or_a_failed_editor_sends_nothing() {
        let service = Service::start();
        for (script, flags, rule) in [
            ("true", "", "the message is empty; nothing was sent"),
            ("echo > \"$1\"", "--text Hello", "the message is empty"),
            ("echo Hello > \"$1\"", "--text Hello", "the message wasn't changed; nothing was sent"),
            ("echo x > \"$1\"; exit 3", "", "failed (exit status: 3)"),
        ] {
            let idempost = with_editor(&service, script);
            idempost.run(&((&SEND[..8], flags), "--edit")).fails_with(1, &[rule]);
            assert_eq!(left(&idempost), 0);
        }
        // Other problems are reported before the editor starts.
        let idempost = with_editor(&service, "touch started; echo Hi > \"$1\"");
        idempost.run(&["emails", "send", "--edit", "--from", "hi@acme.test"]).fails(2);
        for flags in ["--template welcome", "--no-input"] {
            idempost.run(&((&SEND[..8], flags), "--edit")).fails_with(2, &["--edit can't be used"]);
        }
        assert!(!idempost.home().join("started").exists());
        assert_eq!(service.asked(), 0);
    }

    #[test]
    fn an_interrupt_belongs_to_the_editor_and_a_termination_removes_the_file() {
        let service = Service::start();
        let script =
            "touch started; while test -e \"$0\" && ! test -e go; do sleep 0.01; done; echo Edited > \"$1\"";
        for (which, code) in [(Signal::INT, 0), (Signal::TERM, 143)] {
            let idempost = with_editor(&service, script);
            let mut child = idempost.command().args(&SEND[..8]).arg("--edit").spawn().unwrap();
            wait_until("the editor runs", || idempost.home().join("started").exists());
            signal(&child, which);
            if which == Signal::INT {
                idempost.write("go", "");
            }
            assert_eq!(exit_code(&mut child), Some(code));
            assert_eq!(left(&idempost), 0);
            idempost.write("go", "");
        }
        assert_eq!(service.asked(), 1);
    }
}
