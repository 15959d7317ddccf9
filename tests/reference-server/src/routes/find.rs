//! From a method and a path to a line of the table, or to what is said when there is none.

use http::Method;

use crate::routes::{OpenRoute, Route, table};

/// What a request's method and path lead to.
pub(crate) enum Found {
    Route(&'static Route),
    /// The path is known, the method is not; these are.
    WrongMethod(Vec<&'static str>),
    Nothing,
}

/// Looks a request up in the table.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let Some(routes) = table::at(path) else { return Found::Nothing };
    match routes.iter().find(|route| route.method == *method) {
        Some(route) => Found::Route(route),
        None => Found::WrongMethod(routes.iter().map(|route| route.method.as_str()).collect()),
    }
}

/// Looks a request up among those that need no credential. `Err` has the method that the path takes.
pub(crate) fn find_open(method: &Method, path: &str) -> Option<Result<&'static OpenRoute, &'static str>> {
    let route = table::open_at(path)?.first()?;
    Some(if route.method == *method { Ok(route) } else { Err(route.method.as_str()) })
}

/// Whether a path is that of a route that needs no credential.
pub(crate) fn is_open(path: &str) -> bool {
    table::open_at(path).is_some()
}
