//! Path patterns, with `{…}` for a parameter.

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

pub fn segments(path: &str) -> std::str::Split<'_, char> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/')
}
