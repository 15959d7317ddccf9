//! HTML escaping.

/// Escapes text for an HTML element or a quoted attribute.
pub fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            char => safe.push(char),
        }
    }
    safe
}

/// Converts text to an HTML element that keeps its white space.
pub fn to_pre_element(text: &str) -> String {
    format!("<div style=\"white-space: pre-wrap\">{}</div>", escape_html(text))
}
