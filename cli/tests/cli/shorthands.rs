//! Flags with several values, whole JSON objects, all event types, and following the log.

use idempost_conformance::peer::Act;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::received_watch::Watching;
use crate::service::{ScriptedPeer, Service};
use crate::support::{CommandLine, Idempost, SEND, exit_code, has, shows, wait_until};

fn body(line: &(impl CommandLine + ?Sized)) -> Value {
    Idempost::new().run(&(line, "-n")).json()["dry_run"]["body"].clone()
}

#[test]
fn several_addresses_may_follow_one_flag() {
    let send = "emails send --from hi@acme.test --subject s --text t";
    let to = "--to a@x.test b@x.test --cc c@x.test d@x.test --bcc e@x.test --bcc f@x.test";
    let body = body(&(send, to));
    assert_eq!(body["to"], json!(["a@x.test", "b@x.test"]));
    has(&body, &json!({"cc": ["c@x.test", "d@x.test"], "bcc": ["e@x.test", "f@x.test"]}));
    Idempost::new().run(&(send, "--to a@x.test b@@x.test")).fails_with(2, &["--to (2nd)"]);
}

#[test]
fn a_json_object_sets_all_properties_a_payload_or_a_schema() {
    let properties = r#"{"city": "London", "orders": 3}"#;
    for command in ["contacts create ada@example.com", "contacts update ada@example.com"] {
        let body = body(&(command, &["--properties", properties, "--property", "plan=pro"]));
        assert_eq!(body["properties"], json!({"plan": "pro", "city": "London", "orders": 3}));
    }
    for command in ["contacts update ada@example.com --property-json n=null", "events update e --field plan"]
    {
        Idempost::new().run(command).hides(&["a field to change"]).fails(2);
    }
    let payload = r#"--payload '{"plan": "pro", "seats": 5}' --payload a=b"#;
    let sent = body(&("events send user.created --email ada@example.com", payload));
    assert_eq!(sent["payload"], json!({"plan": "pro", "seats": 5, "a": "b"}));
    let created = body(r#"events create user.created --schema '{"plan": "string", "seats": "number"}'"#);
    assert_eq!(created["schema"], json!({"plan": "string", "seats": "number"}));
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

#[test]
fn the_log_is_followed_until_a_signal() {
    let service = Service::start();
    service.run("segments list").ok();
    let tail = "logs tail --interval 20ms --method GET -o ndjson --jq .endpoint";
    let mut tail = Watching::of(&service.idempost(), tail);
    let before = service.asked();
    wait_until("the log is polled", || service.asked() >= before + 2);
    for line in ["segments create Readers", "topics list", "domains list"] {
        service.run(line).ok();
    }
    assert_eq!([tail.line(), tail.line()], ["/topics", "/domains"]);
    assert_eq!(tail.end(Signal::TERM), (Some(0), vec![]));
}

#[test]
fn sent_emails_are_followed_until_a_signal() {
    let service = Service::start();
    service.run(&SEND).ok();
    let tail = "emails tail --interval 20ms --to EXAMPLE -o ndjson --jq .subject";
    let mut tail = Watching::of(&service.idempost(), tail);
    shows(&tail.note, &["waiting for new emails"]);
    let before = service.asked();
    wait_until("the list is polled", || service.asked() >= before + 2);
    for (to, subject) in
        [("ada@example.com", "First"), ("ada@other.test", "No"), ("bob@example.com", "Second")]
    {
        service.run(&((&SEND[..4], &["--to", to, "--subject", subject]), &SEND[8..])).ok();
    }
    assert_eq!([tail.line(), tail.line()], ["First", "Second"]);
    assert_eq!(tail.end(Signal::TERM), (Some(0), vec![]));
}

#[test]
fn a_list_that_never_ends_ends_a_tail() {
    let email = json!({ "id": "e1", "to": ["ada@example.com"], "from": "hi@acme.test", "subject": "Hello",
        "created_at": "2026-11-22 10:00:00.000000+00", "last_event": "sent" });
    for (data, message) in [
        (json!([email]), "a page that ends with the same item as an earlier one: e1"),
        (json!([]), "reported more items, but returned an empty page"),
    ] {
        let list =
            |data, has_more| json!({ "object": "list", "data": data, "has_more": has_more }).to_string();
        let acts = [Act::json(200, &list(json!([email]), true)), Act::json(200, &list(data, true))];
        let peer = ScriptedPeer::new(acts);
        let tail = "emails tail --interval 20ms";
        Idempost::at(peer.base_url(), "sb_x").run(tail).fails_with(1, &[message]);
    }
}

#[test]
fn html_is_read_from_a_command_whose_failure_sends_nothing() {
    let send = |command: &str| {
        let send = "emails send --from hi@acme.test --to ada@example.com --subject s --html-command";
        (send, [command]).words()
    };
    let html = |command: &str, more: &str| Idempost::new().run(&(send(command), more));
    let shown = html("printf '<p>%s</p>' Hello", "-n").json();
    assert_eq!(shown["dry_run"]["body"]["html"], "<p>Hello</p>");
    for (command, part) in [
        ("echo one >&2; echo broken >&2; exit 7", "broken"),
        ("exec no-such-renderer", "the command failed"),
        ("printf '\\377'", "isn't UTF-8"),
        ("yes", "67108864"),
    ] {
        let error = html(command, "--json --sandbox").error(2);
        assert!(error.to_string().contains(part), "{command}: {error}");
    }
    html("echo x", "--html y --tag z").fails_with(2, &["can't be used with --html", "NAME=VALUE"]);

    let idempost = Idempost::new();
    let mut child = idempost.command().args(send("touch begun; sleep 60")).arg("-n").spawn().unwrap();
    wait_until("the command runs", || idempost.home().join("begun").exists());
    crate::support::signal(&child, rustix::process::Signal::INT);
    assert_eq!(exit_code(&mut child), Some(130));
}

/// Nouns with the flag of their main field, a value, and the other arguments that `create` requires.
const CREATE: [(&str, &str, &str, &str); 10] = [
    ("api-keys", "--name", "Build", ""),
    ("automations", "--name", "Welcome", "--definition series.json"),
    ("contacts", "--email", "ada@example.com", ""),
    ("domains", "--name", "acme.test", ""),
    ("events", "--name", "user.created", ""),
    ("properties", "--key", "city", "--type string"),
    ("segments", "--name", "Weekly", ""),
    ("templates", "--name", "Welcome", "--html '<p>Hello</p>'"),
    ("topics", "--name", "Weekly", "--default-subscription opt_in"),
    ("webhooks", "--endpoint", "https://acme.test/hooks", "--event email.sent"),
];

#[test]
fn the_main_field_of_create_is_an_argument_or_a_flag_but_not_both() {
    let idempost = Idempost::new();
    let series = r#"{"steps":[{"key":"start","type":"trigger","config":{"event_name":"user.created"}}],"connections":[]}"#;
    idempost.write("series.json", series);
    for (noun, flag, value, more) in CREATE {
        let create = |field: &[&str]| idempost.run(&((&[noun, "create", "-n"], field), more));
        let by_argument = create(&[value]).json();
        assert!(by_argument.to_string().contains(value), "{noun}: {by_argument}");
        assert_eq!(by_argument, create(&[flag, value]).json(), "{noun}");
        let both = create(&[value, flag, value]).fails_with(2, &["can't be used with", flag]);
        assert_eq!(both.matches("error:").count(), 1, "{noun}: {both}");
    }
    for noun in ["segments", "api-keys"] {
        let rename = |words: &[&str]| idempost.run(&((&[noun], words), "-n")).json();
        assert_eq!(rename(&["rename", "x", "Name"]), rename(&["update", "x", "--name", "Name"]), "{noun}");
    }
}

#[test]
fn a_json_array_sets_subscriptions_steps_and_connections_and_an_object_replaces_a_schema() {
    let topic = "b6d24b8e-af0b-4c3c-be0c-359bbd97381e";
    let topics = json!([{"id": topic, "subscription": "opt_out"}]).to_string();
    let other = "--opt-in 5b7f0c1d-93a6-4f6e-8f43-0a4d6e2b8c19";
    let sent = body(&(("contacts update-topics ada@example.com --topics", [topics]), other));
    let sent = sent.get("topics").unwrap_or(&sent);
    assert_eq!(sent.as_array().unwrap().len(), 2);
    assert!(sent.as_array().unwrap().contains(&json!({"id": topic, "subscription": "opt_out"})));

    let steps = json!([
        {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
        {"key": "pause", "type": "delay", "config": {"duration": "1 day"}},
    ]);
    let connections = json!([{"from": "start", "to": "pause", "type": "default"}]);
    let (steps_json, connections_json) = (steps.to_string(), connections.to_string());
    let lists = ["--steps", &steps_json, "--connections", &connections_json];
    let created = body(&("automations create Welcome", lists));
    assert_eq!(created, json!({"name": "Welcome", "steps": steps, "connections": connections}));
    let updated = body(&(["automations", "update", topic], lists));
    assert_eq!(updated, json!({"steps": steps, "connections": connections}));
    let schema = body(&["events", "update", "user.created", "--schema", r#"{"plan": "string"}"#]);
    assert_eq!(schema, json!({"schema": {"plan": "string"}}));
}

#[test]
fn one_click_unsubscribe_headers_come_from_one_flag() {
    let send = "emails send --from hi@acme.test --to ada@example.com --subject s --text t";
    let shown = body(&(send, "--list-unsubscribe https://acme.test/u?t=1 --header 'X-A: b'"));
    let expected = json!({"List-Unsubscribe": "<https://acme.test/u?t=1>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click", "X-A": "b"});
    assert_eq!(shown["headers"], expected);
    for url in ["http://acme.test/u", "mailto:leave@acme.test", "x"] {
        let ran = Idempost::new().run(&(&send, &["--list-unsubscribe", url]));
        ran.fails_with(2, &["https URL", "--list-unsubscribe"]);
    }
}

#[test]
fn every_command_with_an_html_body_takes_it_from_a_command() {
    let segment = "78261eea-8f8b-4381-83c6-79fa7120f1cf";
    for command in [
        &*format!("broadcasts create --segment-id {segment} --from hi@acme.test --subject s"),
        &*format!("broadcasts update {segment}"),
        "templates create Welcome",
        "templates update welcome",
        "inboxes reply support@acme.test t1 e1",
        "inboxes forward support@acme.test t1 e1 --to ada@example.com",
        "inboxes create-draft support@acme.test",
        "inboxes update-draft support@acme.test d1",
    ] {
        let render = |renderer, more| ((command, ["--html-command", renderer]), more);
        assert_eq!(body(&render("printf '<p>%s</p>' Hello", ""))["html"], "<p>Hello</p>", "{command}");
        for (renderer, more, part) in [
            ("echo broken >&2; exit 7", "", "broken"),
            ("printf '\\377'", "", "isn't UTF-8"),
            ("echo x", "--html y", "can't be used with --html"),
        ] {
            Idempost::new().run(&render(renderer, more)).fails_with(2, &[part, "--html-command"]);
        }
    }

    for command in [
        "received reply e1 --from hi@acme.test --text x",
        "received forward e1 --from hi@acme.test --to ada@example.com --wrap",
        "bulk plan - --from hi@acme.test --subject s",
    ] {
        let failing = (command, "--html-command 'echo broken >&2; exit 7'");
        let ran = Idempost::new().run_with(&failing, "to\nada@example.com\n");
        ran.fails_with(2, &["broken", "--html-command"]);
    }

    let one = json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "s"});
    let (mut own, mut template) =
        (one.clone(), json!({"to": "ada@example.com", "template": {"id": "welcome"}}));
    own["html"] = "<p>Own</p>".into();
    template["subject"] = "s".into();
    let batch = json!([one, own, template]).to_string();
    let idempost = Idempost::new();
    let line = "emails batch - -n --html-command";
    let sent = idempost.run_with(&(line, "\"printf '<p>Made</p>'\""), &batch).json();
    let sent = &sent["dry_run"]["body"];
    assert_eq!((&sent[0]["html"], &sent[1]["html"]), (&json!("<p>Made</p>"), &json!("<p>Own</p>")));
    assert!(sent[2].get("html").is_none());
    idempost.run_with(&(line, "'exit 3'"), &batch).fails_with(2, &["the command failed", "--html-command"]);
}

#[test]
fn a_batch_has_schedules_only_with_a_flag_and_a_service_that_supports_them() {
    use idempost_reference_server::{Compat, Settings};

    let email = |when: &str| json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "s", "text": "t", "scheduled_at": when});
    let batch = json!([email("in 1 hour"), email("in 2 hours")]).to_string();
    let live = Service::with(Settings { compat: Compat::Live, ..Settings::default() }).unjudged();
    live.run_with("emails batch -", &batch)
        .fails_with(2, &["not supported in a batch", "--allow-scheduled-at"]);
    assert_eq!(live.asked(), 0);
    let ids = live.run_with(&["emails", "batch", "-", "--allow-scheduled-at"], &batch).ok();
    for id in ids.lines() {
        assert_eq!(live.run(&["emails", "get", id, "--jq", ".last_event"]).ok(), "scheduled\n");
    }
    assert_eq!(ids.lines().count(), 2);
    let stderr = live.run_with("emails batch - --allow-scheduled-at", &json!([email("")]).to_string());
    assert!(stderr.fails(2).contains("scheduled_at"));

    let strict = Service::start().unjudged();
    let ran = strict.run_with(&["emails", "batch", "-", "--allow-scheduled-at"], &batch);
    ran.fails_with(3, &["`[0].scheduled_at` is not supported in a batch"]);
}

#[test]
fn limits_of_the_public_service_are_warnings() {
    let send = "emails send --from hi@acme.test --to a@x.test --subject s --text t -n";
    let tags = (0..76).map(|n| format!("--tag=n{n}=v")).collect::<Vec<_>>().join(" ");
    Idempost::new().run(&((send, tags), "--scheduled-at=2099-01-01T00:00:00Z")).exits(0).says(&[
        "/tags",
        "75 tags",
        "/scheduled_at",
        "30 days",
    ]);
}
