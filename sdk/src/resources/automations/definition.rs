//! What makes a definition sound: the shape of its steps and rules, and of the graph that the connections draw.
//!
//! The rules are judged on the definition as it is written on the wire, so that one built in Rust and one read from a file
//! are held to the same ones, and every problem has its place. The specification is silent on what connections may draw.
//! Here: keys name one step each, connections name steps that exist, a step has one connection of each type at most (a run
//! goes one way), nothing leads into a trigger or back to a step on the way to it, and the types that depend on an outcome
//! belong to the steps that have it.

mod config;
mod graph;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::problem::{Problem, limits};

/// Everything that is wrong with the body of a new automation.
pub(super) fn new_automation(json: &Value) -> Vec<Problem> {
    let mut judge = Judge::default();
    if let Some(fields) = judge.object("", json, "an automation") {
        judge.known(fields, "", &["name", "status", "steps", "connections"]);
        if judge.required(fields, "", "name").is_some() {
            judge.text(fields, "", "name");
        }
        judge.status(fields);
        if judge.required(fields, "", "steps").is_some() {
            judge.definition(fields);
        }
        judge.required(fields, "", "connections");
    }
    judge.problems
}

/// Everything that is wrong with the body of an update.
pub(super) fn patch(json: &Value) -> Vec<Problem> {
    let mut judge = Judge::default();
    if let Some(fields) = judge.object("", json, "an update") {
        judge.known(fields, "", &["name", "status", "steps", "connections"]);
        if fields.values().all(Value::is_null) {
            judge.problem(
                "",
                "required",
                "an update changes something: `name`, `status`, or `steps` with `connections`",
            );
        }
        judge.text(fields, "", "name");
        judge.status(fields);
        let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
        match (given("steps"), given("connections")) {
            (Some(_), None) => judge.problem("/connections", "required", "`connections` goes with `steps`"),
            (None, Some(_)) => judge.problem("/steps", "required", "`steps` goes with `connections`"),
            (Some(_), Some(_)) => judge.definition(fields),
            (None, None) => {}
        }
    }
    judge.problems
}

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

#[derive(Default)]
struct Judge {
    problems: Vec<Problem>,
}

/// A step as far as the graph is concerned.
struct Node<'a> {
    place: usize,
    kind: &'a str,
}

impl Judge {
    fn problem(&mut self, path: impl Into<String>, code: &'static str, rule: impl Into<String>) {
        self.problems.push(Problem::new(path, code, rule));
    }

    fn found(&mut self, path: String, code: &'static str, rule: impl Into<String>, found: &str) {
        self.problems.push(Problem::new(path, code, rule).found(found));
    }

