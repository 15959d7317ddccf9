//! The two fallback flags, one for strings and one for numbers, and the type that follows from them.

use serde_json::{Number, Value};

use crate::rows::given::{Body, Given};

/// Reads the fallback and reports problems.
fn read(given: &Given<'_>, body: &mut Body) -> Option<Value> {
    let (text, number) = (given.text("fallback"), given.text("fallback-number"));
    body.is_touched |= text.is_some() || number.is_some();
    let read = number.and_then(|text| {
        let number = serde_json::from_str::<Number>(text).ok();
        if number.is_none() {
            let rule = "--fallback-number must be a number such as 17, -1 or 2.5";
            body.flags.wrong("type", rule, "--fallback-number", text);
        }
        number
    });
    if let (Some(_), Some(number)) = (text, number) {
        let rule = "--fallback and --fallback-number can't be used together";
        body.flags.wrong("exclusive", rule, "--fallback-number", number);
    }
    text.map(Value::from).or(read.map(Value::Number))
}

/// Sets the fallback of an update.
pub(super) fn update(given: &Given<'_>, body: &mut Body) {
    if let Some(fallback) = read(given, body) {
        body.set("fallback_value", fallback);
    }
}

/// Sets type and fallback of a new property, which must match.
pub(super) fn create(given: &Given<'_>, body: &mut Body) {
    let fallback = read(given, body);
    let is_given = given.text("fallback").is_some() || given.text("fallback-number").is_some();
    let kind = match (given.text("type"), fallback) {
        (kind @ (None | Some("string")), Some(fallback @ Value::String(_)))
        | (kind @ (None | Some("number")), Some(fallback @ Value::Number(_))) => {
            let kind = kind.unwrap_or(if fallback.is_string() { "string" } else { "number" });
            body.set("fallback_value", fallback);
            kind
        }
        (Some(kind @ ("string" | "number")), None) => kind,
        (Some(kind @ ("string" | "number")), Some(_)) => {
            let rule = "for a string use --fallback, for a number --fallback-number";
            body.flags.wrong("type", rule, "--type", kind);
            kind
        }
        (Some(other), _) => {
            body.flags.wrong("type", "--type must be string or number", "--type", other);
            "string"
        }
        // An invalid fallback has been reported.
        (None, _) if is_given => "string",
        (None, _) => {
            body.flags.missing("--type");
            "string"
        }
    };
    body.set("type", kind.into());
}
