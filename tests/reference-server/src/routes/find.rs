//! From a method and a path to a line of the table, or to what is said when there is none.

use http::Method;

use crate::routes::{OPEN_ROUTES, OpenRoute, ROUTES, Route};
use crate::wire::pattern::pattern_matches;

/// What a request's method and path lead to.
pub(crate) enum Found {
    Route(&'static Route),
    /// The path is known, the method is not; these are.
    WrongMethod(Vec<&'static str>),
    Nothing,
}

/// Looks a request up in the table.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let mut pattern = None;
    let mut methods = Vec::new();
    for route in ROUTES {
        // The first pattern that matches decides the path, so that `/emails/batch` is never an id.
        if pattern.is_some_and(|pattern| pattern != route.path) || !pattern_matches(route.path, path) {
            continue;
        }
        if route.method == *method {
            return Found::Route(route);
        }
        pattern = Some(route.path);
        methods.push(route.method.as_str());
    }
    if methods.is_empty() { Found::Nothing } else { Found::WrongMethod(methods) }
}

/// Looks a request up among those that need no credential. `Err` has the methods that the path takes.
pub(crate) fn find_open(method: &Method, path: &str) -> Option<Result<&'static OpenRoute, &'static str>> {
    let route = OPEN_ROUTES.iter().find(|route| pattern_matches(route.path, path))?;
    Some(if route.method == *method { Ok(route) } else { Err(route.method.as_str()) })
}

/// Whether a path is that of a route that needs no credential.
pub(crate) fn is_open(path: &str) -> bool {
    OPEN_ROUTES.iter().any(|route| pattern_matches(route.path, path))
}
