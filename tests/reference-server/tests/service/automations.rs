//! Automations and their runs.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, Sandbox, email, email_of, email_with, expect_fields_of, race};

fn trigger() -> Value {
    json!({"key": "start", "type": "trigger", "config": {"event_name": "user.created"}})
}

fn step(key: &str, kind: &str, config: Value) -> Value {
    let mut step = json!({"key": key, "type": kind});
    step["config"] = config;
    step
}

fn connection(from: &str, to: &str, kind: &str) -> Value {
    json!({"from": from, "to": to, "type": kind})
}

/// An enabled automation whose steps run in sequence.
fn chain(steps: Vec<Value>) -> Value {
    let mut all = vec![trigger()];
    all.extend(steps);
    let connections: Vec<_> =
        all.windows(2).map(|two| json!({"from": two[0]["key"], "to": two[1]["key"]})).collect();
    json!({"name": "Welcome", "status": "enabled", "steps": all, "connections": connections})
}

fn with(pointer: &str, value: Value) -> Value {
    let mut json = chain(vec![step("pause", "delay", json!({"duration": "1 day"}))]);
    *json.pointer_mut(pointer).unwrap() = value;
    json
}

trait Automations {
    fn send(&self, body: &Value) -> Answer;
    fn run(&self, automation: &str) -> Value;
    fn contact(&self, email: &str) -> Value;
}

impl Automations for Sandbox {
    fn send(&self, body: &Value) -> Answer {
        self.post("/events/send", body).expect_status(202)
    }

    /// The newest run with its steps.
    fn run(&self, automation: &str) -> Value {
        let id = self.ids(format!("/automations/{automation}/runs")).remove(0);
        self.get(format!("/automations/{automation}/runs/{id}")).expect_status(200).json()
    }

    fn contact(&self, email: &str) -> Value {
        self.get(format!("/contacts/{email}")).json()
    }
}

fn signed_up() -> Value {
    json!({"event": "user.created", "email": "ada@example.com", "payload": {"plan": "pro", "name": "Ada", "seats": 5}})
}

/// The statuses of a run's steps, by key.
fn steps(run: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    run["steps"].as_array().unwrap().iter().map(|step| (text(&step["key"]), text(&step["status"]))).collect()
}

fn expect_steps(run: &Value, expected: &[(&str, &str)]) {
    let found = steps(run);
    let found: Vec<_> = found.iter().map(|(key, status)| (key.as_str(), status.as_str())).collect();
    assert_eq!(found, expected, "{run}");
}

#[test]
fn an_automation_is_created_read_updated_duplicated_and_deleted() {
    // AUTO-01, AUTO-02
    let sandbox = Sandbox::new();
    let mut body = with("/status", json!("disabled"));
    body.as_object_mut().unwrap().remove("status");
    let id = sandbox.created("/automations", &body);
    let record = sandbox.get(format!("/automations/{id}")).json();
    expect_fields_of(&json!({ "object": "automation", "status": "disabled" }), &record);
    expect_fields_of(&json!({ "name": body["name"], "steps": body["steps"] }), &record);
    assert_eq!(record["connections"], json!([connection("start", "pause", "default")]));
    assert_eq!(record["created_at"], record["updated_at"]);

    sandbox.advance(60);
    let change = json!({"name": "Other", "status": "enabled", "steps": null, "connections": null});
    let answer = sandbox.patch(format!("/automations/{id}"), &change);
    assert_eq!(answer.json(), json!({"object": "automation", "id": id}));
    assert_eq!(answer.header("x-sandbox-ignored-fields"), None);
    let changed = sandbox.get(format!("/automations/{id}")).json();
    expect_fields_of(&json!({ "name": "Other", "status": "enabled" }), &changed);
    assert_eq!(changed["steps"], record["steps"]);
    assert_ne!(changed["updated_at"], changed["created_at"]);

    let copy = sandbox.act(format!("/automations/{id}/duplicate")).expect_status(201);
    let copy = copy.id();
    let copied = sandbox.get(format!("/automations/{copy}")).json();
    expect_fields_of(&json!({ "status": "disabled", "steps": record["steps"] }), &copied);

    let gone = sandbox.delete(format!("/automations/{id}"));
    assert_eq!(gone.json(), json!({"object": "automation", "id": id, "deleted": true}));
    assert_eq!(sandbox.get(format!("/automations/{id}")).status, 404);
    assert_eq!(sandbox.ids("/automations"), [copy]);
}

