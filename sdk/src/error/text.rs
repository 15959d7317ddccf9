//! Text of errors: one line, safe on a terminal.

use std::error::Error as StdError;

/// Text from elsewhere on one line: control and direction characters as escapes, cut at so many characters.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == most {
            shown.push('…');
            break;
        }
        let steers = c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The error, its causes after it, in one line: for logs. `Display` alone leaves the causes to `source()`.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        line.push_str(": ");
        line.push_str(&cause.to_string());
        next = cause.source();
    }
    line
}
