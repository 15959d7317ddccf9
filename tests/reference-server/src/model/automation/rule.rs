//! Rules: parsed from a definition, and evaluated against the facts of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::event::RESERVED_PREFIX;
use crate::wire::{Checked, Field, Fields, kind, non_empty, quote};

/// The maximum nesting depth of rules. The specification doesn't define one; readable rules aren't deeper.
const MAX_DEPTH: usize = 16;

/// A tree of rules.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Rule {
    All(Vec<Rule>),
    Any(Vec<Rule>),
    Field { name: String, condition: Condition },
}

/// The condition that a field must meet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Condition {
    Is(Value),
    IsNot(Value),
    Above(f64),
    AtLeast(f64),
    Below(f64),
    AtMost(f64),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    Exists,
    IsEmpty,
}

/// The facts of a run: the payload of its event, its contact if that still exists, and the events that ended its waits.
pub struct Facts<'a> {
    pub event: &'a Value,
    pub contact: &'a Value,
    /// Names and payloads, newest first.
    pub awaited: Vec<(&'a str, &'a Value)>,
}

impl<'a> Facts<'a> {
    /// The value at `event.plan`, `contact.first_name` or `wait_events.order.paid.total`. A property of the contact is found as
    /// `contact.properties.KEY`, and also as `contact.KEY` unless the contact has a field of that name.
    pub fn find(&self, name: &str) -> Option<&'a Value> {
        if let Some(rest) = name.strip_prefix("event.") {
            return lookup_path(self.event, rest);
        }
        if let Some(rest) = name.strip_prefix("wait_events.") {
            return self.find_awaited(rest.strip_prefix(RESERVED_PREFIX).unwrap_or(rest));
        }
        let rest = name.strip_prefix("contact.")?;
        lookup_path(self.contact, rest).or_else(|| lookup_path(self.contact.get("properties")?, rest))
    }

    /// The field of an awaited event. If several events have the same name, the last one counts; if several names match, the longest.
    fn find_awaited(&self, path: &str) -> Option<&'a Value> {
        let fits = |(name, payload): &(&'a str, &'a Value)| {
            Some((name.len(), *payload, path.strip_prefix(name)?.strip_prefix('.')?))
        };
        // The last of equal maxima is returned.
        let found = self.awaited.iter().rev().filter_map(fits).max_by_key(|(length, ..)| *length);
        found.and_then(|(_, payload, field)| lookup_path(payload, field))
    }
}

/// Walks from object to object. A key that itself contains dots takes precedence.
fn lookup_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    let (key, rest) = path.split_once('.')?;
    lookup_path(value.get(key)?, rest)
}

impl Rule {
    pub fn read(field: &Field<'_>) -> Checked<Self> {
        Self::read_at(field, 1)
    }

    fn read_at(field: &Field<'_>, depth: usize) -> Checked<Self> {
        if depth > MAX_DEPTH {
            return Err(field.reject(format_args!("must not be nested in more than {MAX_DEPTH} rules")));
        }
        field.object(|fields| match fields.required("type", non_empty)?.as_str() {
            "rule" => read_field(fields),
            "and" => read_rules(fields, depth).map(Self::All),
            "or" => read_rules(fields, depth).map(Self::Any),
            other => {
                let found = quote(other);
                Err(fields.reject("type", format_args!("must be one of `rule`, `and`, `or`; found {found}")))
            }
        })
    }

    /// Evaluates the rule.
    pub fn matches(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::All(rules) => rules.iter().all(|rule| rule.matches(facts)),
            Self::Any(rules) => rules.iter().any(|rule| rule.matches(facts)),
            Self::Field { name, condition } => {
                condition.matches(facts.find(name).filter(|value| !value.is_null()))
            }
        }
    }
}