#[test]
fn an_invalid_definition_is_rejected() {
    let sandbox = Sandbox::new();
    let delay = |duration: Value| with("/steps/1/config/duration", duration);
    let config = |kind: &str, config: Value| with("/steps/1", step("pause", kind, config));
    let wait =
        |field: &str, value: Value| config("wait_for_event", json!({"event_name": "x", (field): value}));
    let mail =
        |field: &str, value: Value| config("send_email", json!({"template": {"id": "a"}, (field): value}));
    let variable = |value: Value| mail("template", json!({"id": "a", "variables": {"A": value}}));
    let update = |field: &str, value: Value| config("contact_update", json!({ (field): value }));
    let connected = |all: &[(&str, &str, &str)]| {
        let all: Vec<_> = all.iter().map(|(from, to, kind)| connection(from, to, kind)).collect();
        with("/connections", all.into())
    };
    let first = ("start", "pause", "default");
    let delays = |count: usize, duration: &str| {
        chain((0..count).map(|n| step(&n.to_string(), "delay", json!({ "duration": duration }))).collect())
    };
    for (body, words) in [
        (with("/name", json!("")), "`name` must not be empty"),
        (with("/name", json!(5)), "`name` must be a string"),
        (with("/name", json!(null)), "Missing `name`"),
        (with("/status", json!("on")), "`status` must be one of `enabled`, `disabled`"),
        (with("/steps", json!(null)), "Missing `steps`"),
        (with("/steps", json!([])), "`steps` must have 1 to 150 steps; found 0"),
        (delays(150, "1 day"), "found 151"),
        (with("/connections", json!(null)), "Missing `connections`"),
        (with("/steps/1", json!(5)), "`steps[1]` must be an object"),
        (with("/steps/1/key", json!("")), "`steps[1].key` must not be empty"),
        (with("/steps/1/key", json!("start")), "`steps[1].key` must name one step"),
        (with("/steps/1/type", json!("sleep")), "`steps[1].type` must be one of"),
        (with("/steps/1/config", json!(null)), "Missing `steps[1].config`"),
        (with("/steps/0/type", json!("contact_delete")), "of the type `trigger`"),
        (config("trigger", json!({})), "Missing `steps[1].config.event_name`"),
        (config("trigger", json!({"event_name": "x"})), "must not lead to a trigger"),
        (delay(json!("")), "`steps[1].config.duration` must not be empty"),
        (delay(json!("soon")), "must be a duration"),
        (delay(json!("31 days")), "at most 30 days"),
        (wait("timeout", json!("never")), "`steps[1].config.timeout` must be a duration"),
        (wait("filter_rule", json!({"type": "rule"})), "Missing `steps[1].config.filter_rule.field`"),
        (config("send_email", json!({})), "Missing `steps[1].config.template`"),
        (variable(json!(null)), "`steps[1].config.template.variables.A` must be"),
        (variable(json!({"b": {"c": 1}})), "Missing `steps[1].config.template.variables.A.var`"),
        (
            variable(json!({"var": "wait_events.paid"})),
            "must begin with `event.`, `contact.` or `wait_events.<event name>.`",
        ),
        (mail("topic_id", json!("news")), "`steps[1].config.topic_id` must be a UUID"),
        (mail("from", json!("nobody")), "`steps[1].config.from`"),
        (update("unsubscribed", json!("yes")), "`steps[1].config.unsubscribed` must be a boolean"),
        (update("first_name", json!({"var": "name"})), "must begin with `event.`, `contact.`"),
        (
            config("add_to_segment", json!({"segment_id": "all"})),
            "`steps[1].config.segment_id` must be a UUID",
        ),
        (config("condition", json!({"type": "maybe"})), "`steps[1].config.type` must be one of"),
        (with("/connections/0/to", json!("nowhere")), "there is no step \"nowhere\""),
        (with("/connections/0/to", json!(null)), "Missing `connections[0].to`"),
        (connected(&[("start", "pause", "timeout")]), "only from a `wait_for_event` step"),
        (connected(&[("start", "pause", "later")]), "`connections[0].type` must be one of"),
        (connected(&[first, ("pause", "pause", "default")]), "`connections[1]` must not lead back"),
        (connected(&[first, first]), "must be the only `default` connection"),
    ] {
        sandbox.post("/automations", &body).invalid(words);
    }
    assert_eq!(sandbox.ids("/automations"), Vec::<String>::new());
    sandbox.created("/automations", &delays(149, "30 days"));
}

#[test]
fn problems_are_counted_and_unknown_fields_are_reported() {
    let sandbox = Sandbox::new();
    let mut body = with("/name", json!(""));
    body["steps"][1]["config"]["duration"] = json!("soon");
    body["connections"][0]["from"] = json!(5);
    let answer = sandbox.post("/automations", &body);
    assert!(answer.message().contains("(And 2 more problems.)"), "{}", answer.message());

    let mut body = with("/steps/1/config", json!({"duration": "1 day", "jitter": "1 hour"}));
    body["owner"] = json!("me");
    let answer = sandbox.post("/automations", &body);
    assert_eq!(answer.header("x-sandbox-ignored-fields"), Some("/steps/1/config/jitter,/owner"));
}

#[test]
fn an_update_is_nonempty_and_takes_steps_and_connections_together() {
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &chain(vec![]));
    let whole = chain(vec![step("gone", "contact_delete", json!({}))]);
    for (body, words) in [
        (json!({}), "must change something"),
        (json!({"name": null}), "must change something"),
        (json!({"name": ""}), "`name` must not be empty"),
        (json!({"status": "paused"}), "`status` must be one of"),
        (json!({"steps": whole["steps"]}), "Missing `connections`"),
        (json!({"connections": []}), "Missing `steps`"),
    ] {
        sandbox.patch(format!("/automations/{id}"), &body).invalid(words);
    }
    let both = json!({"steps": whole["steps"], "connections": whole["connections"]});
    assert_eq!(sandbox.patch(format!("/automations/{id}"), &both).status, 200);
    assert_eq!(sandbox.get(format!("/automations/{id}")).json()["steps"], whole["steps"]);
}

#[test]
fn the_list_is_filtered_by_status() {
    // AUTO-03, AUTO-04, AUTO-05
    let sandbox = Sandbox::new();
    let on = sandbox.created("/automations", &chain(vec![]));
    let off = sandbox.created("/automations", &with("/status", json!("disabled")));
    assert_eq!(sandbox.ids("/automations"), [off.clone(), on.clone()]);
    for (item, id) in sandbox.get("/automations").json()["data"].as_array().unwrap().iter().zip([&off, &on]) {
        let record = sandbox.get(format!("/automations/{id}")).json();
        assert_eq!(record["id"], *id);
        expect_fields_of(item, &record);
        assert_eq!(item["created_at"], "2026-03-02 12:00:00.000000+00");
    }
    assert_eq!(sandbox.ids("/automations?status=enabled"), [on]);
    assert_eq!(sandbox.ids("/automations?status=disabled"), [off]);
    for wrong in ["foo", "", "Enabled", "enabled,disabled"] {
        let answer = sandbox.get(format!("/automations?status={wrong}"));
        assert_eq!((answer.status.as_u16(), answer.name().as_str()), (422, "validation_error"), "{wrong}");
    }
}

