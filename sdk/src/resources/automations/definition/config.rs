//! Validation of step configurations, and of the conditions in them.

use serde_json::{Map, Value};

use crate::{
    problem::{Validator, present},
    resources::automations::rule::Operator,
};

pub(super) fn check_config(v: &mut Validator, kind: &str, config: &Value) {
    let Some(fields) = v.object(config, "`config`") else { return };
    match kind {
        "trigger" => check_texts(v, fields, &["event_name"]),
        "send_email" => check_email(v, fields),
        "delay" => check_texts(v, fields, &["duration"]),
        "wait_for_event" => {
            v.check_known_fields(fields, "`config`", &["event_name", "timeout", "filter_rule"]);
            v.required_text(fields, "event_name");
            v.non_empty_text(fields, "timeout");
            if let Some(json) = present(fields, "filter_rule") {
                v.field("filter_rule", |v| check_rule(v, json));
            }
        }
        "condition" => check_rule(v, config),
        "contact_update" => contact_update(v, fields),
        "contact_delete" => check_texts(v, fields, &[]),
        _ => check_texts(v, fields, &["segment_id"]),
    }
}

/// Validates a configuration that consists only of these string fields.
fn check_texts(v: &mut Validator, fields: &Map<String, Value>, names: &[&str]) {
    v.check_known_fields(fields, "`config`", names);
    for name in names {
        v.required_text(fields, name);
    }
}

fn check_email(v: &mut Validator, fields: &Map<String, Value>) {
    v.check_known_fields(fields, "`config`", &["template", "subject", "from", "reply_to", "topic_id"]);
    for name in ["subject", "from", "reply_to", "topic_id"] {
        v.non_empty_text(fields, name);
    }
    let Some(template) = v.required_field(fields, "template") else { return };
    v.field("template", |v| {
        let Some(template) = v.object(template, "`template`") else { return };
        v.check_known_fields(template, "`template`", &["id", "variables"]);
        v.required_text(template, "id");
        let rule = "a variable must be a string, a number, a boolean, an array or an object of scalars";
        run_values(v, template, "variables", rule, is_variable);
    });
}

fn is_variable(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => fields.values().all(is_scalar),
        _ => true,
    }
}

fn contact_update(v: &mut Validator, fields: &Map<String, Value>) {
    v.check_known_fields(fields, "`config`", &["first_name", "last_name", "unsubscribed", "properties"]);
    let name = |value: &Value| value.is_string() || value.is_null();
    for (field, rule, right) in [
        ("first_name", "`first_name` must be a string or null", name as fn(&Value) -> bool),
        ("last_name", "`last_name` must be a string or null", name),
        ("unsubscribed", "`unsubscribed` must be true or false", Value::is_boolean),
    ] {
        if let Some(value) = fields.get(field) {
            v.field(field, |v| run_value(v, value, rule, right));
        }
    }
    let rule = "a property must be a string, a number, a boolean or null";
    run_values(v, fields, "properties", rule, is_scalar);
}

/// Validates an object whose values are fixed or resolved by a run.
fn run_values(
    v: &mut Validator,
    fields: &Map<String, Value>,
    name: &str,
    rule: &str,
    right: fn(&Value) -> bool,
) {
    let Some(values) = present(fields, name) else { return };
    v.field(name, |v| {
        for (key, value) in v.object(values, &format!("`{name}`")).into_iter().flatten() {
            v.field(key, |v| run_value(v, value, rule, right));
        }
    });
}

/// Validates a value of the correct type, or a reference.
fn run_value(v: &mut Validator, value: &Value, rule: &str, right: fn(&Value) -> bool) {
    match value.as_object() {
        Some(fields) if fields.contains_key("var") || !right(value) => {
            v.check_known_fields(fields, "a reference", &["var"]);
            check_origin(v, fields, "var");
        }
        _ if right(value) => {}
        _ => v.wrong_type(format!("{rule}, or {{\"var\": …}}"), value),
    }
}

/// Validates a field that refers to `event.…`, `contact.…` or `wait_events.<event name>.…`.
fn check_origin(v: &mut Validator, fields: &Map<String, Value>, field: &str) {
    let Some(name) = v.required_text(fields, field) else { return };
    let known = match name.split_once('.') {
        Some(("event" | "contact", key)) => !key.is_empty(),
        Some(("wait_events", rest)) => {
            rest.split_once('.').is_some_and(|(event, key)| !event.is_empty() && !key.is_empty())
        }
        _ => false,
    };
    if !known {
        let rule = format!(
            "`{field}` must start with `event.`, `contact.` or `wait_events.<event name>.` and name a field"
        );
        v.field(field, |v| v.report_found("reference", rule, name));
    }
}

fn check_rule(v: &mut Validator, json: &Value) {
    let Some(fields) = v.object(json, "a rule") else { return };
    let Some(kind) = v.required_text(fields, "type") else { return };
    if !v.field("type", |v| v.check_one_of("`type`", &["rule", "and", "or"], kind)) {
        return;
    }
    if kind == "rule" {
        return field_rule(v, fields);
    }
    v.check_known_fields(fields, "a rule", &["type", "rules"]);
    v.required_field(fields, "rules");
    let Some(rules) = v.list(fields, "rules") else { return };
    if rules.is_empty() && present(fields, "rules").is_some() {
        v.report_at("rules", "empty", "`rules` must have at least one rule");
    }
    v.for_each_item("rules", rules, check_rule);
}

fn field_rule(v: &mut Validator, fields: &Map<String, Value>) {
    v.check_known_fields(fields, "a rule", &["type", "field", "operator", "value"]);
    check_origin(v, fields, "field");
    let Some(operator) = v.required_text(fields, "operator") else { return };
    let (rule, right): (&str, fn(&Value) -> bool) = match operator {
        "eq" | "neq" => ("`value` must be a string, a number, a boolean or null", is_scalar),
        "gt" | "gte" | "lt" | "lte" => ("`value` must be a number", Value::is_number),
        "contains" | "starts_with" | "ends_with" => ("`value` must be a string", Value::is_string),
        "exists" | "is_empty" => {
            if fields.contains_key("value") {
                v.report_at(
                    "value",
                    "exclusive",
                    format!("`value` must not be set for the operator `{operator}`"),
                );
            }
            return;
        }
        other => {
            v.field("operator", |v| v.check_one_of("`operator`", Operator::KNOWN, other));
            return;
        }
    };
    match fields.get("value") {
        None => {
            v.report_at("value", "required", format!("`value` is required for the operator `{operator}`"));
        }
        Some(value) if right(value) => {}
        Some(value) => v.field("value", |v| v.wrong_type(rule, value)),
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}
