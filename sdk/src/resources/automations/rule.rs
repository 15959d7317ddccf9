//! Rules: what a condition asks of the contact and of the event that started the run.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

open_enum! {
    /// How a rule compares a field with its value.
    Operator {
        /// The same.
        Equals = "eq",
        /// Not the same.
        NotEquals = "neq",
        /// A greater number.
        GreaterThan = "gt",
        /// A greater number, or the same.
        AtLeast = "gte",
        /// A smaller number.
        LessThan = "lt",
        /// A smaller number, or the same.
        AtMost = "lte",
        /// A text that holds this one.
        Contains = "contains",
        /// A text that begins with this one.
        StartsWith = "starts_with",
        /// A text that ends with this one.
        EndsWith = "ends_with",
        /// The field is there. There is no value.
        Exists = "exists",
        /// The field is not there, is null, or has nothing in it. There is no value.
        IsEmpty = "is_empty",
    }
}

/// A tree of rules: one field compared with a value, or several rules of which all or any must hold.
///
/// A field is named with where it comes from: `contact.first_name`, `contact.properties.plan`, `event.amount`.
///
/// ```
/// use posthaste::Rule;
///
/// let rule = Rule::all([
///     Rule::equals("contact.properties.plan", "pro"),
///     Rule::any([Rule::greater_than("event.amount", 100), Rule::exists("event.coupon")]),
/// ]);
/// assert_eq!(serde_json::to_value(rule)?["rules"][0]["operator"], "eq");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum Rule {
    /// One field compared with a value.
    #[serde(rename = "rule")]
    Field(FieldRule),
    /// All of them must hold.
    #[serde(rename = "and")]
    All {
        /// The rules.
        rules: Vec<Rule>,
    },
    /// One of them must hold.
    #[serde(rename = "or")]
    Any {
        /// The rules.
        rules: Vec<Rule>,
    },
    /// A rule that this version of the client has no name for, as the service wrote it.
    #[serde(untagged)]
    Unknown(Value),
}

/// One field compared with a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldRule {
    /// The field, with where it comes from: `event.amount`.
    pub field: String,
    /// How it is compared.
    pub operator: Operator,
    /// What it is compared with; [`Operator::Exists`] and [`Operator::IsEmpty`] have none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub value: Option<Value>,
}

/// A value that is given, which may be null.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Rule {
    fn field(field: impl Into<String>, operator: Operator, value: Option<Value>) -> Self {
        Self::Field(FieldRule { field: field.into(), operator, value })
    }

    /// The field is this text, number or boolean, or null.
    pub fn equals(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::field(field, Operator::Equals, Some(value.into()))
    }

    /// The field is something else than this.
    pub fn not_equals(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::field(field, Operator::NotEquals, Some(value.into()))
    }

    /// The field is a greater number.
    pub fn greater_than(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::GreaterThan, Some(number.into()))
    }

    /// The field is this number or a greater one.
    pub fn at_least(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::AtLeast, Some(number.into()))
    }

    /// The field is a smaller number.
    pub fn less_than(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::LessThan, Some(number.into()))
    }

    /// The field is this number or a smaller one.
    pub fn at_most(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::AtMost, Some(number.into()))
    }

    /// The field is a text with this one in it.
    pub fn contains(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self::field(field, Operator::Contains, Some(Value::String(text.into())))
    }

    /// The field is a text that begins with this one.
    pub fn starts_with(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self::field(field, Operator::StartsWith, Some(Value::String(text.into())))
    }

    /// The field is a text that ends with this one.
    pub fn ends_with(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self::field(field, Operator::EndsWith, Some(Value::String(text.into())))
    }

    /// The field is there.
    pub fn exists(field: impl Into<String>) -> Self {
        Self::field(field, Operator::Exists, None)
    }

    /// The field is not there, or has nothing in it.
    pub fn is_empty(field: impl Into<String>) -> Self {
        Self::field(field, Operator::IsEmpty, None)
    }

    /// All of these hold.
    pub fn all(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::All { rules: rules.into_iter().collect() }
    }

    /// At least one of these holds.
    pub fn any(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::Any { rules: rules.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_of_rules_is_written_and_read_as_the_service_does() {
        let wire = json!({"type": "and", "rules": [
            {"type": "rule", "field": "event.plan", "operator": "eq", "value": null},
            {"type": "or", "rules": [
                {"type": "rule", "field": "event.amount", "operator": "gte", "value": 10},
                {"type": "rule", "field": "contact.first_name", "operator": "exists"},
            ]},
        ]});
        let rule = Rule::all([
            Rule::equals("event.plan", Value::Null),
            Rule::any([Rule::at_least("event.amount", 10), Rule::exists("contact.first_name")]),
        ]);
        assert_eq!(serde_json::to_value(&rule).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Rule>(wire).unwrap(), rule);
    }

    #[test]
    fn a_rule_of_tomorrow_is_kept_as_it_came() {
        for wire in [
            json!({"type": "not", "rule": {"type": "rule"}}),
            json!({"type": "rule", "field": "event.x", "operator": "matches", "value": ".*"}),
            json!({"type": "and", "rules": [{"type": "quorum", "of": 2}]}),
            json!("always"),
        ] {
            let rule: Rule = serde_json::from_value(wire.clone()).unwrap();
            assert_eq!(serde_json::to_value(rule).unwrap(), wire);
        }
    }
}
