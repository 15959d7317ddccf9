//! What makes the configuration of a step sound, and the rules in it.

use serde_json::{Map, Value};

use super::{Judge, pointer};

impl Judge {
    pub(super) fn config(&mut self, kind: &str, at: &str, config: &Value) {
        let Some(fields) = self.object(at, config, "`config`") else { return };
        match kind {
            "trigger" => {
                self.known(fields, at, &["event_name"]);
                self.event_name(fields, at);
            }
            "send_email" => self.email(fields, at),
            "delay" => {
                self.known(fields, at, &["duration"]);
                self.required_text(fields, at, "duration");
            }
            "wait_for_event" => {
                self.known(fields, at, &["event_name", "timeout", "filter_rule"]);
                self.event_name(fields, at);
                self.text(fields, at, "timeout");
                if let Some(rule) = fields.get("filter_rule") {
                    self.rule(&format!("{at}/filter_rule"), rule);
                }
            }
            "condition" => self.rule(at, config),
            "contact_update" => self.contact_update(fields, at),
            "contact_delete" => self.known(fields, at, &[]),
            _ => {
                self.known(fields, at, &["segment_id"]);
                self.required_text(fields, at, "segment_id");
            }
        }
    }

    fn event_name(&mut self, fields: &Map<String, Value>, at: &str) {
        self.required_text(fields, at, "event_name");
    }

    fn email(&mut self, fields: &Map<String, Value>, at: &str) {
        self.known(fields, at, &["template", "subject", "from", "reply_to"]);
        for name in ["subject", "from", "reply_to"] {
            self.text(fields, at, name);
        }
        let Some(template) = self.required(fields, at, "template") else { return };
        let at = format!("{at}/template");
        let Some(template) = self.object(&at, template, "`template`") else { return };
        self.known(template, &at, &["id", "variables"]);
        self.required_text(template, &at, "id");
        let Some(variables) = template.get("variables") else { return };
        let at = format!("{at}/variables");
        let Some(variables) = self.object(&at, variables, "`variables`") else { return };
        for (key, value) in variables {
            let at = format!("{at}/{}", pointer(key));
            self.run_value(at, value, "a variable is a text or a number", |value| {
                value.is_string() || value.is_number()
            });
        }
    }

    fn contact_update(&mut self, fields: &Map<String, Value>, at: &str) {
        self.known(fields, at, &["first_name", "last_name", "unsubscribed", "properties"]);
        for name in ["first_name", "last_name"] {
            if let Some(value) = fields.get(name) {
                self.run_value(format!("{at}/{name}"), value, "a name is a text or null", |value| {
                    value.is_string() || value.is_null()
                });
            }
        }
        if let Some(value) = fields.get("unsubscribed") {
            let rule = "`unsubscribed` is true or false";
            self.run_value(format!("{at}/unsubscribed"), value, rule, Value::is_boolean);
        }
        let Some(properties) = fields.get("properties") else { return };
        let at = format!("{at}/properties");
        let Some(properties) = self.object(&at, properties, "`properties`") else { return };
        for (key, value) in properties {
            let at = format!("{at}/{}", pointer(key));
            self.run_value(at, value, "a property is a text, a number, a boolean or null", is_scalar);
        }
    }

    /// A value of the right kind, or where the run takes it from.
    fn run_value(&mut self, at: String, value: &Value, rule: &str, right: fn(&Value) -> bool) {
        match value.as_object() {
            Some(fields) => {
                self.known(fields, &at, &["var"]);
                if let Some(name) = self.required_text(fields, &at, "var") {
                    self.origin(format!("{at}/var"), name);
                }
            }
            None if right(value) => {}
            None => self.wrong_type(at, format!("{rule}, or {{\"var\": …}}"), value),
        }
    }

    /// `event.…` or `contact.…`.
    fn origin(&mut self, at: String, name: &str) {
        let key = name.strip_prefix("event.").or_else(|| name.strip_prefix("contact."));
        if key.is_none_or(str::is_empty) {
            self.found(at, "reference", "it is taken from `event.…` or `contact.…`", name);
        }
    }

    fn rule(&mut self, at: &str, rule: &Value) {
        let Some(fields) = self.object(at, rule, "a rule") else { return };
        let Some(kind) = self.required_text(fields, at, "type") else { return };
        match kind {
            "rule" => self.field_rule(fields, at),
            "and" | "or" => {
                self.known(fields, at, &["type", "rules"]);
                let Some(rules) = self.required(fields, at, "rules") else { return };
                let at = format!("{at}/rules");
                match rules.as_array() {
                    None => self.wrong_type(at, "`rules` is a list", rules),
                    Some(rules) if rules.is_empty() => {
                        self.problem(at, "empty", "`rules` holds one rule at least");
                    }
                    Some(rules) => {
                        for (place, rule) in rules.iter().enumerate() {
                            self.rule(&format!("{at}/{place}"), rule);
                        }
                    }
                }
            }
            other => self.found(format!("{at}/type"), "type", "a rule's type is rule, and, or", other),
        }
    }

    fn field_rule(&mut self, fields: &Map<String, Value>, at: &str) {
        self.known(fields, at, &["type", "field", "operator", "value"]);
        if let Some(name) = self.required_text(fields, at, "field") {
            self.origin(format!("{at}/field"), name);
        }
        let Some(operator) = self.required_text(fields, at, "operator") else { return };
        let (rule, right): (&str, fn(&Value) -> bool) = match operator {
            "eq" | "neq" => ("the value is a text, a number, a boolean or null", is_scalar),
            "gt" | "gte" | "lt" | "lte" => ("the value is a number", Value::is_number),
            "contains" | "starts_with" | "ends_with" => ("the value is a text", Value::is_string),
            "exists" | "is_empty" => {
                if fields.contains_key("value") {
                    let rule = format!("`{operator}` has no value");
                    self.problem(format!("{at}/value"), "exclusive", rule);
                }
                return;
            }
            other => {
                let rule = "an operator is eq, neq, gt, gte, lt, lte, contains, starts_with, ends_with, exists or is_empty";
                return self.found(format!("{at}/operator"), "type", rule, other);
            }
        };
        match fields.get("value") {
            None => self.problem(format!("{at}/value"), "required", format!("`{operator}` needs a value")),
            Some(value) if right(value) => {}
            Some(value) => self.wrong_type(format!("{at}/value"), rule, value),
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}
