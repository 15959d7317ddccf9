//! Flags with several values, whole JSON objects, all event types, and following the log.

use serde_json::{Value, json};

use crate::service::Service;
use crate::support::Posthaste;

fn body(arguments: &[&str]) -> Value {
    Posthaste::new().run(&[arguments, &["-n"]].concat()).json()["dry_run"]["body"].clone()
}

#[test]
fn several_addresses_may_follow_one_flag() {
    let send = ["emails", "send", "--from", "hi@acme.test", "--subject", "s", "--text", "t"];
    let to = [
        "--to", "a@x.test", "b@x.test", "--cc", "c@x.test", "d@x.test", "--bcc", "e@x.test", "--bcc",
        "f@x.test",
    ];
    let body = body(&[&send[..], &to].concat());
    assert_eq!(body["to"], json!(["a@x.test", "b@x.test"]));
    assert_eq!(
        (&body["cc"], &body["bcc"]),
        (&json!(["c@x.test", "d@x.test"]), &json!(["e@x.test", "f@x.test"]))
    );
    let stderr = Posthaste::new().run(&[&send[..], &["--to", "a@x.test", "b@@x.test"]].concat()).fails(2);
    assert!(stderr.contains("--to (2nd)"), "{stderr}");
}

#[test]
fn a_json_object_sets_all_properties_a_payload_or_a_schema() {
    let properties = r#"{"city": "London", "orders": 3}"#;
    for command in
        [&["contacts", "create", "ada@example.com"][..], &["contacts", "update", "ada@example.com"]]
    {
        let body = body(&[command, &["--properties", properties, "--property", "plan=pro"]].concat());
        assert_eq!(body["properties"], json!({"plan": "pro", "city": "London", "orders": 3}));
    }
    let send = ["events", "send", "user.created", "--email", "ada@example.com"];
    let body_of =
        body(&[&send[..], &["--payload", r#"{"plan": "pro", "seats": 5}"#, "--payload", "a=b"]].concat());
    assert_eq!(body_of["payload"], json!({"plan": "pro", "seats": 5, "a": "b"}));
    let create = ["events", "create", "user.created", "--schema", r#"{"plan": "string", "seats": "number"}"#];
    assert_eq!(body(&create)["schema"], json!({"plan": "string", "seats": "number"}));
    for (arguments, part) in [
        (
            &["contacts", "create", "a@x.test", "--properties", "[1]"][..],
            "--properties must be a JSON object",
        ),
        (&["contacts", "create", "a@x.test", "--properties", r#"{"a": [1]}"#], "JSON string or number"),
        (
            &["contacts", "create", "a@x.test", "--properties", r#"{"a":1}"#, "--property", "a=1"],
            "is repeated",
        ),
        (&["events", "send", "e", "--email", "a@x.test", "--payload", "{"], "--payload"),
        (&["events", "create", "e", "--schema", r#"{"a":1,"a":2}"#], "is repeated"),
        (&["events", "create", "e", "--schema", "{}", "--field", "a=string"], "can't be used together"),
    ] {
        let stderr = Posthaste::new().run(arguments).fails(2);
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

#[test]
fn all_selects_every_event_type_except_beta() {
    let events = body(&["webhooks", "create", "--endpoint", "https://acme.test/hook", "--events", "all"]);
    let all = events["events"].as_array().unwrap();
    assert!(all.len() > 20 && all.contains(&json!("email.bounced")) && !all.contains(&json!("all")));
    assert!(!all.contains(&json!("inbox.created")), "most accounts can't subscribe to private beta types");
    let beta = body(&["webhooks", "update", "w", "--event", "inbox.created"]);
    assert_eq!(beta["events"], json!(["inbox.created"]));
    assert_eq!(&body(&["webhooks", "update", "w", "--event", "all"])["events"], &events["events"]);
    let two = body(&["webhooks", "update", "w", "--events", "email.sent,email.failed"]);
    assert_eq!(two["events"], json!(["email.sent", "email.failed"]));
}

#[cfg(unix)]
#[test]
fn the_log_is_followed_until_a_signal() {
    use std::io::{BufRead as _, BufReader};

    let service = Service::start();
    let posthaste = service.posthaste();
    posthaste.run(&["segments", "list"]).ok();
    let tail = ["logs", "tail", "--interval", "20ms", "--method", "GET", "-o", "ndjson", "--jq", ".endpoint"];
    let mut child = posthaste.command().args(tail).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(stderr.next().unwrap().unwrap().contains("stop with Ctrl-C"));
    let before = service.asked();
    while service.asked() < before + 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    posthaste.run(&["segments", "create", "Readers"]).ok();
    posthaste.run(&["topics", "list"]).ok();
    posthaste.run(&["domains", "list"]).ok();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!([lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap()], ["/topics", "/domains"]);
    crate::support::signal(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let stderr = posthaste.run(&["logs", "tail", "--status", "x", "--interval", "soon"]).fails(2);
    assert!(stderr.contains("--status") && stderr.contains("--interval"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn html_is_read_from_a_command_whose_failure_sends_nothing() {
    let send = |command: &str| {
        [
            "emails",
            "send",
            "--from",
            "hi@acme.test",
            "--to",
            "ada@example.com",
            "--subject",
            "s",
            "--html-command",
            command,
        ]
        .map(str::to_owned)
    };
    let html = |command: &str, more: &[&str]| {
        let arguments = send(command);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Posthaste::new().run(&arguments)
    };
    let shown = html("printf '<p>%s</p>' Hello", &["-n"]).json();
    assert_eq!(shown["dry_run"]["body"]["html"], "<p>Hello</p>");
    for (command, part) in [
        ("echo one >&2; echo broken >&2; exit 7", "broken"),
        ("exec no-such-renderer", "the command failed"),
        ("printf '\\377'", "isn't UTF-8"),
        ("yes", "67108864"),
    ] {
        let error = html(command, &["--json", "--sandbox"]).error(2);
        assert!(error.to_string().contains(part), "{command}: {error}");
    }
    let stderr = html("echo x", &["--html", "y", "--tag", "z"]).fails(2);
    assert!(stderr.contains("can't be used with --html") && stderr.contains("NAME=VALUE"), "{stderr}");

    let posthaste = Posthaste::new();
    let mut child = posthaste.command().args(send("touch begun; sleep 60")).arg("-n").spawn().unwrap();
    while !posthaste.home().join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    crate::support::signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Nouns with the flag of their main field, a value, and what else `create` requires.
const CREATE: [(&str, &str, &str, &[&str]); 10] = [
    ("api-keys", "--name", "Build", &[]),
    ("automations", "--name", "Welcome", &["--definition", "series.json"]),
    ("contacts", "--email", "ada@example.com", &[]),
    ("domains", "--name", "acme.test", &[]),
    ("events", "--name", "user.created", &[]),
    ("properties", "--key", "city", &["--type", "string"]),
    ("segments", "--name", "Weekly", &[]),
    ("templates", "--name", "Welcome", &["--html", "<p>Hello</p>"]),
    ("topics", "--name", "Weekly", &["--default-subscription", "opt_in"]),
    ("webhooks", "--endpoint", "https://acme.test/hooks", &["--event", "email.sent"]),
];

#[test]
fn the_main_field_of_create_is_an_argument_or_a_flag_but_not_both() {
    let posthaste = Posthaste::new();
    let series = r#"{"steps":[{"key":"start","type":"trigger","config":{"event_name":"user.created"}}],"connections":[]}"#;
    std::fs::write(posthaste.home().join("series.json"), series).unwrap();
    for (noun, flag, value, more) in CREATE {
        let create = |field: &[&str]| posthaste.run(&[&[noun, "create", "-n"], field, more].concat());
        let by_argument = create(&[value]).json();
        assert!(by_argument.to_string().contains(value), "{noun}: {by_argument}");
        assert_eq!(by_argument, create(&[flag, value]).json(), "{noun}");
        let both = create(&[value, flag, value]).fails(2);
        assert!(both.contains("cannot be used with") && both.contains(flag), "{noun}: {both}");
        assert_eq!(both.matches("error:").count(), 1, "{noun}: {both}");
    }
}

#[test]
fn a_missing_main_field_of_create_is_reported_by_its_argument() {
    let missing = |noun: &str, more: &[&str]| {
        let error = Posthaste::new().run(&[&[noun, "create", "-n", "--json"], more].concat()).error(2);
        error["missing"].clone()
    };
    for (noun, _, _, more) in CREATE.into_iter().filter(|(noun, ..)| *noun != "automations") {
        let argument = match noun {
            "contacts" => "EMAIL",
            "properties" => "KEY",
            "webhooks" => "ENDPOINT",
            _ => "NAME",
        };
        assert_eq!(missing(noun, more), json!([argument]), "{noun}");
    }
}
