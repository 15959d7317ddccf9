//! Validation of automation definitions: the format of steps and conditions, and the graph of connections.
//!
//! The rules apply to the definition's JSON, so that definitions built in Rust and read from a file are validated alike, and every problem has a
//! location. The specification doesn't define valid graphs. Here, keys must be unique, connections must refer to existing steps, a step has at most
//! one connection of each type (a run takes one path), no connection may lead to a trigger or close a cycle, and connection types that depend on an
//! outcome require steps with that outcome.

mod config;
mod graph;

use std::collections::HashMap;

use graph::Node;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::problem::{Validator, limits, present};

const FIELDS: [&str; 4] = ["name", "status", "steps", "connections"];

const STEP_TYPES: [&str; 8] = [
    "trigger",
    "send_email",
    "delay",
    "wait_for_event",
    "condition",
    "contact_update",
    "contact_delete",
    "add_to_segment",
];

/// Validates a definition built in Rust, through its JSON.
pub(super) fn validate_built(
    v: &mut Validator,
    definition: &impl Serialize,
    check: impl FnOnce(&mut Validator, &Value),
) {
    match serde_json::to_value(definition) {
        Ok(json) => check(v, &json),
        Err(error) => v.report_found("type", "the definition can't be serialized as JSON", error),
    }
}

/// Validates the body of a new automation.
pub(super) fn new_automation(v: &mut Validator, json: &Value) {
    let Some(fields) = v.object(json, "an automation") else { return };
    v.check_known_fields(fields, "an automation", &FIELDS);
    v.required_text(fields, "name");
    check_status(v, fields);
    if v.required_field(fields, "steps").is_some() {
        check_definition(v, fields);
    }
    v.required_field(fields, "connections");
}

/// Validates the body of an update.
pub(super) fn check_patch(v: &mut Validator, json: &Value) {
    let Some(fields) = v.object(json, "an update") else { return };
    v.check_known_fields(fields, "an update", &FIELDS);
    if fields.values().all(Value::is_null) {
        let rule = "an update must set `name`, `status`, or `steps` with `connections`";
        v.report("required", rule);
    }
    v.non_empty_text(fields, "name");
    check_status(v, fields);
    match (present(fields, "steps"), present(fields, "connections")) {
        (Some(_), None) => v.report_at("connections", "required", "`connections` is required with `steps`"),
        (None, Some(_)) => v.report_at("steps", "required", "`steps` is required with `connections`"),
        (Some(_), Some(_)) => check_definition(v, fields),
        (None, None) => {}
    }
}

fn check_status(v: &mut Validator, fields: &Map<String, Value>) {
    let known = |value: &&Value| matches!(value.as_str(), Some("enabled" | "disabled"));
    if let Some(value) = present(fields, "status").filter(|value| !known(value)) {
        v.field("status", |v| v.wrong_type("`status` must be `enabled` or `disabled`", value));
    }
}

fn check_definition(v: &mut Validator, fields: &Map<String, Value>) {
    let mut nodes = HashMap::new();
    let mut complete = false;
    if let Some(steps) = v.list(fields, "steps") {
        complete = !steps.is_empty();
        if steps.is_empty() || steps.len() > limits::STEPS_PER_AUTOMATION {
            let rule = format!("an automation must have 1 to {} steps", limits::STEPS_PER_AUTOMATION);
            v.field("steps", |v| v.report_found("count", rule, steps.len()));
        }
        v.for_each_item("steps", steps.iter().enumerate(), |v, (place, json)| {
            complete &= check_step(v, place, json, &mut nodes);
        });
        // A step with a misspelled type may have been meant as a trigger.
        let triggered = |node: &Node<'_>| node.kind == "trigger" || !STEP_TYPES.contains(&node.kind);
        if complete && !nodes.values().any(triggered) {
            v.report_at("steps", "required", "at least one step must be a `trigger`");
        }
    }
    if let Some(connections) = v.list(fields, "connections") {
        graph::check_connections(v, connections, complete.then_some(&nodes));
    }
}