#[test]
fn an_event_starts_a_run_of_every_enabled_automation_it_triggers() {
    // RUN-01, RUN-08, GEN-07
    let sandbox = Sandbox::new();
    let first = sandbox.created("/automations", &chain(vec![]));
    let second = sandbox.created("/automations", &chain(vec![]));
    let disabled = sandbox.created("/automations", &with("/status", json!("disabled")));
    let other = sandbox.created("/automations", &with("/steps/0/config/event_name", json!("user.left")));
    assert_eq!(sandbox.send(&signed_up()).json(), json!({"object": "event", "event": "user.created"}));
    for (automation, runs) in [(&first, 1), (&second, 1), (&disabled, 0), (&other, 0)] {
        assert_eq!(sandbox.ids(format!("/automations/{automation}/runs")).len(), runs);
    }
    let run = sandbox.run(&first);
    expect_fields_of(&json!({ "object": "automation_run", "status": "completed" }), &run);
    expect_steps(&run, &[("start", "completed")]);
    assert_eq!(run["completed_at"], run["started_at"]);
    let item = sandbox.get(format!("/automations/{first}/runs")).json()["data"][0].clone();
    expect_fields_of(&item, &run);
    let now = json!("2026-03-02 12:00:00.000000+00");
    assert_eq!([&run["created_at"], &run["started_at"], &run["completed_at"]], [&now; 3]);
    assert_eq!(sandbox.contact("ada@example.com")["object"], "contact");
    let stranger = format!("/automations/{second}/runs/{}", run["id"].as_str().unwrap());
    assert_eq!(sandbox.get(stranger).status, 404);
}

#[test]
fn a_delay_ends_when_due() {
    // RUN-02, RUN-03
    let sandbox = Sandbox::new();
    let pauses = vec![
        step("first", "delay", json!({"duration": "30 minutes"})),
        step("second", "delay", json!({"duration": "1 day"})),
    ];
    let id = sandbox.created("/automations", &chain(pauses));
    sandbox.send(&signed_up());
    sandbox.advance(30 * 60 - 1);
    let run = sandbox.run(&id);
    expect_fields_of(&json!({ "status": "running", "completed_at": null }), &run);
    expect_steps(&run, &[("start", "completed"), ("first", "waiting"), ("second", "pending")]);
    sandbox.advance(1);
    expect_steps(&sandbox.run(&id), &[("start", "completed"), ("first", "completed"), ("second", "waiting")]);
    // The second delay starts when the first ends, even if the clock jumps over both.
    sandbox.advance(86_400);
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "completed");
    assert_eq!(run["completed_at"], "2026-03-03 12:30:00.000000+00");
    let (start, between) = ("2026-03-02 12:00:00.000000+00", "2026-03-02 12:30:00.000000+00");
    let times = [[start, start], [start, between], [between, "2026-03-03 12:30:00.000000+00"]];
    let steps = run["steps"].as_array().unwrap().iter();
    let found: Vec<_> = steps.map(|step| json!([step["started_at"], step["completed_at"]])).collect();
    assert_eq!(json!(found), json!(times));
    let types: Vec<_> = run["steps"].as_array().unwrap().iter().map(|step| &step["type"]).collect();
    assert_eq!(types, ["trigger", "delay", "delay"]);
}

#[test]
fn a_condition_selects_one_of_two_branches() {
    let sandbox = Sandbox::new();
    let rule = json!({"type": "rule", "field": "event.plan", "operator": "eq", "value": "pro"});
    let body = json!({"name": "x", "status": "enabled", "steps": [
        trigger(),
        step("pro", "condition", rule),
        step("yes", "contact_update", json!({"first_name": {"var": "event.name"}})),
        step("no", "contact_delete", json!({})),
    ], "connections": [
        connection("start", "pro", "default"), connection("pro", "yes", "condition_met"), connection("pro", "no", "condition_not_met"),
    ]});
    let id = sandbox.created("/automations", &body);
    sandbox.send(&signed_up());
    let run = sandbox.run(&id);
    expect_steps(
        &run,
        &[("start", "completed"), ("pro", "completed"), ("yes", "completed"), ("no", "skipped")],
    );
    assert_eq!(run["steps"][1]["output"], json!({"condition_met": true}));
    assert_eq!(sandbox.contact("ada@example.com")["first_name"], "Ada");

    sandbox.send(&json!({"event": "user.created", "email": "ada@example.com"}));
    expect_steps(
        &sandbox.run(&id),
        &[("start", "completed"), ("pro", "completed"), ("yes", "skipped"), ("no", "completed")],
    );
    assert_eq!(sandbox.get("/contacts/ada@example.com").status, 404);
}

fn waiting_automation(filter: bool) -> Value {
    let mut config = json!({"event_name": "paid", "timeout": "3 days"});
    if filter {
        config["filter_rule"] =
            json!({"type": "rule", "field": "event.amount", "operator": "gte", "value": 10});
    }
    json!({"name": "x", "status": "enabled", "steps": [
        trigger(),
        step("wait", "wait_for_event", config),
        step("thanks", "contact_update", json!({"last_name": "thanks"})),
        step("remind", "contact_update", json!({"last_name": "remind"})),
    ], "connections": [
        connection("start", "wait", "default"), connection("wait", "thanks", "event_received"), connection("wait", "remind", "timeout"),
    ]})
}