impl Condition {
    /// Null and absent are equal. Values of different types are never equal: `"5"` isn't 5.
    fn matches(&self, found: Option<&Value>) -> bool {
        let number = || found.and_then(Value::as_f64);
        let text = || found.and_then(Value::as_str);
        match self {
            Self::Is(value) => equal_values(found, value),
            Self::IsNot(value) => !equal_values(found, value),
            Self::Above(than) => number().is_some_and(|number| number > *than),
            Self::AtLeast(than) => number().is_some_and(|number| number >= *than),
            Self::Below(than) => number().is_some_and(|number| number < *than),
            Self::AtMost(than) => number().is_some_and(|number| number <= *than),
            Self::Contains(part) => text().is_some_and(|text| text.contains(part)),
            Self::StartsWith(part) => text().is_some_and(|text| text.starts_with(part)),
            Self::EndsWith(part) => text().is_some_and(|text| text.ends_with(part)),
            Self::Exists => found.is_some(),
            Self::IsEmpty => match found {
                None => true,
                Some(Value::String(text)) => text.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(fields)) => fields.is_empty(),
                Some(_) => false,
            },
        }
    }
}

fn equal_values(found: Option<&Value>, value: &Value) -> bool {
    match (found, value) {
        (None, value) => value.is_null(),
        // 5 and 5.0 are equal.
        (Some(Value::Number(a)), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Some(found), value) => found == value,
    }
}

fn read_rules(fields: &mut Fields<'_>, depth: usize) -> Checked<Vec<Rule>> {
    fields.required("rules", |field| {
        let rules = field.items()?;
        if rules.is_empty() {
            return Err(field.reject("must have at least one rule; found none"));
        }
        rules.read(|_, rule| Rule::read_at(rule, depth + 1))
    })
}

/// The operators, with the kind of value each compares a field with.
const OPERATORS: [(&str, Operand); 11] = [
    ("eq", Operand::Scalar(Condition::Is)),
    ("neq", Operand::Scalar(Condition::IsNot)),
    ("gt", Operand::Number(Condition::Above)),
    ("gte", Operand::Number(Condition::AtLeast)),
    ("lt", Operand::Number(Condition::Below)),
    ("lte", Operand::Number(Condition::AtMost)),
    ("contains", Operand::Text(Condition::Contains)),
    ("starts_with", Operand::Text(Condition::StartsWith)),
    ("ends_with", Operand::Text(Condition::EndsWith)),
    ("exists", Operand::None(|| Condition::Exists)),
    ("is_empty", Operand::None(|| Condition::IsEmpty)),
];

#[derive(Clone, Copy)]
enum Operand {
    Scalar(fn(Value) -> Condition),
    Number(fn(f64) -> Condition),
    Text(fn(String) -> Condition),
    None(fn() -> Condition),
}

fn read_field(fields: &mut Fields<'_>) -> Checked<Rule> {
    let name = fields.required("field", read_variable);
    let operator = fields.required("operator", |field| Ok((non_empty(field)?, field.one_of(&OPERATORS)?)));
    let value =
        fields.nullable("value", |field| field.value().ok_or_else(|| field.reject("is nested too deeply")));
    let ((operator, operand), value) = (operator?, value?);
    let wrong = |what: &str, found: &Value| {
        let found = found.to_string();
        fields.reject("value", format_args!("must be {what} for `{operator}`; found {}", kind(&found)))
    };
    let condition = match (operand, value) {
        (Operand::None(condition), None) => condition(),
        (Operand::None(_), Some(_)) => {
            let rule = format_args!("must be absent, since `{operator}` takes no value");
            return Err(fields.reject("value", rule));
        }
        (_, None) => return Err(fields.report().report_missing(fields.name("value"))),
        (Operand::Scalar(_), Some(value @ (Value::Array(_) | Value::Object(_)))) => {
            return Err(wrong("a string, a number, a boolean or null", &value));
        }
        (Operand::Scalar(condition), Some(value)) => condition(value),
        (Operand::Number(condition), Some(value)) => {
            condition(value.as_f64().ok_or_else(|| wrong("a number", &value))?)
        }
        (Operand::Text(condition), Some(Value::String(text))) => condition(text),
        (Operand::Text(_), Some(value)) => return Err(wrong("a string", &value)),
    };
    Ok(Rule::Field { name: name?, condition })
}

