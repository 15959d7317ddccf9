//! Rules: parsed from a definition, and evaluated against the facts of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::size::Size;
use crate::wire::paging::quoted;
use crate::wire::validation::{Change, Fields, Ignored, Problems, kind};

/// The maximum nesting depth of rules. The specification doesn't define one; readable rules aren't deeper.
const DEEPEST: usize = 16;

/// A tree of rules.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Rule {
    All(Vec<Rule>),
    Any(Vec<Rule>),
    Field { name: String, asks: Ask },
}

impl Size for Rule {
    fn heap_size(&self) -> usize {
        match self {
            Self::All(rules) | Self::Any(rules) => rules.heap_size(),
            Self::Field { name, asks } => name.heap_size() + asks.heap_size(),
        }
    }
}

impl Size for Ask {
    fn heap_size(&self) -> usize {
        match self {
            Self::Is(value) | Self::IsNot(value) => value.heap_size(),
            Self::Contains(text) | Self::StartsWith(text) | Self::EndsWith(text) => text.heap_size(),
            Self::Above(_)
            | Self::AtLeast(_)
            | Self::Below(_)
            | Self::AtMost(_)
            | Self::Exists
            | Self::IsEmpty => 0,
        }
    }
}

/// The condition that a field must meet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Ask {
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

/// The facts of a run: the payload of its event, and its contact if that still exists.
pub(crate) struct Facts<'a> {
    pub(crate) event: &'a Value,
    pub(crate) contact: &'a Value,
}

impl<'a> Facts<'a> {
    /// The value at `event.plan` or `contact.first_name`; a property of the contact is found with `contact.properties.` before its key, and
    /// without it unless the contact has a field of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&'a Value> {
        if let Some(rest) = name.strip_prefix("event.") {
            return walk(self.event, rest);
        }
        let rest = name.strip_prefix("contact.")?;
        walk(self.contact, rest).or_else(|| walk(self.contact.get("properties")?, rest))
    }
}

/// Walks from object to object. A key that itself contains dots takes precedence.
fn walk<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    let (key, rest) = path.split_once('.')?;
    walk(value.get(key)?, rest)
}

impl Rule {
    pub(crate) fn read(
        json: &str,
        at: &str,
        pointer: String,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        Self::read_at(json, at, pointer, 1, problems, ignored)
    }

    fn read_at(
        json: &str,
        at: &str,
        pointer: String,
        depth: usize,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        if depth > DEEPEST {
            problems.wrong(|| format!("`{at}` must not stand in more than {DEEPEST} rules."));
            return None;
        }
        let mut fields = Fields::read(json, format!("{at}."), pointer, problems)?;
        let form = fields.require_text("type", problems)?;
        let rule = match form.as_str() {
            "rule" => read_field(&mut fields, problems),
            "and" | "or" => {
                let rules = read_rules(&mut fields, depth, problems, ignored);
                rules.map(if form == "and" { Self::All } else { Self::Any })
            }
            other => {
                let name = fields.name("type");
                problems.wrong(|| {
                    format!("`{name}` must be one of `rule`, `and`, `or`; found {}.", quoted(other))
                });
                None
            }
        };
        fields.leave(ignored);
        rule
    }

    /// Evaluates the rule.
    pub(crate) fn holds(&self, facts: &Facts<'_>) -> bool {
        match self {
            Self::All(rules) => rules.iter().all(|rule| rule.holds(facts)),
            Self::Any(rules) => rules.iter().any(|rule| rule.holds(facts)),
            Self::Field { name, asks } => asks.holds(facts.find(name).filter(|value| !value.is_null())),
        }
    }
}

