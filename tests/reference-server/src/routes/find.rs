//! From a method and a path to a line of the table, or to what is said when there is none.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};

use super::{OpenRoute, Route, table};
use crate::paging::quoted;
use crate::problem::Problem;

pub(crate) fn no_such_route(path: &str) -> Problem {
    Problem::not_found(format!("There is no route {}.", quoted(path)))
}

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

/// The answer to a known path with another method.
pub(crate) fn wrong_method(method: &Method, path: &str, allowed: &[&str]) -> Response<Bytes> {
    let message = format!("{} does not take {method}; it takes {}.", quoted(path), allowed.join(", "));
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
    let mut response = problem.into_response();
    if let Ok(allowed) = HeaderValue::try_from(allowed.join(", ")) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

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

pub(super) fn segments(path: &str) -> std::str::Split<'_, char> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/')
}