/// Reads the name of a variable, which starts with its origin.
pub fn read_variable(field: &Field<'_>) -> Checked<String> {
    let name = non_empty(field)?;
    let known = match name.split_once('.') {
        Some(("event" | "contact", key)) => !key.is_empty(),
        Some(("wait_events", rest)) => {
            rest.split_once('.').is_some_and(|(event, key)| !event.is_empty() && !key.is_empty())
        }
        _ => false,
    };
    if !known {
        let found = quote(&name);
        return Err(field.reject(format_args!(
            "must begin with `event.`, `contact.` or `wait_events.<event name>.` and name a field; found {found}"
        )));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;
    use crate::wire::{Body, Problem, fields};

    fn checked(rule: &Value) -> Result<Rule, Problem> {
        let body = json!({ "rule": rule }).to_string();
        let ignored = RefCell::default();
        let body = Body::parse(body.as_bytes()).unwrap();
        Ok(fields::read(body, &ignored, |fields| fields.required("rule", Rule::read))?)
    }

    fn read(rule: &Value) -> Rule {
        checked(rule).unwrap()
    }

    fn rejection_message(rule: &Value) -> String {
        checked(rule).unwrap_err().message
    }

    #[test]
    fn every_operator_compares_the_field_with_its_value() {
        let event = json!({"n": 5, "text": "Ada Lovelace", "yes": true, "nothing": null, "empty": "", "a": {"b": 1}, "c.d": 2});
        let contact = json!({"first_name": "Ada", "properties": {"plan": "pro"}});
        let facts = Facts { event: &event, contact: &contact, awaited: vec![] };
        for (field, operator, value, holds) in [
            ("event.n", "eq", json!(5), true),
            ("event.n", "eq", json!(5.0), true),
            ("event.n", "eq", json!("5"), false),
            ("event.n", "neq", json!(6), true),
            ("event.n", "neq", json!(5), false),
            ("event.n", "gt", json!(4.5), true),
            ("event.n", "gt", json!(5), false),
            ("event.n", "gte", json!(5), true),
            ("event.n", "lt", json!(5), false),
            ("event.n", "lte", json!(5), true),
            ("event.text", "gt", json!(1), false),
            ("event.text", "contains", json!("Love"), true),
            ("event.text", "contains", json!("love"), false),
            ("event.text", "starts_with", json!("Ada"), true),
            ("event.text", "ends_with", json!("lace"), true),
            ("event.n", "contains", json!("5"), false),
            ("event.yes", "eq", json!(true), true),
            ("event.nothing", "eq", json!(null), true),
            ("event.missing", "eq", json!(null), true),
            ("event.missing", "neq", json!("x"), true),
            ("event.a.b", "eq", json!(1), true),
            ("event.c.d", "eq", json!(2), true),
            ("contact.first_name", "eq", json!("Ada"), true),
            ("contact.properties.plan", "eq", json!("pro"), true),
            ("contact.plan", "eq", json!("pro"), true),
        ] {
            let rule = json!({"type": "rule", "field": field, "operator": operator, "value": value});
            assert_eq!(read(&rule).matches(&facts), holds, "{rule}");
        }
        for (field, exists, empty) in [
            ("event.n", true, false),
            ("event.empty", true, true),
            ("event.nothing", false, true),
            ("event.missing", false, true),
            ("contact.last_name", false, true),
        ] {
            let rule = |operator: &str| read(&json!({"type": "rule", "field": field, "operator": operator}));
            assert_eq!(rule("exists").matches(&facts), exists, "{field}");
            assert_eq!(rule("is_empty").matches(&facts), empty, "{field}");
        }
    }

    #[test]
    fn the_last_awaited_event_of_the_longest_name_counts() {
        let (first, last) = (json!({"n": 1, "only": true, "b": {"c": 5}}), json!({"n": 2}));
        let longer = json!({"c": 9});
        let awaited = vec![("a", &last), ("a.b", &longer), ("a", &first)];
        let facts = Facts { event: &Value::Null, contact: &Value::Null, awaited };
        assert_eq!(facts.find("wait_events.a.n"), Some(&json!(2)));
        assert_eq!(facts.find("wait_events.resend:a.n"), Some(&json!(2)));
        assert_eq!(facts.find("wait_events.a.only"), None, "an earlier event isn't asked");
        assert_eq!(facts.find("wait_events.a.b.c"), Some(&json!(9)));
        assert_eq!(facts.find("wait_events.ab.n"), None);
        assert_eq!(facts.find("wait_events.other.n"), None);
    }

    #[test]
    fn and_requires_all_rules_and_or_requires_one() {
        let event = json!({"n": 5});
        let facts = Facts { event: &event, contact: &Value::Null, awaited: vec![] };
        let is = |n: u8| json!({"type": "rule", "field": "event.n", "operator": "eq", "value": n});
        let tree = |form: &str, rules: [Value; 2]| json!({"type": form, "rules": rules});
        assert!(read(&tree("and", [is(5), is(5)])).matches(&facts));
        assert!(!read(&tree("and", [is(5), is(6)])).matches(&facts));
        assert!(read(&tree("or", [is(6), is(5)])).matches(&facts));
        assert!(!read(&tree("or", [is(6), is(7)])).matches(&facts));
    }

    #[test]
    fn invalid_rules_are_rejected() {
        let rule = |operator: &str, value: Value| json!({"type": "rule", "field": "event.n", "operator": operator, "value": value});
        for (rule, words) in [
            (json!([]), "`rule` must be an object"),
            (json!({}), "Missing `rule.type`"),
            (json!({"type": "not"}), "`rule.type` must be one of"),
            (json!({"type": "and"}), "Missing `rule.rules`"),
            (json!({"type": "and", "rules": []}), "`rule.rules` must have at least one rule"),
            (
                json!({"type": "or", "rules": [{"type": "and", "rules": [5]}]}),
                "`rule.rules[0].rules[0]` must be an object",
            ),
            (json!({"type": "rule", "operator": "exists"}), "Missing `rule.field`"),
            (json!({"type": "rule", "field": "n", "operator": "exists"}), "`rule.field` must begin with"),
            (
                json!({"type": "rule", "field": "event.", "operator": "exists"}),
                "`rule.field` must begin with",
            ),
            (
                json!({"type": "rule", "field": "wait_events.paid", "operator": "exists"}),
                "`rule.field` must begin with",
            ),
            (json!({"type": "rule", "field": "event.n"}), "Missing `rule.operator`"),
            (json!({"type": "rule", "field": "event.n", "operator": "eq"}), "Missing `rule.value`"),
            (rule("is", json!(1)), "`rule.operator` must be one of"),
            (rule("eq", json!([1])), "`rule.value` must be a string, a number, a boolean or null"),
            (rule("gt", json!("1")), "`rule.value` must be a number for `gt`"),
            (rule("contains", json!(1)), "`rule.value` must be a string for `contains`"),
            (rule("exists", json!(1)), "`rule.value` must be absent"),
        ] {
            assert!(rejection_message(&rule).contains(words), "{rule}: {}", rejection_message(&rule));
        }
        let deep = (0..20).fold(json!({"type": "rule"}), |rule, _| json!({"type": "and", "rules": [rule]}));
        assert!(
            rejection_message(&deep).contains("must not be nested in more than 16 rules"),
            "{}",
            rejection_message(&deep)
        );
    }
}
