//! JSON output for pipes and terminals.

use serde::Serialize;
use serde_json::{Map, Value};

use super::color::{KEY, NUMBER, STRING, paint};
use super::terminal::is_hostile;

/// Formats a document: compact for a pipe, indented for a terminal.
///
/// For a terminal, control characters are written as `\u` escapes, which is equivalent JSON.
pub(crate) fn text(value: &Value, terminal: bool) -> String {
    if terminal { escape(&format!("{value:#}")) } else { value.to_string() }
}

/// Escapes control characters as `\u`; in JSON text they occur only in strings.
pub(crate) fn escape(json: &str) -> String {
    if !json.contains(|c| is_hostile(c) && !c.is_ascii_whitespace()) {
        return json.to_owned();
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_hostile(c) && !c.is_ascii_whitespace() {
            for unit in c.encode_utf16(&mut [0; 2]) {
                use std::fmt::Write as _;
                // Writing to a String can't fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Colors the keys, strings, numbers and literals of a JSON text.
pub(crate) fn colorize(json: &str) -> String {
    let (mut colored, mut rest) = (String::with_capacity(json.len() * 2), json);
    while let Some(first) = rest.chars().next() {
        let (end, style) = match first {
            '"' => {
                let mut escaped = false;
                let end = rest[1..].find(|c| {
                    let end = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    end
                });
                let end = end.map_or(rest.len(), |end| end + 2);
                (end, if rest[end..].starts_with(':') { Some(KEY) } else { Some(STRING) })
            }
            '-' | '0'..='9' | 'a'..='z' => {
                let end = rest.find([',', ']', '}', '\n', ' ']).unwrap_or(rest.len());
                (end, Some(NUMBER))
            }
            _ => (first.len_utf8(), None),
        };
        let (token, after) = rest.split_at(end);
        match style {
            Some(style) => colored += &paint(token, style, true),
            None => colored += token,
        }
        rest = after;
    }
    colored
}

/// Keeps only the named fields of an object, or of each item of a list's `data`; `a.b` selects a nested field.
///
/// Missing fields are omitted. Also returns the names that no item has.
pub(crate) fn project(value: &Value, fields: &[String]) -> (Value, Vec<String>) {
    let mut unknown = fields.to_vec();
    let projected = match value {
        Value::Object(envelope) if envelope.get("data").is_some_and(Value::is_array) => {
            let mut envelope = envelope.clone();
            if let Some(Value::Array(items)) = envelope.get_mut("data") {
                if items.is_empty() {
                    unknown.clear();
                }
                for item in items {
                    *item = project_item(item, fields, &mut unknown);
                }
            }
            Value::Object(envelope)
        }
        item => project_item(item, fields, &mut unknown),
    };
    (projected, unknown)
}

fn project_item(item: &Value, fields: &[String], unknown: &mut Vec<String>) -> Value {
    let mut selected = Map::new();
    for field in fields {
        let reached = field.split('.').try_fold(item, |value, part| value.get(part));
        if let Some(value) = reached {
            selected.insert(field.clone(), value.clone());
            unknown.retain(|name| name != field);
        }
    }
    Value::Object(selected)
}

/// Adds the fields of a structure to a JSON object.
pub(crate) fn extend(document: &mut Value, fields: &impl Serialize) {
    if let (Some(document), Ok(Value::Object(fields))) =
        (document.as_object_mut(), serde_json::to_value(fields))
    {
        document.extend(fields);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn colors_only_add_escape_sequences() {
        let document = json!({"a": ["x\\\": \"", -1.5e3, true, null, {}], "b\\": {"": "\\"}});
        for text in [document.to_string(), format!("{document:#}")] {
            let colored = colorize(&text);
            let plain = [KEY, STRING, NUMBER].iter().fold(colored.clone(), |text, style| {
                text.replace(&style.render().to_string(), "").replace(&style.render_reset().to_string(), "")
            });
            assert_eq!(plain, text);
            assert!(colored.contains(&paint("-1500.0", NUMBER, true)), "{colored}");
        }
    }

    proptest! {
        #[test]
        fn printed_json_parses_to_the_same_value(text_in in any::<String>(), number in any::<i64>()) {
            // G-05
            let value = json!({"subject": text_in, text_in.clone(): [number, null, true]});
            for terminal in [true, false] {
                let printed = text(&value, terminal);
                prop_assert_eq!(&serde_json::from_str::<Value>(&printed).unwrap(), &value);
                prop_assert!(!terminal || !printed.chars().any(|c| is_hostile(c) && !c.is_ascii_whitespace()));
            }
        }
    }

    #[test]
    fn a_tag_character_is_escaped_as_two_utf_16_units() {
        // G-05
        assert_eq!(text(&json!("\u{E0041}\u{9b}"), true), r#""\udb40\udc41\u009b""#);
        assert_eq!(text(&json!("\u{9b}"), false), "\"\u{9b}\"", "a pipe gets what was sent");
    }

    #[test]
    fn selecting_fields_keeps_the_envelope_and_reports_unknown_names() {
        let list = json!({"object":"list","data":[{"id":"a","x":{"y":1}},{"id":"b"}],"has_more":false});
        let (selected, unknown) = project(&list, &["id".into(), "x.y".into(), "idd".into()]);
        assert_eq!(
            selected,
            json!({"object":"list","data":[{"id":"a","x.y":1},{"id":"b"}],"has_more":false})
        );
        assert_eq!(unknown, ["idd"]);
        let (selected, _) = project(&json!({"id":"a","object":"email"}), &["id".into()]);
        assert_eq!(selected, json!({"id":"a"}));
    }
}
