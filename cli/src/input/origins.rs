//! The origins of values on the command line.

use std::ops::Range;

use crate::diagnostics::{Origin, Problem};

/// The origin of a flag's `n`th value, from 1.
pub(crate) fn flag_origin(flag: &str, n: usize, value: &str) -> Origin {
    Origin::Flag { name: flag.to_owned(), n, value: value.to_owned(), span: None }
}

/// Like [`flag_origin`], with the relevant bytes of the value.
pub(crate) fn flag_span(flag: &str, n: usize, value: &str, span: Range<usize>) -> Origin {
    Origin::Flag { name: flag.to_owned(), n, value: value.to_owned(), span: Some(span) }
}

/// Whether the pointer refers to a value or to a part of it.
pub(super) fn is_within(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

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