    fn wrong_type(&mut self, path: String, rule: impl Into<String>, value: &Value) {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
            other => other.to_string(),
        };
        self.problems.push(Problem::new(path, "type", rule).found(found));
    }

    fn object<'a>(&mut self, at: &str, value: &'a Value, what: &str) -> Option<&'a Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.wrong_type(at.to_owned(), format!("{what} is an object"), value);
        }
        object
    }

    fn known(&mut self, fields: &Map<String, Value>, at: &str, names: &[&str]) {
        for name in fields.keys().filter(|name| !names.contains(&name.as_str())) {
            let rule = format!("there is no such field here; there are {}", names.join(", "));
            self.problem(format!("{at}/{}", pointer(name)), "unknown", rule);
        }
    }

    fn required<'a>(&mut self, fields: &'a Map<String, Value>, at: &str, name: &str) -> Option<&'a Value> {
        let value = fields.get(name).filter(|value| !value.is_null());
        if value.is_none() {
            self.problem(format!("{at}/{name}"), "required", format!("`{name}` is required"));
        }
        value
    }

    /// A text that is not empty, if it is there.
    fn text<'a>(&mut self, fields: &'a Map<String, Value>, at: &str, name: &str) -> Option<&'a str> {
        let value = fields.get(name)?;
        match value.as_str() {
            None => self.wrong_type(format!("{at}/{name}"), format!("`{name}` is a text"), value),
            Some("") => self.problem(format!("{at}/{name}"), "empty", format!("`{name}` must not be empty")),
            text => return text,
        }
        None
    }

    fn required_text<'a>(&mut self, fields: &'a Map<String, Value>, at: &str, name: &str) -> Option<&'a str> {
        self.required(fields, at, name)?;
        self.text(fields, at, name)
    }

    fn status(&mut self, fields: &Map<String, Value>) {
        if let Some(value) =
            fields.get("status").filter(|value| !matches!(value.as_str(), Some("enabled" | "disabled")))
        {
            self.wrong_type("/status".to_owned(), "a status is `enabled` or `disabled`", value);
        }
    }

    fn definition(&mut self, fields: &Map<String, Value>) {
        let mut nodes = HashMap::new();
        let mut complete = false;
        if let Some(value) = fields.get("steps") {
            match value.as_array() {
                None => self.wrong_type("/steps".to_owned(), "`steps` is a list", value),
                Some(steps) => {
                    complete = !steps.is_empty();
                    if steps.is_empty() || steps.len() > limits::STEPS_PER_AUTOMATION {
                        let rule = format!("an automation has 1 to {} steps", limits::STEPS_PER_AUTOMATION);
                        self.found("/steps".to_owned(), "count", rule, &steps.len().to_string());
                    }
                    for (place, step) in steps.iter().enumerate() {
                        complete &= self.step(place, step, &mut nodes);
                    }
                    // A type that is misspelt may have meant one.
                    let triggered = nodes
                        .values()
                        .any(|node: &Node<'_>| node.kind == "trigger" || !STEP_TYPES.contains(&node.kind));
                    if complete && !triggered {
                        self.problem("/steps", "required", "one step at least is a `trigger`");
                    }
                }
            }
        }
        if let Some(value) = fields.get("connections").filter(|value| !value.is_null()) {
            match value.as_array() {
                None => self.wrong_type("/connections".to_owned(), "`connections` is a list", value),
                Some(connections) => self.connections(connections, complete.then_some(&nodes)),
            }
        }
    }

    /// Judges one step. False if it has no key or type that connections could be judged by.
    fn step<'a>(&mut self, place: usize, step: &'a Value, nodes: &mut HashMap<&'a str, Node<'a>>) -> bool {
        let at = format!("/steps/{place}");
        let Some(fields) = self.object(&at, step, "a step") else { return false };
        self.known(fields, &at, &["key", "type", "config"]);
        let key = self.required_text(fields, &at, "key");
        let kind = self.required_text(fields, &at, "type");
        if let Some(key) = key {
            if let Some(first) = nodes.get(key) {
                let rule = format!("a key names one step; this one names step {} already", first.place);
                self.found(format!("{at}/key"), "exclusive", rule, key);
            } else {
                nodes.insert(key, Node { place, kind: kind.unwrap_or_default() });
            }
        }
        if let Some(kind) = kind {
            if !STEP_TYPES.contains(&kind) {
                let rule = format!("a step's type is one of {}", STEP_TYPES.join(", "));
                self.found(format!("{at}/type"), "type", rule, kind);
            } else if let Some(config) = self.required(fields, &at, "config") {
                self.config(kind, &format!("{at}/config"), config);
            }
        }
        key.is_some() && kind.is_some()
    }
}

fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

    fn told(json: &Value) -> Vec<(String, &'static str)> {
        new_automation(json).into_iter().map(|problem| (problem.path, problem.code)).collect()
    }

    #[test]
    fn a_sound_definition_has_no_problem() {
        assert_eq!(new_automation(&sound()), []);
    }

    #[test]
    fn every_problem_is_told_at_its_place() {
        let step = |kind: &str, config: Value| json!({"key": "mail", "type": kind, "config": config});
        for (json, path, code) in [
            (with("/name", json!("")), "/name", "empty"),
            (with("/name", json!(null)), "/name", "required"),
            (with("/steps", json!([])), "/steps", "count"),
            (with("/steps", json!("none")), "/steps", "type"),
            (with("/connections", json!(null)), "/connections", "required"),
            (with("/steps/0/config", json!({})), "/steps/0/config/event_name", "required"),
            (with("/steps/0/type", json!("start")), "/steps/0/type", "type"),
            (with("/steps/2", step("delay", json!({"duration": ""}))), "/steps/2/config/duration", "empty"),
            (with("/steps/2", step("delay", json!(5))), "/steps/2/config", "type"),
            (with("/steps/2", step("contact_delete", json!({"a": 1}))), "/steps/2/config/a", "unknown"),
            (with("/steps/2", step("add_to_segment", json!({}))), "/steps/2/config/segment_id", "required"),
            (
                with("/steps/2", step("contact_update", json!({"unsubscribed": "yes"}))),
                "/steps/2/config/unsubscribed",
                "type",
            ),
            (
                with("/steps/2", step("contact_update", json!({"properties": {"a/b": [1]}}))),
                "/steps/2/config/properties/a~1b",
                "type",
            ),
            (
                with("/steps/2", step("contact_update", json!({"first_name": {"var": "name"}}))),
                "/steps/2/config/first_name/var",
                "reference",
            ),
            (
                with(
                    "/steps/2",
                    step("send_email", json!({"template": {"id": "a", "variables": {"B": true}}})),
                ),
                "/steps/2/config/template/variables/B",
                "type",
            ),
            (with("/steps/1/config/field", json!("plan")), "/steps/1/config/field", "reference"),
            (with("/steps/1/config/operator", json!("is")), "/steps/1/config/operator", "type"),
            (with("/steps/1/config/operator", json!("gt")), "/steps/1/config/value", "type"),
            (with("/steps/1/config/operator", json!("exists")), "/steps/1/config/value", "exclusive"),
            (with("/steps/1/config", json!({"type": "and", "rules": []})), "/steps/1/config/rules", "empty"),
            (
                with("/steps/1/config", json!({"type": "or", "rules": [{"type": "not"}]})),
                "/steps/1/config/rules/0/type",
                "type",
            ),
            (with("/connections/1/to", json!("male")), "/connections/1/to", "reference"),
            (with("/connections/1/to", json!("start")), "/connections/1/to", "reference"),
            (with("/connections/1/type", json!("timeout")), "/connections/1/type", "reference"),
            (with("/connections/1/type", json!("later")), "/connections/1/type", "type"),
            (with("/connections/1/to", json!("pro")), "/connections/1", "cycle"),
        ] {
            assert_eq!(told(&json), [(path.to_owned(), code)], "{json}");
        }
    }

    #[test]
    fn a_key_names_one_step_and_a_run_goes_one_way() {
        assert_eq!(
            told(&with("/steps/2/key", json!("pro"))).first().unwrap(),
            &("/steps/2/key".into(), "exclusive")
        );
        let twice =
            json!([{"from": "start", "to": "pro"}, {"from": "start", "to": "mail", "type": "default"}]);
        assert_eq!(told(&with("/connections", twice)), [("/connections/1".into(), "exclusive")]);
    }

    #[test]
    fn an_automation_has_a_trigger_and_at_most_a_hundred_and_fifty_steps() {
        let delays = |count| {
            (0..count)
                .map(|n| json!({"key": n.to_string(), "type": "delay", "config": {"duration": "1 day"}}))
                .collect::<Vec<_>>()
        };
        let json = |steps: Vec<Value>| json!({"name": "x", "steps": steps, "connections": []});
        assert_eq!(told(&json(delays(1))), [("/steps".into(), "required")]);
        let trigger = sound()["steps"][0].clone();
        let all = |count| std::iter::once(trigger.clone()).chain(delays(count)).collect();
        assert_eq!(told(&json(all(149))), []);
        assert_eq!(told(&json(all(150))), [("/steps".into(), "count")]);
    }

    #[test]
    fn an_update_changes_something_and_takes_steps_and_connections_together() {
        let told = |json| -> Vec<_> {
            patch(&json).into_iter().map(|problem| (problem.path, problem.code)).collect()
        };
        assert_eq!(told(json!({})), [(String::new(), "required")]);
        assert_eq!(told(json!({"name": "x"})), []);
        assert_eq!(told(json!({"status": "on"})), [("/status".into(), "type")]);
        assert_eq!(told(json!({"steps": sound()["steps"]})), [("/connections".into(), "required")]);
        assert_eq!(told(json!({"connections": []})), [("/steps".into(), "required")]);
        assert_eq!(told(json!({"steps": sound()["steps"], "connections": []})), []);
    }

    #[test]
    fn a_long_circle_is_found_at_the_connection_that_closes_it() {
        let steps: Vec<_> = (0..100)
            .map(|n| {
                if n == 0 {
                    sound()["steps"][0].clone()
                } else {
                    json!({"key": n.to_string(), "type": "delay", "config": {"duration": "1 day"}})
                }
            })
            .collect();
        let mut connections: Vec<_> =
            (1..99).map(|n| json!({"from": n.to_string(), "to": (n + 1).to_string()})).collect();
        connections.push(json!({"from": "99", "to": "1"}));
        connections.push(json!({"from": "start", "to": "1"}));
        let json = json!({"name": "x", "steps": steps, "connections": connections});
        assert_eq!(told(&json), [("/connections/98".into(), "cycle")]);
    }
}
