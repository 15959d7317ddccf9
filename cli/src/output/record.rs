//! Prints one resource: one field per line.

use serde_json::Value;

use super::table::{Column, Columns};

/// One line per field; bodies come last, unchanged. Empty fields are omitted.
pub(crate) fn lines(document: &Value) -> Vec<String> {
    let Some(fields) = document.as_object() else { return vec![document.to_string()] };
    let (bodies, fields): (Vec<_>, Vec<_>) = fields
        .iter()
        .filter(|(_, value)| !value.is_null() && **value != Value::Array(Vec::new()))
        .partition(|(name, _)| matches!(name.as_str(), "text" | "html"));
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut lines: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{name:width$}  {}", format_value(value))).collect();
    for (name, value) in bodies {
        lines.push(format!("\n{name}:\n{}", format_value(value)));
    }
    lines
}

/// The same, with its lists of objects as tables below it.
pub(crate) fn with_tables(document: &Value, tables: &[(&str, &[Column])]) -> Vec<String> {
    let mut rest = document.clone();
    let mut below = Vec::new();
    for (field, columns) in tables {
        let rows = rest.get_mut(*field).map(Value::take).unwrap_or_default();
        let table = Columns::new(columns).lines(&rows);
        if !table.is_empty() {
            below.push(String::new());
            below.extend(table);
        }
    }
    [lines(&rest), below].concat()
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_of_the_response_is_shown_and_bodies_come_last() {
        let document = json!({"id": "1", "text": "a\nb", "to": ["x@y.test", "z@y.test"], "cc": null, "bcc": [], "new_field": {"a": 1}});
        assert_eq!(
            lines(&document),
            ["id         1", "to         x@y.test, z@y.test", "new_field  {\"a\":1}", "\ntext:\na\nb"]
        );
    }
}