#[test]
fn a_wait_ends_only_on_an_event_for_its_own_contact() {
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &waiting_automation(true));
    sandbox.send(&signed_up());
    for event in [
        json!({"event": "paid", "email": "bob@example.com", "payload": {"amount": 20}}),
        json!({"event": "left", "email": "ada@example.com", "payload": {"amount": 20}}),
        json!({"event": "paid", "email": "ada@example.com", "payload": {"amount": 9}}),
        json!({"event": "paid", "email": "ada@example.com"}),
    ] {
        sandbox.send(&event);
        assert_eq!(sandbox.run(&id)["status"], "running", "{event}");
    }
    sandbox.send(&json!({"event": "paid", "email": "ADA@example.com", "payload": {"amount": 10}}));
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "completed");
    expect_steps(
        &run,
        &[("start", "completed"), ("wait", "completed"), ("thanks", "completed"), ("remind", "skipped")],
    );
    assert_eq!(run["steps"][1]["output"], json!({"event": "paid", "payload": {"amount": 10}}));
    // Its timeout no longer has an effect.
    sandbox.advance(4 * 86_400);
    assert_eq!(sandbox.contact("ada@example.com")["last_name"], "thanks");
    assert_eq!(sandbox.run(&id)["completed_at"], run["completed_at"]);
}

#[test]
fn a_wait_times_out() {
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &waiting_automation(false));
    sandbox.send(&signed_up());
    sandbox.advance(3 * 86_400 - 1);
    assert_eq!(sandbox.run(&id)["status"], "running");
    sandbox.advance(1);
    expect_steps(
        &sandbox.run(&id),
        &[("start", "completed"), ("wait", "completed"), ("thanks", "skipped"), ("remind", "completed")],
    );
    sandbox.send(&json!({"event": "paid", "email": "ada@example.com"}));
    assert_eq!(sandbox.contact("ada@example.com")["last_name"], "remind");
}

#[test]
fn a_wait_without_a_timeout_lasts_until_the_event() {
    let sandbox = Sandbox::new();
    let id = sandbox
        .created("/automations", &chain(vec![step("wait", "wait_for_event", json!({"event_name": "paid"}))]));
    sandbox.send(&signed_up());
    sandbox.advance(10 * 365 * 86_400);
    assert_eq!(sandbox.run(&id)["status"], "running");
    sandbox.send(&json!({"event": "paid", "email": "ada@example.com"}));
    assert_eq!(sandbox.run(&id)["status"], "completed");
}

#[test]
fn the_triggering_event_does_not_end_a_wait() {
    let sandbox = Sandbox::new();
    let wait = step("again", "wait_for_event", json!({"event_name": "user.created"}));
    let id = sandbox.created("/automations", &chain(vec![wait]));
    sandbox.send(&signed_up());
    assert_eq!(sandbox.run(&id)["status"], "running");
    sandbox.send(&signed_up());
    let runs = sandbox.get(format!("/automations/{id}/runs")).json();
    let statuses: Vec<_> = runs["data"].as_array().unwrap().iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, ["running", "completed"]);
}

#[test]
fn contact_steps_update_add_to_a_segment_and_delete() {
    let sandbox = Sandbox::new();
    let segment = sandbox.created("/segments", &json!({"name": "Customers"}));
    sandbox.created("/contact-properties", &json!({"key": "plan", "type": "string"}));
    sandbox.created("/contact-properties", &json!({"key": "seats", "type": "number"}));
    sandbox.created("/contacts", &json!({"email": "ada@example.com", "first_name": "A", "last_name": "L"}));
    let id = sandbox.created(
        "/automations",
        &chain(vec![
            step(
                "note",
                "contact_update",
                json!({
                    "first_name": {"var": "event.name"}, "last_name": null, "unsubscribed": true,
                    "properties": {"plan": {"var": "event.plan"}, "seats": {"var": "event.seats"}},
                }),
            ),
            step("add", "add_to_segment", json!({"segment_id": segment})),
            step("pause", "delay", json!({"duration": "1 hour"})),
            step("gone", "contact_delete", json!({})),
        ]),
    );
    sandbox.send(&signed_up());
    let contact = sandbox.contact("ada@example.com");
    expect_fields_of(&json!({ "first_name": "Ada", "last_name": null }), &contact);
    assert_eq!(contact["unsubscribed"], true);
    assert_eq!(contact["properties"]["plan"]["value"], "pro");
    assert_eq!(contact["properties"]["seats"]["value"], 5);
    assert_eq!(sandbox.ids(format!("/segments/{segment}/contacts")).len(), 1);
    sandbox.advance(3_600);
    assert_eq!(sandbox.get("/contacts/ada@example.com").status, 404);
    assert_eq!(sandbox.run(&id)["status"], "completed");
}

#[test]
fn a_failing_step_fails_its_run_with_a_reason() {
    // RUN-02
    let unknown = "9f3a3a5e-6d0e-4c57-8d5c-0c8a7d1b2f10";
    for (config, words) in [
        (step("x", "send_email", json!({"template": {"id": "nothing"}})), "there is no template"),
        (step("x", "add_to_segment", json!({"segment_id": unknown})), "There is no segment"),
        (step("x", "contact_update", json!({"properties": {"plan": "pro"}})), "is no contact property"),
        (step("x", "contact_update", json!({"unsubscribed": {"var": "event.plan"}})), "must be a boolean"),
        (
            step("x", "contact_update", json!({"first_name": {"var": "event.seats"}})),
            "`first_name` must be a string; found a number.",
        ),
    ] {
        let sandbox = Sandbox::new();
        let id =
            sandbox.created("/automations", &chain(vec![config, step("y", "contact_delete", json!({}))]));
        sandbox.send(&signed_up());
        let run = sandbox.run(&id);
        assert_eq!(run["status"], "failed");
        assert!(run["completed_at"].is_string());
        expect_steps(&run, &[("start", "completed"), ("x", "failed"), ("y", "skipped")]);
        let message = run["steps"][1]["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert!(sandbox.mails().is_empty());
    }
}

#[test]
fn steps_fail_after_their_contact_is_deleted() {
    let sandbox = Sandbox::new();
    let id = sandbox.created(
        "/automations",
        &chain(vec![
            step("pause", "delay", json!({"duration": "1 hour"})),
            step("note", "contact_update", json!({"first_name": "Ada"})),
        ]),
    );
    sandbox.send(&signed_up());
    sandbox.delete("/contacts/ada@example.com");
    sandbox.advance(3_600);
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "failed");
    assert_eq!(run["steps"][2]["error"], json!({"message": "The contact no longer exists."}));
}

