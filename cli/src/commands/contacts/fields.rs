//! The properties and topics of a contact: pairs in flags, or JSON.

use serde_json::{Map, Value, json};

use crate::input::flags::Flags;
use crate::input::json;
use crate::input::pair::Pair;
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
    let mut topics = Vec::new();
    for (i, text) in given.texts("topic").iter().enumerate() {
        match Pair::read(text, '=') {
            Some(pair) if matches!(pair.value, "opt_in" | "opt_out") => {
                topics.push(json!({ "id": pair.name, "subscription": pair.value }));
            }
            _ => {
                let rule = "--topic must be TOPIC_ID=opt_in or TOPIC_ID=opt_out";
                body.flags.reject_nth("type", rule, "--topic", i + 1, text);
            }
        }
    }
    if !topics.is_empty() {
        body.set("topics", topics.into());
    }
}

/// The properties in the order given; malformed ones are reported.
fn read(given: &Given<'_>, flags: &mut Flags) -> Map<String, Value> {
    let mut found = Map::new();
    for flag in ["property", "property-json"] {
        let label = if flag == "property" { "--property" } else { "--property-json" };
        for (i, text) in given.texts(flag).iter().enumerate() {
            let value = match (Pair::read(text, '='), flag) {
                (Some(pair), "property") => Ok((pair.name, pair.value.into())),
                (Some(pair), _) => match serde_json::from_str(pair.value) {
                    Ok(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
                        Ok((pair.name, value))
                    }
                    _ => Err(format!("{label} must be KEY=JSON with a JSON string, number or boolean")),
                },
                (None, _) => Err(format!("{label} must be a key and a value separated by `=`")),
            };
            match value {
                Ok((key, _)) if found.contains_key(key) => {
                    let rule = format!("the property `{key}` is repeated");
                    flags.reject_nth("exclusive", rule, label, i + 1, text);
                }
                Ok((key, value)) => {
                    flags.field(&format!("/properties{}", json::escape_pointer(key)), label, Some(text));
                    found.insert(key.to_owned(), value);
                }
                Err(rule) => flags.reject_nth("type", rule, label, i + 1, text),
            }
        }
    }
    let Some(text) = given.text("properties") else { return found };
    for (key, value) in flags.object("--properties", 1, text) {
        if !matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_)) {
            let rule = format!("the property `{key}` must be a JSON string, number or boolean");
            flags.reject("type", rule, "--properties", text);
            continue;
        }
        if found.contains_key(&key) {
            flags.reject("exclusive", format!("the property `{key}` is repeated"), "--properties", text);
        }
        flags.field(&format!("/properties{}", json::escape_pointer(&key)), "--properties", Some(text));
        found.insert(key, value);
    }
    found
}