impl Ask {
    /// Null and absent are equal. Values of different types are never equal: `"5"` isn't 5.
    fn holds(&self, found: Option<&Value>) -> bool {
        let number = || found.and_then(Value::as_f64);
        let text = || found.and_then(Value::as_str);
        match self {
            Self::Is(value) => same(found, value),
            Self::IsNot(value) => !same(found, value),
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

fn same(found: Option<&Value>, value: &Value) -> bool {
    match (found, value) {
        (None, value) => value.is_null(),
        // 5 and 5.0 are equal.
        (Some(Value::Number(a)), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Some(found), value) => found == value,
    }
}

fn read_rules(
    fields: &mut Fields<'_>,
    depth: usize,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Option<Vec<Rule>> {
    if !fields.has("rules") {
        fields.take("rules");
        problems.missing(fields.name("rules"));
        return None;
    }
    let items = fields.take_array("rules", problems)?;
    let (name, pointer) = (fields.name("rules"), fields.pointer("rules"));
    if items.is_empty() {
        problems.wrong(|| format!("`{name}` must hold one rule at least; found none."));
        return None;
    }
    let read = items.iter().enumerate().map(|(place, item)| {
        let (at, pointer) = (format!("{name}[{place}]"), format!("{pointer}/{place}"));
        Rule::read_at(item.get(), &at, pointer, depth + 1, problems, ignored)
    });
    read.collect::<Vec<_>>().into_iter().collect()
}

fn read_field(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Rule> {
    let name = fields.require_text("field", problems);
    if let Some(name) = &name {
        check_origin(&fields.name("field"), name, problems);
    }
    let operator = fields.require_text("operator", problems);
    let given = fields.take_change("value", |fields| fields.take_value("value"));
    let asks = read_ask(fields, &operator?, given, problems);
    Some(Rule::Field { name: name?, asks: asks? })
}

/// Checks that a name starts with its origin.
pub(crate) fn check_origin(field: &str, name: &str, problems: &mut Problems) {
    let key = name.strip_prefix("event.").or_else(|| name.strip_prefix("contact."));
    if key.is_none_or(str::is_empty) {
        problems.wrong(|| {
            format!(
                "`{field}` must begin with `event.` or `contact.` and name a field; found {}.",
                quoted(name)
            )
        });
    }
}

fn read_ask(
    fields: &Fields<'_>,
    operator: &str,
    given: Change<Value>,
    problems: &mut Problems,
) -> Option<Ask> {
    let mut wrong = |what: &str, found: &Value| {
        let found = found.to_string();
        problems.wrong(|| {
            format!("`{}` must be {what} for `{operator}`; found {}.", fields.name("value"), kind(&found))
        });
    };
    let value = match given {
        Change::Keep => None,
        Change::Clear => Some(Value::Null),
        Change::Set(value) => Some(value),
    };
    let without = matches!(operator, "exists" | "is_empty");
    let Some(value) = value else {
        return match operator {
            "exists" => Some(Ask::Exists),
            "is_empty" => Some(Ask::IsEmpty),
            operator if WITH_VALUE.contains(&operator) => {
                problems.missing(fields.name("value"));
                None
            }
            operator => unknown_operator(fields, operator, problems),
        };
    };
    if without {
        problems.wrong(|| {
            format!("`{}` must be absent, since `{operator}` takes no value.", fields.name("value"))
        });
        return None;
    }
    let number: Option<fn(f64) -> Ask> = match operator {
        "gt" => Some(Ask::Above),
        "gte" => Some(Ask::AtLeast),
        "lt" => Some(Ask::Below),
        "lte" => Some(Ask::AtMost),
        _ => None,
    };
    let text: Option<fn(String) -> Ask> = match operator {
        "contains" => Some(Ask::Contains),
        "starts_with" => Some(Ask::StartsWith),
        "ends_with" => Some(Ask::EndsWith),
        _ => None,
    };
    match (operator, number, text, value) {
        ("eq" | "neq", _, _, value @ (Value::Array(_) | Value::Object(_))) => {
            wrong("a string, a number, a boolean or null", &value);
            None
        }
        ("eq", _, _, value) => Some(Ask::Is(value)),
        ("neq", _, _, value) => Some(Ask::IsNot(value)),
        (_, Some(ask), _, Value::Number(number)) => number.as_f64().map(ask),
        (_, Some(_), _, value) => {
            wrong("a number", &value);
            None
        }
        (_, _, Some(ask), Value::String(text)) => Some(ask(text)),
        (_, _, Some(_), value) => {
            wrong("a string", &value);
            None
        }
        _ => unknown_operator(fields, operator, problems),
    }
}

const WITH_VALUE: [&str; 9] = ["eq", "neq", "gt", "gte", "lt", "lte", "contains", "starts_with", "ends_with"];

fn unknown_operator(fields: &Fields<'_>, operator: &str, problems: &mut Problems) -> Option<Ask> {
    problems.wrong(|| {
        let names = WITH_VALUE.iter().chain(&["exists", "is_empty"]).map(|name| format!("`{name}`"));
        let names = names.collect::<Vec<_>>().join(", ");
        format!("`{}` must be one of {names}; found {}.", fields.name("operator"), quoted(operator))
    });
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(rule: &Value) -> Rule {
        let mut problems = Problems::default();
        let read =
            Rule::read(&rule.to_string(), "rule", "/rule".into(), &mut problems, &mut Ignored::default());
        assert!(problems.is_empty(), "{:?}", problems.into_problem());
        read.unwrap()
    }

    fn refused(rule: &Value) -> String {
        let mut problems = Problems::default();
        let read =
            Rule::read(&rule.to_string(), "rule", "/rule".into(), &mut problems, &mut Ignored::default());
        assert!(read.is_none() || !problems.is_empty(), "{rule}");
        problems.into_problem().unwrap().message
    }

    #[test]
    fn every_operator_compares_what_is_there_with_its_value() {
        let event = json!({"n": 5, "text": "Ada Lovelace", "yes": true, "nothing": null, "empty": "", "a": {"b": 1}, "c.d": 2});
        let contact = json!({"first_name": "Ada", "properties": {"plan": "pro"}});
        let facts = Facts { event: &event, contact: &contact };
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
            assert_eq!(read(&rule).holds(&facts), holds, "{rule}");
        }
        for (field, exists, empty) in [
            ("event.n", true, false),
            ("event.empty", true, true),
            ("event.nothing", false, true),
            ("event.missing", false, true),
            ("contact.last_name", false, true),
        ] {
            let rule = |operator: &str| read(&json!({"type": "rule", "field": field, "operator": operator}));
            assert_eq!(rule("exists").holds(&facts), exists, "{field}");
            assert_eq!(rule("is_empty").holds(&facts), empty, "{field}");
        }
    }

    #[test]
    fn all_of_and_one_of_or_must_hold() {
        let event = json!({"n": 5});
        let facts = Facts { event: &event, contact: &Value::Null };
        let is = |n: u8| json!({"type": "rule", "field": "event.n", "operator": "eq", "value": n});
        let tree = |form: &str, rules: [Value; 2]| json!({"type": form, "rules": rules});
        assert!(read(&tree("and", [is(5), is(5)])).holds(&facts));
        assert!(!read(&tree("and", [is(5), is(6)])).holds(&facts));
        assert!(read(&tree("or", [is(6), is(5)])).holds(&facts));
        assert!(!read(&tree("or", [is(6), is(7)])).holds(&facts));
    }

    #[test]
    fn a_rule_that_asks_nonsense_is_refused() {
        let rule = |operator: &str, value: Value| json!({"type": "rule", "field": "event.n", "operator": operator, "value": value});
        for (rule, words) in [
            (json!([]), "`rule` must be an object"),
            (json!({}), "Missing `rule.type`"),
            (json!({"type": "not"}), "`rule.type` must be one of"),
            (json!({"type": "and"}), "Missing `rule.rules`"),
            (json!({"type": "and", "rules": []}), "`rule.rules` must hold one rule"),
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
            (json!({"type": "rule", "field": "event.n"}), "Missing `rule.operator`"),
            (json!({"type": "rule", "field": "event.n", "operator": "eq"}), "Missing `rule.value`"),
            (rule("is", json!(1)), "`rule.operator` must be one of"),
            (rule("eq", json!([1])), "`rule.value` must be a string, a number, a boolean or null"),
            (rule("gt", json!("1")), "`rule.value` must be a number for `gt`"),
            (rule("contains", json!(1)), "`rule.value` must be a string for `contains`"),
            (rule("exists", json!(1)), "`rule.value` goes with no value"),
        ] {
            assert!(refused(&rule).contains(words), "{rule}: {}", refused(&rule));
        }
        let deep = (0..20).fold(json!({"type": "rule"}), |rule, _| json!({"type": "and", "rules": [rule]}));
        assert!(refused(&deep).contains("must not stand in more than 16 rules"), "{}", refused(&deep));
    }
}
