//! Which part of a value a problem is about.

use crate::diagnostics::{Origin, Problem};

/// Narrows the origin to the bytes that break the rule, if known.
pub(super) fn narrow(origin: Origin, problem: &Problem) -> Origin {
    let Origin::Flag { name, n, value, span } = origin else { return origin };
    let within = span.clone().unwrap_or(0..value.len());
    let text = &value[within.clone()];
    let wrong = match problem.code {
        "charset" => text.char_indices().find(|(_, c)| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')),
        "header" => text.char_indices().find(|(_, c)| c.is_control()),
        "address" if text.matches('@').count() > 1 && !text.contains([',', ';', '<']) => {
            text.char_indices().rfind(|(_, c)| *c == '@')
        }
        _ => None,
    };
    let span = wrong.map_or(span, |(at, c)| Some(within.start + at..within.start + at + c.len_utf8()));
    Origin::Flag { name, n, value, span }
}
