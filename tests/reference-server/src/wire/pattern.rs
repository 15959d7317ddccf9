//! Path patterns, with `{…}` for a parameter.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Whether a path matches a pattern. A trailing slash is accepted.
pub fn pattern_matches(pattern: &str, path: &str) -> bool {
    let mut wanted = segments(pattern);
    let mut given = segments(path);
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

/// A parameter of a path by its index, decoded; empty if there are fewer.
pub fn parameter<'a>(pattern: &str, path: &'a str, index: usize) -> Cow<'a, str> {
    let parameters = segments(pattern).zip(segments(path.trim_start_matches('/')));
    let mut parameters = parameters.filter(|(pattern, _)| pattern.starts_with('{'));
    percent_decode_str(parameters.nth(index).map_or("", |(_, text)| text)).decode_utf8_lossy()
}

pub fn segments(path: &str) -> std::str::Split<'_, char> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/')
}
