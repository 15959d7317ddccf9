//! Error texts: one line each, safe for a terminal.

use std::error::Error as StdError;

/// Appended to the text of an error whose call would otherwise have been retried.
pub(super) const BUDGET_EXHAUSTED: &str = "; not retried, since the client's retry budget is exhausted";

/// Returns external text on one line: control and direction characters escaped, truncated to `max` characters.
pub(crate) fn printable(text: &str, max: usize) -> String {
    let mut shown = String::new();
    let mut left = max;
    for c in text.chars() {
        let steers = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let length = if steers { c.escape_unicode().len() } else { 1 };
        if length > left {
            shown.push('…');
            break;
        }
        left -= length;
        if steers { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// Returns the error and its causes on one line, for logs. `Display` omits the causes, which `source()` returns.
pub(crate) fn chain(error: &dyn StdError) -> String {
    with_causes(error.to_string(), error)
}

/// Adds the causes of an error to its text, except for one that the text already ends with.
pub(super) fn with_causes(mut line: String, error: &dyn StdError) -> String {
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn escapes_count_toward_the_length() {
        assert_eq!(printable("é\u{7}x", 7), "é\\u{7}x");
        assert_eq!(printable("é\u{7}x", 6), "é\\u{7}…");
        assert_eq!(printable("é\u{7}x", 5), "é…");
    }
}