#[test]
fn a_wait_for_an_event_of_a_deleted_contact_fails() {
    let wait = || step("wait", "wait_for_event", json!({"event_name": "paid"}));
    let gone = json!({"message": "The contact no longer exists."});
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &chain(vec![wait(), step("x", "contact_delete", json!({}))]));
    sandbox.send(&signed_up());
    sandbox.delete("/contacts/ada@example.com").expect_status(200);
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "failed");
    expect_steps(&run, &[("start", "completed"), ("wait", "failed"), ("x", "skipped")]);
    assert_eq!(run["steps"][1]["error"], gone);
    sandbox.delete(format!("/automations/{id}"));

    let id = sandbox.created("/automations", &chain(vec![step("x", "contact_delete", json!({})), wait()]));
    sandbox.send(&signed_up());
    let run = sandbox.run(&id);
    assert_eq!((&run["status"], &run["steps"][2]["error"]), (&json!("failed"), &gone));
}

#[test]
fn stopping_disables_the_automation_and_cancels_its_runs() {
    // RUN-02
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &with("/name", json!("x")));
    let other = sandbox.created("/automations", &with("/name", json!("y")));
    sandbox.send(&signed_up());
    let answer = sandbox.act(format!("/automations/{id}/stop"));
    assert_eq!(answer.json(), json!({"object": "automation", "id": id, "status": "disabled"}));
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "cancelled");
    assert!(run["completed_at"].is_string());
    expect_steps(&run, &[("start", "completed"), ("pause", "skipped")]);
    assert_eq!(sandbox.get(format!("/automations/{id}")).json()["status"], "disabled");
    assert_eq!(sandbox.run(&other)["status"], "running");

    sandbox.advance(2 * 86_400);
    assert_eq!(sandbox.run(&id), run);
    sandbox.send(&signed_up());
    assert_eq!(sandbox.ids(format!("/automations/{id}/runs")).len(), 1);
    assert_eq!(sandbox.act(format!("/automations/{id}/stop")).status, 200);
}

#[test]
fn runs_continue_with_their_original_definition_after_a_change() {
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &with("/name", json!("x")));
    sandbox.send(&signed_up());
    let other = chain(vec![step("gone", "contact_delete", json!({}))]);
    let change = json!({"status": "disabled", "steps": other["steps"], "connections": other["connections"]});
    assert_eq!(sandbox.patch(format!("/automations/{id}"), &change).status, 200);
    sandbox.advance(86_400);
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "completed");
    expect_steps(&run, &[("start", "completed"), ("pause", "completed")]);
    assert_eq!(sandbox.contact("ada@example.com")["object"], "contact");
}

#[test]
fn deleting_an_automation_deletes_its_runs() {
    let sandbox = Sandbox::new();
    let pause = step("pause", "delay", json!({"duration": "1 day"}));
    let id = sandbox.created("/automations", &chain(vec![pause, step("gone", "contact_delete", json!({}))]));
    sandbox.send(&signed_up());
    assert_eq!(sandbox.delete(format!("/automations/{id}")).status, 200);
    sandbox.advance(2 * 86_400);
    assert_eq!(sandbox.get(format!("/automations/{id}/runs")).status, 404);
    assert_eq!(sandbox.contact("ada@example.com")["object"], "contact");
}

#[test]
fn a_run_that_starts_while_its_automation_is_deleted_changes_nothing() {
    let sandbox = Sandbox::unread();
    sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    // Many runs start before its own, so that the deletion overlaps with the event.
    (0..200).for_each(|_| drop(sandbox.created("/automations", &chain(vec![]))));
    let pause = step("pause", "delay", json!({"duration": "1 hour"}));
    let deletes = chain(vec![pause, step("gone", "contact_delete", json!({}))]);
    for round in 0..20 {
        let id = sandbox.created("/automations", &deletes);
        let delete = || {
            (0..round).for_each(|_| drop(sandbox.get("/automations?limit=1")));
            sandbox.delete(format!("/automations/{id}"));
        };
        race(delete, || drop(sandbox.send(&signed_up())));
        sandbox.advance(3_600);
        assert_eq!(sandbox.contact("ada@example.com")["object"], "contact", "{round}");
    }
}

#[test]
fn runs_are_filtered_by_status_and_paged() {
    // RUN-04, RUN-05, RUN-07
    let sandbox = Sandbox::new();
    let id = sandbox.created("/automations", &waiting_automation(false));
    let other = sandbox.created("/automations", &waiting_automation(false));
    for n in 0..5 {
        sandbox.send(&json!({"event": "user.created", "email": format!("{n}@example.com")}));
    }
    for n in [0, 1] {
        sandbox.send(&json!({"event": "paid", "email": format!("{n}@example.com")}));
    }
    let runs = format!("/automations/{id}/runs");
    let all = sandbox.ids(&runs);
    assert_eq!(all.len(), 5);
    assert_eq!(sandbox.ids(format!("{runs}?status=completed")), all[3..]);
    assert_eq!(sandbox.ids(format!("{runs}?status=running")), all[..3]);
    assert_eq!(sandbox.ids(format!("{runs}?status=running,completed,running")), all);
    assert_eq!(sandbox.ids(format!("{runs}?status=failed,cancelled")), Vec::<String>::new());
    assert_eq!(sandbox.ids(format!("{runs}?limit=2&after={}", all[1])), all[2..4]);
    assert_eq!(sandbox.ids(format!("{runs}?status=completed&after={}", all[1])), all[3..]);
    assert_eq!(sandbox.ids(format!("{runs}?limit=1&before={}", all[4])), all[3..4]);
    for wrong in ["foo", "", "running,", "running,foo", "running failed", "canceled"] {
        let answer = sandbox.get(format!("{runs}?status={}", wrong.replace(' ', "%20")));
        assert_eq!((answer.status.as_u16(), answer.name().as_str()), (422, "validation_error"), "{wrong}");
    }
    let stranger = sandbox.ids(format!("/automations/{other}/runs")).remove(0);
    assert_eq!(sandbox.get(format!("{runs}?after={stranger}")).status, 422);
}

