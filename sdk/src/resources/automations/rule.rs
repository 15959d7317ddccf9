//! Rules: conditions on the contact and on the event that started the run.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

open_enum! {
    /// The comparison of a field with a value.
    Operator {
        /// Equal to the value.
        Equals = "eq",
        /// Not equal to the value.
        NotEquals = "neq",
        /// A number greater than the value.
        GreaterThan = "gt",
        /// A number greater than or equal to the value.
        AtLeast = "gte",
        /// A number less than the value.
        LessThan = "lt",
        /// A number less than or equal to the value.
        AtMost = "lte",
        /// A string that contains the value.
        Contains = "contains",
        /// A string that starts with the value.
        StartsWith = "starts_with",
        /// A string that ends with the value.
        EndsWith = "ends_with",
        /// The field exists. There is no value.
        Exists = "exists",
        /// The field is missing, null or empty. There is no value.
        IsEmpty = "is_empty",
    }
}

/// A condition: a comparison of one field, or a group of rules of which all or any must hold.
///
/// A field name includes its source: `contact.first_name`, `contact.properties.plan`, `event.amount`, `wait_events.order.paid.total`.
///
/// ```
/// use idempost::automations::Rule;
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
    /// A comparison of one field.
    #[serde(rename = "rule")]
    Field(FieldRule),
    /// All rules must hold.
    #[serde(rename = "and")]
    All {
        /// The rules.
        rules: Vec<Rule>,
    },
    /// At least one rule must hold.
    #[serde(rename = "or")]
    Any {
        /// The rules.
        rules: Vec<Rule>,
    },
    /// A rule that this version of the client doesn't know, as returned by the service.
    #[serde(untagged)]
    Unknown(Value),
}

/// A comparison of one field with a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldRule {
    /// The field with its source, such as `event.amount`.
    pub field: String,
    /// The comparison.
    pub operator: Operator,
    /// The value to compare with; [`Operator::Exists`] and [`Operator::IsEmpty`] have none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_present")]
    pub value: Option<Value>,
}

/// Deserializes a value that is present, possibly null.
pub(super) fn deserialize_present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Rule {
    fn field(field: impl Into<String>, operator: Operator, value: Option<Value>) -> Self {
        Self::Field(FieldRule { field: field.into(), operator, value })
    }

    /// Requires the field to equal this string, number, boolean or null.
    pub fn equals(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::field(field, Operator::Equals, Some(value.into()))
    }

    /// Requires the field to differ from this value.
    pub fn not_equals(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::field(field, Operator::NotEquals, Some(value.into()))
    }

    /// Requires the field to be greater than this number.
    pub fn greater_than(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::GreaterThan, Some(number.into()))
    }

    /// Requires the field to be greater than or equal to this number.
    pub fn at_least(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::AtLeast, Some(number.into()))
    }

    /// Requires the field to be less than this number.
    pub fn less_than(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::LessThan, Some(number.into()))
    }

    /// Requires the field to be less than or equal to this number.
    pub fn at_most(field: impl Into<String>, number: impl Into<Value>) -> Self {
        Self::field(field, Operator::AtMost, Some(number.into()))
    }

    /// Requires the field to be a string that contains this one.
    pub fn contains(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self::field(field, Operator::Contains, Some(Value::String(text.into())))
    }

    /// Requires the field to be a string that starts with this one.
    pub fn starts_with(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self::field(field, Operator::StartsWith, Some(Value::String(text.into())))
    }

    /// Requires the field to be a string that ends with this one.
    pub fn ends_with(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self::field(field, Operator::EndsWith, Some(Value::String(text.into())))
    }

    /// Requires the field to exist.
    pub fn exists(field: impl Into<String>) -> Self {
        Self::field(field, Operator::Exists, None)
    }

    /// Requires the field to be missing, null or empty.
    pub fn is_empty(field: impl Into<String>) -> Self {
        Self::field(field, Operator::IsEmpty, None)
    }

    /// Requires all of these rules to hold.
    pub fn all(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::All { rules: rules.into_iter().collect() }
    }

    /// Requires at least one of these rules to hold.
    pub fn any(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::Any { rules: rules.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_rules_round_trip_in_the_wire_format() {
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
    fn an_unknown_rule_is_preserved() {
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
