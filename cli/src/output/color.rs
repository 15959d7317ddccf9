//! The styles of the output, one per meaning.

use anstyle::{AnsiColor, Style};

/// `error:` and failed terminal states.
pub(crate) const FAILURE: Style = AnsiColor::Red.on_default().bold();
/// `warning:` and states that may still succeed or fail.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const SUCCESS: Style = AnsiColor::Green.on_default();
/// `help:` and suggested commands.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
/// Column headings.
pub(crate) const HEADING: Style = Style::new().bold();

/// A JSON key.
pub(crate) const KEY: Style = AnsiColor::Blue.on_default().bold();
/// A JSON string.
pub(crate) const STRING: Style = AnsiColor::Green.on_default();
/// A JSON number, `true`, `false` or `null`.
pub(crate) const NUMBER: Style = AnsiColor::Yellow.on_default();

/// The text in this style, or plain.
pub(crate) fn paint(text: &str, style: Style, color: bool) -> String {
    if color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// The style of a state: of an email, a response status, a check.
pub(crate) fn state_style(word: &str) -> Option<Style> {
    match word {
        "delivered" | "opened" | "clicked" | "sent" | "ok" | "verified" => Some(SUCCESS),
        "bounced" | "complained" | "failed" | "suppressed" | "canceled" | "error" => Some(FAILURE),
        "queued" | "scheduled" | "delivery_delayed" | "pending" | "warning" => Some(WARNING),
        status if status.len() == 3 => match status.as_bytes() {
            [b'2', ..] => Some(SUCCESS),
            [b'4', ..] => Some(WARNING),
            [b'5', ..] => Some(FAILURE),
            _ => None,
        },
        _ => None,
    }
}