#[test]
fn a_deeply_nested_definition_is_rejected() {
    let sandbox = Sandbox::new();
    for depth in [100, 1_000, 10_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let rules = format!("{}{{}}{}", r#"{"type":"and","rules":["#.repeat(depth), "]}".repeat(depth));
        for config in [
            format!(r#"{{"type":"delay","config":{{"duration":"1 day","deep":{deep}}}}}"#),
            format!(r#"{{"type":"condition","config":{rules}}}"#),
        ] {
            let body = format!(
                r#"{{"name":"x","steps":[{}],"connections":[]}}"#,
                config.replacen('{', r#"{"key":"a","#, 1)
            );
            let answer = sandbox.ask(Method::POST, "/automations").send(body);
            assert_eq!(answer.status, 422, "{depth}: {}", answer.text());
        }
        let event = format!(r#"{{"event":"x","email":"a@b.test","payload":{{"deep":{deep}}}}}"#);
        let answer = sandbox.ask(Method::POST, "/events/send").send(event);
        assert_eq!(answer.status, if depth < 120 { 202 } else { 422 }, "{depth}: {}", answer.text());
    }
}

#[test]
fn the_oldest_finished_run_is_evicted_first() {
    let sandbox = Sandbox::with(&Settings { keep_records: 3, ..Settings::default() });
    let id = sandbox.created("/automations", &waiting_automation(false));
    let email = |n: u8| json!({"event": "user.created", "email": format!("{n}@example.com")});
    for n in 0..3 {
        sandbox.send(&email(n));
    }
    let runs = format!("/automations/{id}/runs");
    let before = sandbox.ids(&runs);
    let answer = sandbox.post("/events/send", &email(0));
    assert_eq!(answer.status, 403, "all are running: {}", answer.text());
    sandbox.send(&json!({"event": "paid", "email": "1@example.com"}));
    sandbox.send(&email(0));
    let after = sandbox.ids(&runs);
    assert_eq!(after[1..], [before[0].clone(), before[2].clone()]);
}

#[test]
fn an_event_for_which_no_run_can_start_creates_no_contact() {
    let sandbox = Sandbox::with(&Settings { keep_records: 2, ..Settings::default() });
    sandbox.created("/automations", &waiting_automation(false));
    for _ in 0..2 {
        sandbox.send(&json!({"event": "user.created", "email": "bob@example.com"}));
    }
    let answer = sandbox.post("/events/send", &signed_up());
    assert_eq!(answer.status, 403, "all are running: {}", answer.text());
    assert_eq!(sandbox.get("/contacts/ada@example.com").status, 404);
    sandbox.send(&json!({"event": "paid", "email": "bob@example.com"}));
    sandbox.send(&signed_up());
}

#[test]
fn an_event_starts_the_runs_of_all_automations_or_of_none() {
    let sandbox = Sandbox::with(&Settings { keep_records: 3, ..Settings::default() });
    let automations: Vec<_> =
        (0..2).map(|_| sandbox.created("/automations", &waiting_automation(false))).collect();
    let runs = || automations.iter().map(|id| sandbox.ids(format!("/automations/{id}/runs")).len());
    sandbox.send(&signed_up());
    let answer = sandbox.post("/events/send", &signed_up());
    assert_eq!(answer.status, 403, "there is room for one run: {}", answer.text());
    assert_eq!(runs().collect::<Vec<_>>(), [1, 1]);
    sandbox.send(&json!({"event": "paid", "email": "ada@example.com"}));
    sandbox.send(&signed_up());
    assert_eq!(runs().sum::<usize>(), 3, "the oldest of the ended runs is evicted");
}

/// Waits for a service event, under both of its names.
fn wait_for_event(event: &str) -> Value {
    chain(vec![step("wait", "wait_for_event", json!({"event_name": event, "timeout": "3 days"}))])
}

#[test]
fn a_wait_ends_on_an_email_event_of_its_contact() {
    for (event, recipient) in [
        ("email.delivered", "ada@example.com"),
        ("resend:email.delivered", "Ada <ADA@example.com>"),
        ("resend:email.opened", "opened@example.com"),
        ("email.clicked", "clicked+a@example.com"),
        ("resend:email.bounced", "bounced@example.com"),
        ("resend:email.complained", "complained@example.com"),
        ("resend:email.suppressed", "suppressed@example.com"),
        ("resend:email.failed", "failed@example.com"),
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.created("/automations", &wait_for_event(event));
        let address = recipient.trim_end_matches('>').rsplit('<').next().unwrap();
        sandbox.send(&json!({"event": "user.created", "email": address}));
        sandbox.sent(&email_with("to", json!(["other@example.com"])));
        sandbox.advance(10);
        assert_eq!(sandbox.run(&id)["status"], "running", "{event}: for another contact");
        let sent = sandbox.sent(&email_with("to", json!([recipient])));
        sandbox.advance(10);
        let run = sandbox.run(&id);
        assert_eq!(run["status"], "completed", "{event}: {run}");
        let output = &run["steps"][1]["output"];
        assert_eq!(output["event"], event.trim_start_matches("resend:"));
        assert_eq!(output["payload"]["email_id"], sent.as_str());
    }
}

#[test]
fn an_email_event_resumes_a_run_once_under_both_of_its_names() {
    let sandbox = Sandbox::new();
    let wait = |key: &str, name: &str| step(key, "wait_for_event", json!({"event_name": name}));
    let waits = chain(vec![wait("first", "email.delivered"), wait("second", "resend:email.delivered")]);
    let id = sandbox.created("/automations", &waits);
    sandbox.send(&signed_up());
    for status in ["running", "completed"] {
        sandbox.sent(&email());
        sandbox.advance(10);
        assert_eq!(sandbox.run(&id)["status"], status);
    }
}

#[test]
fn an_email_event_concerns_a_contact_once_however_often_the_email_names_it() {
    let sandbox = Sandbox::new();
    sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    let id = sandbox.created("/automations", &with("/steps/0/config/event_name", json!("email.sent")));
    sandbox.sent(&email_with("to", json!(["ada@example.com", "Ada <ADA@example.com>"])));
    assert_eq!(sandbox.ids(format!("/automations/{id}/runs")).len(), 1);
}

#[test]
fn automations_see_the_details_of_an_email_event_that_webhooks_get() {
    let sandbox = Sandbox::new();
    sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    let topic = sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_out"}));
    let condition = |event: &str, field: &str, value: &str| {
        let rule = json!({"type": "rule", "field": field, "operator": "eq", "value": value});
        let mut automation = chain(vec![step("check", "condition", rule)]);
        automation["steps"][0]["config"]["event_name"] = event.into();
        sandbox.created("/automations", &automation)
    };
    let clicked = condition("email.clicked", "event.click.link", "https://acme.test/x");
    let failed = condition("email.failed", "event.failed.reason", "recipients_opted_out");
    let sent = sandbox.sent(&email());
    sandbox.trigger(&sent, "clicked", &json!({"link": "https://acme.test/x"}));
    sandbox.sent(&email_with("topic_id", topic));
    sandbox.advance(10);
    for id in [clicked, failed] {
        assert_eq!(sandbox.run(&id)["steps"][1]["output"], json!({"condition_met": true}));
    }
}

#[test]
fn a_wait_filter_sees_the_email_event_payload() {
    let sandbox = Sandbox::new();
    let mut config = json!({"event_name": "resend:email.opened"});
    config["filter_rule"] =
        json!({"type": "rule", "field": "event.subject", "operator": "eq", "value": "Welcome"});
    let id = sandbox.created("/automations", &chain(vec![step("wait", "wait_for_event", config)]));
    sandbox.send(&json!({"event": "user.created", "email": "opened@example.com"}));
    for (subject, status) in [("Another", "running"), ("Welcome", "completed")] {
        let email = email_of(&json!({"to": ["opened@example.com"], "subject": subject}));
        sandbox.sent(&email);
        sandbox.advance(10);
        assert_eq!(sandbox.run(&id)["status"], status, "{subject}");
    }
}

#[test]
fn the_email_of_an_automation_has_no_literal_placeholders() {
    // TPL-18, TPL-39
    let sandbox = Sandbox::new();
    let html = "{{{contact.first_name|friend}}} {{{contact.city|Rome}}} {{{SERVICE_UNSUBSCRIBE_URL}}}";
    let template = json!({"name": "Welcome", "from": "hi@acme.test", "subject": "Welcome", "html": html});
    let template = sandbox.published(&template);
    sandbox.created("/contacts", &json!({"email": "ada@example.com", "first_name": "Ada"}));
    let send = step("send", "send_email", json!({"template": {"id": template}}));
    sandbox.created("/automations", &chain(vec![send]));
    sandbox.send(&json!({"event": "user.created", "email": "ada@example.com"}));
    sandbox.advance(10);
    let mail = sandbox.mail();
    let link = mail.html.as_deref().unwrap().strip_prefix("Ada Rome http://sandbox.invalid").unwrap();
    assert_eq!(sandbox.ask(Method::POST, link).no_key().send("List-Unsubscribe=One-Click").status, 200);
    assert_eq!(sandbox.contact("ada@example.com")["unsubscribed"], true);
}

#[test]
fn email_events_start_runs_unless_an_automation_sent_the_email() {
    let sandbox = Sandbox::new();
    let template =
        json!({"name": "Welcome", "from": "hi@acme.test", "subject": "Welcome", "html": "<p>Hello</p>"});
    let template = sandbox.published(&template);
    sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    for event in ["email.sent", "resend:email.delivered"] {
        let mut automation = chain(vec![
            step("send", "send_email", json!({"template": {"id": template}})),
            step("wait", "wait_for_event", json!({"event_name": event, "timeout": "1 day"})),
        ]);
        automation["steps"][0]["config"]["event_name"] = event.into();
        let id = sandbox.created("/automations", &automation);
        sandbox.sent(&email_with("to", json!(["ada@example.com"])));
        sandbox.advance(3_600);
        assert_eq!(sandbox.ids(format!("/automations/{id}/runs")).len(), 1, "{event}");
        // The email sent by the run ends its wait.
        assert_eq!(sandbox.run(&id)["status"], "completed", "{event}");
        sandbox.delete(format!("/automations/{id}")).expect_status(200);
    }
    assert_eq!(sandbox.mails().len(), 4);
}

/// Publishes a template whose subject shows these variables, each with the fallback `-`.
fn subject_of(sandbox: &Sandbox, variables: &[&str]) -> String {
    let declared: Vec<_> =
        variables.iter().map(|key| json!({"key": key, "type": "string", "fallback_value": "-"})).collect();
    let subject = variables.iter().map(|key| format!("{{{{{{{key}}}}}}}")).collect::<Vec<_>>().join(" ");
    let template = json!({"name": "T", "from": "hi@acme.test", "subject": subject, "html": "<p>Hi</p>", "variables": declared});
    sandbox.published(&template)
}

#[test]
fn steps_read_awaited_events_and_the_last_of_the_same_name_counts_even_over_a_restart() {
    let mut sandbox = Restartable::new();
    let template = subject_of(&sandbox, &["CURRENCY", "NOTE", "ONLY", "PLAN"]);
    let wait = |key: &str| step(key, "wait_for_event", json!({"event_name": "order.paid"}));
    let mut second = wait("second");
    // The second payment is awaited in another currency than the first one.
    second["config"]["filter_rule"] = json!({"type": "and", "rules": [
        {"type": "rule", "field": "event.currency", "operator": "eq", "value": "EUR"},
        {"type": "rule", "field": "wait_events.order.paid.currency", "operator": "eq", "value": "USD"},
    ]});
    let id = sandbox.created(
        "/automations",
        &chain(vec![
            wait("first"),
            step("note", "contact_update", json!({"first_name": {"var": "wait_events.order.paid.note.text"}})),
            second,
            step(
                "check",
                "condition",
                json!({"type": "rule", "field": "wait_events.order.paid.total", "operator": "gt", "value": 15}),
            ),
            step(
                "mail",
                "send_email",
                json!({"template": {"id": template, "variables": {
                    "CURRENCY": {"var": "wait_events.order.paid.currency"}, "NOTE": {"var": "wait_events.order.paid.note"},
                    "ONLY": {"var": "wait_events.order.paid.only"}, "PLAN": {"var": "event.plan"},
                }}}),
            ),
        ]),
    );
    sandbox.send(&signed_up());
    let paid =
        |payload: Value| json!({"event": "order.paid", "email": "ada@example.com", "payload": payload});
    sandbox.send(&paid(json!({"total": 10, "currency": "USD", "only": "first", "note": {"text": "Hello"}})));
    assert_eq!(sandbox.contact("ada@example.com")["first_name"], "Hello");
    sandbox.restart();
    sandbox.send(&paid(json!({"total": 20, "currency": "USD"})));
    assert_eq!(sandbox.run(&id)["status"], "running", "the filter reads both events");
    sandbox.send(&paid(json!({"total": 20, "currency": "EUR", "note": [1, true]})));
    let run = sandbox.run(&id);
    assert_eq!(run["status"], "completed", "{run}");
    assert_eq!(run["steps"][4]["output"], json!({"condition_met": true}));
    // The last event has no field `only`: the fallback applies.
    assert_eq!(sandbox.mails()[0].subject, "EUR [1,true] - pro");
}

#[test]
fn booleans_arrays_and_objects_are_rendered_as_json() {
    let sandbox = Sandbox::new();
    let template = subject_of(&sandbox, &["YES", "LIST", "OBJECT"]);
    let variables = json!({"YES": true, "LIST": ["a", 1], "OBJECT": {"a": "b", "c": null}});
    let mail = step("mail", "send_email", json!({"template": {"id": template, "variables": variables}}));
    let id = sandbox.created("/automations", &chain(vec![mail]));
    let kept =
        &sandbox.get(format!("/automations/{id}")).json()["steps"][1]["config"]["template"]["variables"];
    assert_eq!(kept, &variables);
    sandbox.send(&signed_up());
    assert_eq!(sandbox.mails()[0].subject, r#"true ["a",1] {"a":"b","c":null}"#);
}

#[test]
fn a_number_is_rendered_where_the_template_wants_a_string() {
    let sandbox = Sandbox::new();
    let template = json!({"name": "T", "from": "hi@acme.test", "subject": "{{{TEXT}}} {{{NUMBER}}}", "html": "<p>Hi</p>", "variables": [
        {"key": "TEXT", "type": "string"}, {"key": "NUMBER", "type": "number"},
    ]});
    let template = sandbox.published(&template);
    let variables = json!({"TEXT": {"var": "event.seats"}, "NUMBER": {"var": "event.seats"}});
    let mail = step("mail", "send_email", json!({"template": {"id": template, "variables": variables}}));
    let id = sandbox.created("/automations", &chain(vec![mail]));
    sandbox.send(&signed_up());
    assert_eq!(sandbox.run(&id)["status"], "completed");
    assert_eq!(sandbox.mails()[0].subject, "5 5");
}

#[test]
fn the_topic_of_an_email_step_decides_by_the_subscription_of_its_contact() {
    let sandbox = Sandbox::new();
    let topic = sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_out"}));
    let template = subject_of(&sandbox, &["A"]);
    let mail =
        |topic: &str| step("mail", "send_email", json!({"template": {"id": template}, "topic_id": topic}));
    let id = sandbox.created("/automations", &chain(vec![mail(&topic)]));
    let ada = sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    sandbox.send(&signed_up());
    assert_eq!(sandbox.run(&id)["status"], "completed");
    assert!(sandbox.mails().is_empty(), "the contact didn't opt in");
    sandbox.patch(format!("/contacts/{ada}/topics"), &json!([{"id": topic, "subscription": "opt_in"}]));
    sandbox.send(&signed_up());
    assert_eq!(sandbox.mails().len(), 1);

    let unknown = sandbox.created("/automations", &chain(vec![mail("9f3a3a5e-6d0e-4c57-8d5c-0c8a7d1b2f10")]));
    sandbox.send(&signed_up());
    let run = sandbox.run(&unknown);
    assert_eq!(run["status"], "failed");
    assert!(run["steps"][1]["error"]["message"].as_str().unwrap().contains("topic_id"), "{run}");
}