/// Validates one step. Returns whether it has a key and a type against which connections can be validated.
fn check_step<'a>(
    v: &mut Validator,
    place: usize,
    json: &'a Value,
    nodes: &mut HashMap<&'a str, Node<'a>>,
) -> bool {
    let Some(fields) = v.object(json, "a step") else { return false };
    v.check_known_fields(fields, "a step", &["key", "type", "config"]);
    let key = v.required_text(fields, "key");
    let kind = v.required_text(fields, "type");
    if let Some(key) = key {
        if let Some(first) = nodes.get(key) {
            let rule = format!("`key` must be unique; step {} already has this key", first.place);
            v.field("key", |v| v.report_found("exclusive", rule, key));
        } else {
            nodes.insert(key, Node { place, kind: kind.unwrap_or_default() });
        }
    }
    if let Some(kind) = kind
        && v.field("type", |v| v.check_one_of("`type`", &STEP_TYPES, kind))
        && let Some(config) = v.required_field(fields, "config")
    {
        v.field("config", |v| config::check_config(v, kind, config));
    }
    key.is_some() && kind.is_some()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use serde_json::json;

    use super::*;
    use crate::problem::codes;

    fn sound() -> Value {
        json!({"name": "Welcome", "steps": [
            {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
            {"key": "pro", "type": "condition", "config":
                {"type": "rule", "field": "event.plan", "operator": "eq", "value": "pro"}},
            {"key": "mail", "type": "send_email", "config": {"template": {"id": "welcome"}}},
        ], "connections": [
            {"from": "start", "to": "pro"},
            {"from": "pro", "to": "mail", "type": "condition_met"},
        ]})
    }

    fn with(pointer: &str, value: Value) -> Value {
        let mut json = sound();
        *json.pointer_mut(pointer).unwrap() = value;
        json
    }

    fn delays(keys: Range<usize>) -> Vec<Value> {
        keys.map(|n| json!({"key": n.to_string(), "type": "delay", "config": {"duration": "1 day"}}))
            .collect()
    }

    fn found(check: impl FnOnce(&mut Validator)) -> String {
        codes(Validator::run(check))
    }

    fn problems(json: &Value) -> String {
        found(|v| new_automation(v, json))
    }

    #[test]
    fn a_valid_definition_has_no_problems() {
        assert_eq!(problems(&sound()), "");
        assert_eq!(problems(&with("/steps/1/config/field", json!("wait_events.order.paid.total"))), "");
        let variables =
            json!({"A": true, "B": [1, {"c": 2}], "C": {"d": null}, "D": {"var": "wait_events.paid.n"}});
        let email = json!({"template": {"id": "welcome", "variables": variables}, "topic_id": "78261eea-8f8b-4381-83c6-79fa7120f1cf"});
        assert_eq!(problems(&with("/steps/2/config", email)), "");
    }

    #[test]
    fn every_problem_is_reported_with_its_location() {
        let step = |kind: &str, config: Value| {
            with("/steps/2", json!({"key": "mail", "type": kind, "config": config}))
        };
        for (json, expected) in [
            (with("/name", json!("")), "empty /name"),
            (with("/name", json!(null)), "required /name"),
            (with("/steps", json!([])), "count /steps"),
            (with("/steps", json!("none")), "type /steps"),
            (with("/connections", json!(null)), "required /connections"),
            (with("/steps/0/config", json!({})), "required /steps/0/config/event_name"),
            (with("/steps/0/type", json!("start")), "type /steps/0/type"),
            (step("delay", json!({"duration": ""})), "empty /steps/2/config/duration"),
            (step("delay", json!(5)), "type /steps/2/config"),
            (step("contact_delete", json!({"a": 1})), "unknown /steps/2/config/a"),
            (step("add_to_segment", json!({})), "required /steps/2/config/segment_id"),
            (step("contact_update", json!({"unsubscribed": "yes"})), "type /steps/2/config/unsubscribed"),
            (
                step("contact_update", json!({"properties": {"a/b": [1]}})),
                "type /steps/2/config/properties/a~1b",
            ),
            (
                step("contact_update", json!({"first_name": {"var": "name"}})),
                "reference /steps/2/config/first_name/var",
            ),
            (
                step("send_email", json!({"template": {"id": "a", "variables": {"B": null}}})),
                "type /steps/2/config/template/variables/B",
            ),
            (
                step("send_email", json!({"template": {"id": "a"}, "topic_id": ""})),
                "empty /steps/2/config/topic_id",
            ),
            (with("/steps/1/config/field", json!("wait_events.paid")), "reference /steps/1/config/field"),
            (with("/steps/1/config/field", json!("plan")), "reference /steps/1/config/field"),
            (with("/steps/1/config/operator", json!("is")), "type /steps/1/config/operator"),
            (with("/steps/1/config/operator", json!("gt")), "type /steps/1/config/value"),
            (with("/steps/1/config/operator", json!("exists")), "exclusive /steps/1/config/value"),
            (with("/steps/1/config", json!({"type": "and", "rules": []})), "empty /steps/1/config/rules"),
            (
                with("/steps/1/config", json!({"type": "or", "rules": [{"type": "not"}]})),
                "type /steps/1/config/rules/0/type",
            ),
            (with("/connections/1/to", json!("male")), "reference /connections/1/to"),
            (with("/connections/1/to", json!("start")), "reference /connections/1/to"),
            (with("/connections/1/type", json!("timeout")), "reference /connections/1/type"),
            (with("/connections/1/type", json!("later")), "type /connections/1/type"),
            (with("/connections/1/to", json!("pro")), "cycle /connections/1"),
        ] {
            assert_eq!(problems(&json), expected, "{json}");
        }
    }

    #[test]
    fn step_keys_are_unique_and_a_run_takes_one_path() {
        assert!(problems(&with("/steps/2/key", json!("pro"))).starts_with("exclusive /steps/2/key"));
        let twice =
            json!([{"from": "start", "to": "pro"}, {"from": "start", "to": "mail", "type": "default"}]);
        assert_eq!(problems(&with("/connections", twice)), "exclusive /connections/1");
    }

    #[test]
    fn an_automation_has_a_trigger_and_at_most_a_hundred_and_fifty_steps() {
        let json = |steps: Vec<Value>| json!({"name": "x", "steps": steps, "connections": []});
        assert_eq!(problems(&json(delays(1..2))), "required /steps");
        let all = |count| [vec![sound()["steps"][0].clone()], delays(0..count)].concat();
        assert_eq!(problems(&json(all(149))), "");
        assert_eq!(problems(&json(all(150))), "count /steps");
    }

    #[test]
    fn an_update_sets_at_least_one_field_and_steps_only_with_connections() {
        let problems = |json| found(|v| check_patch(v, &json));
        assert_eq!(problems(json!({})), "required");
        assert_eq!(problems(json!({"name": "x"})), "");
        assert_eq!(problems(json!({"status": "on"})), "type /status");
        assert_eq!(problems(json!({"steps": sound()["steps"]})), "required /connections");
        assert_eq!(problems(json!({"connections": []})), "required /steps");
        assert_eq!(problems(json!({"steps": sound()["steps"], "connections": []})), "");
    }

    #[test]
    fn a_long_cycle_is_reported_at_the_connection_that_closes_it() {
        let steps = [vec![sound()["steps"][0].clone()], delays(1..100)].concat();
        let mut connections: Vec<_> =
            (1..99).map(|n| json!({"from": n.to_string(), "to": (n + 1).to_string()})).collect();
        connections.push(json!({"from": "99", "to": "1"}));
        connections.push(json!({"from": "start", "to": "1"}));
        let json = json!({"name": "x", "steps": steps, "connections": connections});
        assert_eq!(problems(&json), "cycle /connections/98");
    }
}
