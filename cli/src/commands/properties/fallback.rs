//! The fallback flags, for strings and for numbers, and the type that they imply.

use serde_json::{Number, Value};

use crate::rows::given::{Body, Given};

/// Reads the fallback and reports problems.
fn read(given: &Given<'_>, body: &mut Body) -> Option<Value> {
    let (text, number) = (given.text("fallback"), given.text("fallback-number"));
    body.is_touched |= text.is_some() || number.is_some();
    for (flag, value) in [("--fallback", text), ("--fallback-number", number)] {
        if value.is_some() {
            body.flags.field("/fallback_value", flag, value);
        }
    }
    let read = number.and_then(|text| {
        let rule = "--fallback-number must be a number such as 17, -1 or 2.5";
        let number = serde_json::from_str::<Number>(text).ok();
        body.flags.accept(number, "type", rule, "--fallback-number", text)
    });
    if let (Some(_), Some(number)) = (text, number) {
        let rule = "--fallback and --fallback-number can't be used together";
        body.flags.reject("exclusive", rule, "--fallback-number", number);
    }
    text.map(Value::from).or(read.map(Value::Number))
}

/// Sets the fallback of an update.
pub(super) fn update(given: &Given<'_>, body: &mut Body) {
    if let Some(fallback) = read(given, body) {
        body.set("fallback_value", fallback);
    }
}

/// Sets the type and fallback of a new property.
pub(super) fn create(given: &Given<'_>, body: &mut Body) {
    let fallback = read(given, body);
    let kind = match (given.text("type"), &fallback) {
        (Some("string"), Some(Value::Number(_))) | (Some("number"), Some(Value::String(_))) => {
            let rule = "for a string use --fallback, for a number --fallback-number";
            let kind = given.text("type").unwrap_or_default();
            body.flags.reject("type", rule, "--type", kind);
            return body.set("type", kind.into());
        }
        (Some(kind @ ("string" | "number")), _) => Some(kind),
        (Some(other), _) => {
            body.flags.reject("type", "--type must be string or number", "--type", other);
            Some("string")
        }
        // The file can set the type.
        (None, _) if body.json.get("type").is_some() => None,
        (None, Some(Value::Number(_))) => Some("number"),
        (None, Some(_)) => Some("string"),
        // An invalid fallback has been reported.
        (None, None) if given.text("fallback-number").is_some() => Some("number"),
        (None, None) => None,
    };
    body.flags.field("/type", "--type", None);
    for (field, value) in [("type", kind.map(Value::from)), ("fallback_value", fallback)] {
        if let Some(value) = value {
            body.set(field, value);
        }
    }
}
