//! Patterns of paths, with `{…}` for a parameter.

/// Whether a path fits a pattern. A slash at the end is tolerated.
pub(crate) fn pattern_matches(pattern: &str, path: &str) -> bool {
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

pub(crate) fn segments(path: &str) -> std::str::Split<'_, char> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/')
}
