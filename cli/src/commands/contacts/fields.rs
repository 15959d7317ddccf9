//! The properties and topics of a contact: pairs in flags, or JSON.

use serde_json::{Map, Value, json};

use crate::diagnostics::Diagnostic;
use crate::input::flags::Flags;
use crate::input::json;
use crate::rows::given::{Body, Given};

/// Sets the properties of all flags.
pub(super) fn properties(given: &Given<'_>, body: &mut Body) {
    let properties = read(given, &mut body.flags);
    // A malformed one counts, too.
    body.is_touched |=
        ["property", "property-json", "properties"].iter().any(|id| !given.texts(id).is_empty());
    body.put_all("properties", properties, given.text("properties").is_some());
}

/// Clears the properties of `--clear-property`.
pub(super) fn clear_properties(given: &Given<'_>, body: &mut Body) {
    let set = read(given, &mut Flags::default());
    for (i, key) in given.texts("clear-property").iter().enumerate() {
        let pointer = json::escape_pointer(key);
        if set.contains_key(key) {
            let rule = format!("the property `{key}` can't be both set and cleared");
            body.flags.reject_nth("exclusive", rule, "--clear-property", i + 1, key);
        }
        body.flags.field(&format!("/properties{pointer}"), "--clear-property", Some(key));
        body.put("properties", key, Value::Null);
    }
}

/// Sets the subscriptions of `--topic`.
pub(super) fn topics(given: &Given<'_>, body: &mut Body) {
    let form = "TOPIC_ID=opt_in or TOPIC_ID=opt_out";
    let mut topics = Vec::new();
    for pair in body.flags.pairs("--topic", form, &given.texts("topic")) {
        if matches!(pair.value, "opt_in" | "opt_out") {
            topics.push(json!({ "id": pair.name, "subscription": pair.value }));
        } else {
            body.flags.reject_at("type", format!("--topic must be {form}"), pair.value_origin());
        }
    }
    if !topics.is_empty() {
        body.set("topics", topics.into());
    }
}

/// The properties in the order given; malformed ones are reported.
fn read(given: &Given<'_>, flags: &mut Flags) -> Map<String, Value> {
    let mut found = Map::new();
    let texts = given.texts("property");
    flags.members("/properties", "--property", "KEY=TEXT", &texts, &mut found, |pair| Ok(pair.value.into()));
    let (form, values) = ("KEY=JSON with a JSON string, number or boolean", given.texts("property-json"));
    flags.members("/properties", "--property-json", form, &values, &mut found, |pair| {
        let value = serde_json::from_str(pair.value).ok().filter(is_scalar);
        value.ok_or_else(|| Diagnostic::new("type", format!("--property-json must be {form}"), None).into())
    });
    if let Some(text) = given.text("properties") {
        flags.members_of("/properties", "--properties", text, &mut found, |key, value| {
            let rule = || format!("the property `{key}` must be a JSON string, number or boolean");
            is_scalar(value).then_some(()).ok_or_else(rule)
        });
    }
    found
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}
