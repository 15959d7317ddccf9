//! The few styles of the program, each with a meaning.

use anstyle::{AnsiColor, Style};

/// `error:` and states that are final failures.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// `warning:` and states that may still become either.
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// Something went as wished.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// `help:` and what to type.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
/// Column headings.
pub(crate) const HEADING: Style = Style::new().bold();

/// A key of JSON.
pub(crate) const KEY: Style = AnsiColor::Blue.on_default().bold();
/// A string of JSON.
pub(crate) const STRING: Style = AnsiColor::Green.on_default();
/// A number of JSON, `true`, `false` or `null`.
pub(crate) const NUMBER: Style = AnsiColor::Yellow.on_default();

/// The text in the style, or plain.
pub(crate) fn paint(text: &str, style: Style, color: bool) -> String {
    if color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// The style of a state's word: of an email, an answer's status, a check.
pub(crate) fn of_state(word: &str) -> Option<Style> {
    match word {
        "delivered" | "opened" | "clicked" | "sent" | "ok" | "verified" => Some(GOOD),
        "bounced" | "complained" | "failed" | "suppressed" | "canceled" | "error" => Some(BAD),
        "queued" | "scheduled" | "delivery_delayed" | "pending" | "warning" => Some(DOUBTFUL),
        status if status.len() == 3 => match status.as_bytes() {
            [b'2', ..] => Some(GOOD),
            [b'4', ..] => Some(DOUBTFUL),
            [b'5', ..] => Some(BAD),
            _ => None,
        },
        _ => None,
    }
}
