//! `automations` and `events`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::service::Service;
use crate::support::has;

/// A trigger and a delay of one day.
fn series() -> Value {
    json!({"name": "Welcome", "status": "enabled", "steps": [
        {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
        {"key": "pause", "type": "delay", "config": {"duration": "1 day"}},
        {"key": "note", "type": "contact_update", "config": {"first_name": {"var": "event.name"}}},
    ], "connections": [{"from": "start", "to": "pause"}, {"from": "pause", "to": "note"}]})
}

fn created(service: &Service, flags: &str) -> String {
    let create = ("automations create --definition -", flags);
    service.run_with(&create, &series().to_string()).ok().trim().to_owned()
}

fn day(service: &Service) {
    service.core().clock().advance(Duration::from_hours(24));
}

#[test]
fn an_automation_round_trips_through_its_definition() {
    // AUTO-01, AUTO-02
    let service = Service::start();
    let id = created(&service, "");
    let shown = service.run(&["automations", "get", &id]).ok_with(&[
        "Welcome",
        "STEP",
        "user.created",
        "FROM",
        "default",
    ]);
    assert!(!shown.contains("[{"), "steps and connections are tables: {shown}");
    let taken = service.run(&["automations", "get", &id, "--jq", "{name, steps, connections}"]).ok();
    let arguments = ["automations", "create", "--definition", "-", "--name", "Again", "--status", "disabled"];
    let again = service.run_with(&arguments, &taken).ok();
    let again = service.run(&["automations", "get", again.trim(), "--json"]).json();
    has(&again, &json!({"name": "Again", "status": "disabled"}));
    assert_eq!(again["steps"], series()["steps"]);

    // AUTO-03, AUTO-06
    let enabled = service.run(&["automations", "ls", "--status", "enabled", "--limit", "5", "--json"]);
    let enabled = enabled.json();
    assert_eq!((&enabled["data"][0]["id"], enabled["data"].as_array().unwrap().len()), (&json!(id), 1));

    service.run(&["automations", "update", &id, "--status", "disabled", "--name", "Other"]).ok();
    let copy = service.run(&["automations", "duplicate", &id]).ok();
    let names = service.run(&["automations", "list", "--jq", ".data[].name"]).ok();
    assert_eq!(names, "Other\nAgain\nOther\n");
    service.run(&["automations", "delete", copy.trim()]).ok();
    service.run(&["automations", "get", copy.trim()]).fails(5);
}

#[test]
fn an_event_starts_a_run_that_can_be_awaited_and_stopped() {
    // RUN-01, RUN-03, RUN-04, RUN-06, GEN-07
    let service = Service::start();
    let id = created(&service, "");
    let send = ["events", "send", "user.created", "--email", "ada@example.com", "--payload", "name=Ada"];
    let name = service.run(&(&send, "--payload-json seats=5")).ok();
    assert_eq!(name, "user.created\n");
    assert_eq!(service.bodies().last().unwrap()["payload"], json!({"name": "Ada", "seats": 5}));
    let list = ["automations", "runs", &id, "--status", "running,failed", "--jq", ".data[].id"];
    let run = service.run(&list).ok().trim().to_owned();
    let query = service.requests().last().unwrap().query.clone();
    assert_eq!(query.as_deref(), Some("status=running%2Cfailed"));

    service.run(&["automations", "run", &id, &run]).ok_with(&["running", "waiting", "pending", "ERROR"]);
    let waited = ["automations", "run", &id, &run, "--wait", "--wait-timeout", "1s"];
    service.run(&waited).fails(8);
    day(&service);
    let ran = service.run(&waited).says(&["completed after"]);
    assert!(ran.ok().contains("status        completed"));

    service.run(&send).ok();
    service.run(&["automations", "stop", &id]).ok();
    let run = service.run(&format!("automations runs {id} --status cancelled --jq .data[0].id"));
    let run = run.ok().trim().to_owned();
    let ran = service.run(&["automations", "run", &id, &run, "--wait"]);
    ran.says(&["the run didn't complete: cancelled"]).prints(&["skipped"]).exits(3);
}

#[test]
fn problems_with_a_definition_are_reported_at_their_place_in_the_file() {
    let (service, idempost) = Service::with_program();
    let text = r#"{
  "name": "",
  "steps": [
    {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
    {"key": "start", "type": "sleep", "config": {}},
    {"key": "mail", "type": "send_email", "config": {"template": {"id": "welcome"}, "form": "x"}},
    {"key": "cond", "type": "condition", "config": {"type": "rule", "field": "plan", "operator": "eq"}}
  ],
  "connections": [
    {"from": "start", "to": "male"},
    {"from": "start", "to": "mail", "type": "timeout"}
  ]
}
"#;
    idempost.write("series.json", text);
    let expected = [
        "/name: `name` must not be empty",
        "/status: `status` must be `enabled` or `disabled`",
        "/steps/1/key: `key` must be unique",
        "/steps/1/type: `type` must be one of",
        "/steps/2/config/form: `config` has no field `form`",
        "/steps/3/config/field: `field` must start with",
        "/steps/3/config/value: `value` is required for the operator `eq`",
        "/connections/0/to: `to` must be the key of a step",
        "/connections/1/type: `type` is only valid for connections from a `wait_for_event` step",
        "series.json:5:",
        "series.json:10:",
        "--status:1:1",
    ];
    idempost.run("automations create --definition series.json --status on").fails_with(2, &expected);
    assert_eq!(service.asked(), 0);

    for (text, part) in [
        ("{", "JSON"),
        ("[]", "expected a JSON object"),
        ("{\"name\": \"a\", \"name\": \"b\", \"steps\": [], \"connections\": []}", "this key is repeated"),
    ] {
        let stderr = service.run_with("automations create --definition -", text).fails(2);
        assert!(stderr.to_lowercase().contains(&part.to_lowercase()), "{part}: {stderr}");
    }
    assert_eq!(service.asked(), 0);
}

#[test]
fn events_are_defined_changed_and_deleted_by_name() {
    let service = Service::start();
    let define = ["events", "create", "user created/é", "--field", "plan=string", "--field", "seats=number"];
    let id = service.run(&define).ok();
    let get = |more: &[&str]| service.run(&("events get 'user created/é'", more));
    assert_eq!(get(&["--jq", ".id"]).ok(), id);
    assert_eq!(get(&["--json"]).json()["schema"], json!({"plan": "string", "seats": "number"}));
    let file = r#"{"email": "bob@example.com", "payload": {"seats": 5}}"#;
    let send = ["events", "send", "user.created", "--email", "ada@example.com", "--input", "-", "-n"];
    let body = service.run_with(&send, file).json()["dry_run"]["body"].clone();
    let expected = json!({"event": "user.created", "email": "ada@example.com", "payload": {"seats": 5}});
    assert_eq!(body, expected);
    let ran = service.run_with(&send, r#"{"contact_id": "1", "payload": []}"#);
    ran.fails_with(2, &["can't be used together", "/payload"]);
    let send = ["events", "send", "user created/é", "--email", "ada@example.com", "--payload", "seats=5"];
    service.run(&send).fails_with(3, &["`payload.seats` must be a number"]);
    service.run(&["events", "update", "user created/é", "--field", "plan=boolean"]).ok();
    assert_eq!(get(&["--json"]).json()["schema"], json!({"plan": "boolean"}));
    service.run(&["events", "update", "user created/é", "--clear", "schema"]).ok();
    service.run(&send).ok();
    service.run(&["events", "list"]).ok_with(&["user created/é"]);
    service.run(&["events", "delete", "user created/é"]).ok();
    get(&[]).fails(5);
}
